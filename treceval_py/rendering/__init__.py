"""Drawing tables in every format, with the escaping that each needs."""
