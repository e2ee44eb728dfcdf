"""Accounts for a session: each call on the wire with its turn, a verdict, and what proves it.

`session` reads, `match` pairs, `judge` gives the verdict (`verdicts` lists them), `purpose` says
what a call without a turn was for, `totals` and `prices` add up. Pure, but for `session` and
`forks`. Imports `captures` and `transcript`.
"""
