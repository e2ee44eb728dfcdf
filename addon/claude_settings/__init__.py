"""Claude Code's settings files: finds them, and installs and removes our hooks.

`files` finds and reads them, `hooks_text` edits the text, `install` writes it, `jsonc` and
`jsonc_edit` parse and edit JSON with comments, preserving every other byte. Imports `hooks`.
"""
