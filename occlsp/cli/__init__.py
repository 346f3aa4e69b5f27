"""The command line: the same analysis without an editor."""
