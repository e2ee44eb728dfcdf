"""The command line: parses, calls `addon` and `correlate`, prints.

`wire` is the bottom layer that both sides share; everything else here is the top: `commands`,
`output`, `demo`. `entry` is where the `ccwire` command starts. Nothing is imported here: `entry`
sets the import path first.
"""
