"""Secrets: what they look like, and how they are replaced before anything is written.

`headers` lists the headers that are secret by name, `patterns` what tokens look like, `redactor`
replaces them, `stream` finds those that a stream splits, `key` keeps the key of the hashes. Imports
`storage.files` to keep the key.
"""
