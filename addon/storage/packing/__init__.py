"""Packing: exchange files move into segments while a session is captured, and back.

`rolling` chooses during a capture, `pack` does it for a whole session, `segments` writes.
"""
