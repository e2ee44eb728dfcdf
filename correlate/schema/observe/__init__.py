"""Observe the structure of files: the fields in each bucket and their types, without content."""
