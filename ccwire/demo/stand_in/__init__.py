"""The stand-in for the API: answers by scenario, and keeps a ledger of what it served.

`scenarios` has the named ones, `scenario` what one is made of, `server` the sockets. Imports
`ccwire.wire`.
"""
