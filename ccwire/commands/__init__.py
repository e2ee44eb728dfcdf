"""One module per command: parse the options, call, print. Each defines a click command, `command`.

May import everything below: `output`, `demo`, `addon`, `correlate`.
"""
