"""From the proxy to the disk: the queue, the writer process, and the recorder that files exchanges.

`jobs` is the one message type, `queue` the buffer in memory, `process` the pipe to the writer
process, `recorder` the end of it. Imports `redaction`, `storage`, `identity` and `hooks`.
"""
