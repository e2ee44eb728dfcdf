"""The implementation of the hook command: writes a client's events to `sessions.json`.

`events` lists the events, `handle` is the entry point, `apply` contains the pure rules,
`sessions_file` accesses the file, `sessions` is the typed reader for all other code. The modules
that `addon/hook.py` loads import little, and only from the standard library: the hook runs at every
prompt. Imports nothing else of `addon`.
"""
