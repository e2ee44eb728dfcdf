"""A capture folder on disk: who may write which file, under which number, and when it is whole.

Knows files, locks and names; what the files contain is built in `recording`. Imports `identity` and
`hooks`.
"""
