"""What the client's formats look like, release by release: observed, merged, compared, checked.

`baseline` finds the shipped snapshots in `baselines/`, `live` checks single exchanges against one.
Imports `captures` and `transcript`.
"""
