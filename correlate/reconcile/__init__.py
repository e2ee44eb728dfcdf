"""Reconcile a session: match each call on the wire with its turn and give a verdict with evidence.

`verdicts` lists the verdicts, `session` reads the files, `match` pairs calls and turns, `judge`
gives the verdict, `purpose` classifies a call without a turn, `totals` and `prices` sum up. Only
`session` and `forks` read files, the rest is pure. Imports `captures` and `transcript`.
"""
