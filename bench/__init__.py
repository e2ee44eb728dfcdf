"""Benchmarks: each figure a ratio measured side by side in one run. `python -m bench`."""
