"""The simulated client: behaves on the wire and on disk as a given release of Claude Code does.

`profiles` lists how releases differ, `simulated` is the client itself.
"""
