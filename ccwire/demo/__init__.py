"""Everything for a capture on loopback: a stand-in for the API and clients to talk to it.

Used by `ccwire demo` and by the tests. Nothing in here sends a byte to another machine, fetching
the real client from npm aside.
"""
