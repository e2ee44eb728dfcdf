"""Content side by side: a request with the one before, an answer with the transcript.

`requests` and `answers` are pure, `calls` reads the files. Imports `reconcile`, `captures` and
`transcript`.
"""
