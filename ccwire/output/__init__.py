"""How results look in a terminal: tables, JSON, progress bars, the live view.

Formats what `correlate` found; decides nothing. Imports `correlate`, `addon` and `ccwire.wire`.
"""
