"""Reads what the client writes: where transcripts are, their lines, turns, agents and titles.

`locate` knows the folders, `lines` the file, `records` the typed lines, `turns` how lines form a
turn, `reader` puts them together. Imports `ccwire.wire` alone.
"""
