"""Recording: the way of an exchange from the proxy to its files.

`jobs` defines the messages, `journal` takes them to the writer process, which `process` runs;
`queue` is for systems without a journal. `recorder` consumes them, `content` lays out the files.
Imports `redaction`, `storage`, `identity` and `hooks`.
"""
