"""Output for terminals and pipes: tables, JSON, progress bars, the live view.

Formats results and makes no decisions. May import `correlate`, `addon` and `ccwire.wire`.
"""
