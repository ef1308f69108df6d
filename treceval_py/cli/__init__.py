"""The command line: one short module a command, each a call into the library."""
