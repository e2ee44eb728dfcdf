"""Tokens and dollars over all sessions: calls of captures and transcripts, each counted once.

`files` reads one transcript, from an offset if the rest is known; `calls` joins transcripts and
captures; `totals` groups calls; `witnesses` compares them with the client's own records. Imports
`reconcile`, `captures` and `transcript`.
"""
