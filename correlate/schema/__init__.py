"""The structure of Claude Code's formats per release: observe, merge, compare and check it.

`baseline` loads the shipped snapshots in `baselines/`, `live` checks single exchanges against one.
Imports `captures` and `transcript`.
"""
