"""The command line: parses, calls `addon` and `correlate`, prints."""
