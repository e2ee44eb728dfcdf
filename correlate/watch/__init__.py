"""The data of the live view: `tail` follows the capture files, `frame` sums them up.

Nothing here writes to a terminal.
"""
