"""Find and read Claude Code's transcripts: their lines, turns, agents and titles.

`locate` finds the files, `lines` splits them, `records` types the lines, `turns` groups lines into
turns, `reader` combines all of it. Imports only `ccwire.wire`.
"""
