"""Read captures: sessions, exchanges and their content, packed or not.

Writes nothing. Imports `transcript` for the lines of a turn.
"""
