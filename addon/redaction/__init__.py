"""Redaction: finds secrets and replaces them before anything is written.

`headers` lists the headers that are secret by name, `fields` the fields, `shapes` what tokens look
like; `learned` are the secrets of headers, `encodings` and `views` the ways to hide any of them.
`redactor` replaces secrets, `stream` those that are split over several events, with `unfinished`;
`log_records` those in log lines; `key` stores the key of the hashes. Imports `storage.files` to
store the key.
"""
