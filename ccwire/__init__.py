"""The command line: parses, calls `addon` and `correlate`, prints.

`wire` is the bottom layer that both sides share; everything else here is the top: `commands`,
`output`, `demo`. `__main__` is where the `ccwire` command starts. Nothing is imported here:
`__main__` sets the import path first.
"""
