"""Streamed answers: the events of both encodings, and the message that they make. Pure."""
