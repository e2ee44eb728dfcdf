"""A copy of a session that can be shared: every text replaced, structure and numbers kept.

`copy` writes it, `rules` and `words` say what stays, `names` makes the replacements. Imports
`reconcile`, `schema`, `captures` and `transcript`.
"""
