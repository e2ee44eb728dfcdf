"""The simulated client, which behaves like a given release of Claude Code on the wire and on disk.

`profiles` lists how the releases differ; `simulated` is the client.
"""
