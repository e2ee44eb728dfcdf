"""A stand-in for the API and clients that call it, for captures on loopback.

Used by `ccwire demo` and by the tests. Nothing here connects to another machine, except npm when
the real client is fetched.
"""
