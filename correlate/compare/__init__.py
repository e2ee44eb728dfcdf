"""Compare content: a request with the previous one, an answer with the transcript.

`requests` and `answers` are pure, `calls` reads the files. Imports `reconcile`, `captures` and
`transcript`.
"""
