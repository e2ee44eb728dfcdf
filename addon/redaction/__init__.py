"""Redaction: finds secrets and replaces them before anything is written.

`headers` lists the headers that are secret by name, `patterns` the patterns of tokens, `redactor`
replaces secrets, `stream` finds those that are split over several events, `key` stores the key of
the hashes. Imports `storage.files` to store the key.
"""
