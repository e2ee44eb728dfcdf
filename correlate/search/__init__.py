"""Search the texts of sessions: captures and transcripts, each text once, where it first appeared.

Writes nothing and prints nothing. Imports `captures` and `transcript`.
"""
