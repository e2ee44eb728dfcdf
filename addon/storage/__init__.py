"""The capture folder on disk: files, locks, numbering, indexes, manifests and packs.

The content of the exchange files is built in `recording`. Imports `identity` and `hooks`.
"""
