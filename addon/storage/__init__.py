"""The capture folder on disk: files, locks, numbering, indexes and manifests.

The content of the exchange files is built in `recording`. Imports `identity` and `hooks`.
"""
