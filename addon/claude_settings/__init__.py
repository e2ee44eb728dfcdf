"""The client's settings files: where they are, and our hooks in them.

`files` finds and reads them, `hooks_text` edits the text, `install` writes it, `jsonc` and
`jsonc_edit` parse and edit JSON with comments so that every other byte stays. Imports `hooks`.
"""
