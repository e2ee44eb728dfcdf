"""The journal: what the proxy has seen and the recorder has not recorded yet, in memory files.

`frames` is the format, `folder` the place, `append` the proxy's side, `read` the recorder's.
`replay` records a journal, also one whose proxy is dead. The files are in a memory file system:
they survive both processes, but never reach a disk, because they are not redacted. `replay` imports
the recorder, the others `addon.recording.jobs` and `storage` only.
"""
