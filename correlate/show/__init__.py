"""Show the exchanges of a session: the list of them, and the parts of one as a person reads them.

`stored` and `listing` read the files; `request`, `answer`, `blocks` and `curl` are pure. Imports
`report` for the text of blocks, `reconcile` for prices, and `captures`.
"""
