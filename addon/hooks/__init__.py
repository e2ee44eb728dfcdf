"""The hook command's work: one event of the client, from its payload to the map of sessions.

`events` lists the events, `handle` is the edge, `apply` the pure rules, `sessions_file` the file,
`sessions` the typed reader for everyone else. What `addon/hook.py` loads imports only the standard
library, and little of it: the hook runs at every prompt. Imports no other package.
"""
