"""Recording: the queue behind the proxy, the writer process, and the recorder.

`jobs` defines the messages, `queue` is the buffer in memory, `process` the pipe to the writer
process, `recorder` its consumer. Imports `redaction`, `storage`, `identity` and `hooks`.
"""
