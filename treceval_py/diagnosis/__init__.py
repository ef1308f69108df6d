"""What is wrong with a run or with judgments, told from their content; shared by all commands."""
