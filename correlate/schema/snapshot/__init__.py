"""A snapshot of a format: its fields, its file, and its conversion to JSON Schema."""
