"""Identifies the session of an exchange: the evidence, and where it is looked up.

`session` ranks the evidence and is pure; `processes` and `socket_table` find the process behind a
connection, `lookup` its session, `live_records` reads the client's own records, `transcript_ids`
the ids of answers in its transcripts. Imports `hooks`.
"""
