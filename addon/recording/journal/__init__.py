"""The journal: what the proxy has seen and the recorder has not recorded yet, in memory files.

`frames` is the format, `folder` the place, `append` the proxy's side, `read` the recorder's. The
files are in a memory file system: they survive both processes, but never reach a disk, because
they are not redacted. Imports `addon.recording.jobs` and `storage`.
"""
