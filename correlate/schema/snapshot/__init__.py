"""A snapshot of a format: what it holds, how it is stored, and as JSON Schema."""
