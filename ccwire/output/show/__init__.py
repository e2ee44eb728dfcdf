"""Prints what `ccwire show` shows: an exchange, the list of them, a conversation, an answer."""
