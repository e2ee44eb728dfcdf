"""A stand-in for the API that answers from a scenario and records each call in a ledger.

`scenarios` contains the named scenarios, `scenario` their types, `server` the sockets. Imports
`ccwire.wire` only.
"""
