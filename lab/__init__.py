"""For developers, not installed: the atlas of releases, the screen of real clients, made-up trees,
fuzzing.

Imports everything; nothing imports it but tests and benchmarks.
"""
