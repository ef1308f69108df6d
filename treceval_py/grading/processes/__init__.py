"""The processes that grade, and the records they keep."""
