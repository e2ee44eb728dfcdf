"""Which sessions there are, and which of them a command is about.

`argument` finds the one that the user names, `heads` all of them, `filters` chooses, and `rows` is
the list of `ccwire sessions`, with the sums of `usage`. Imports nothing of `commands` and `output`.
"""
