"""Development tools, not installed: the atlas of releases, a driver for the real client's screen,
generated transcript trees, fuzzing.

May import everything; only tests and benchmarks import it.
"""
