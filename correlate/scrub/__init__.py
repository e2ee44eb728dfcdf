"""Make a shareable copy of a session: every text is replaced, structure and numbers are kept.

`copy` writes it, `rules` and `words` define what is kept, `names` generates replacements. Imports
`reconcile`, `schema`, `captures` and `transcript`.
"""
