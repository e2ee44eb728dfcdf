"""Reads captures: sessions, exchanges and, when asked, their content; open or packed alike.

Writes nothing. Imports `transcript` for the lines of a turn.
"""
