"""The way from this proxy to the API: a company's proxy, trusted certificates, and errors.

Used by the add-on, `launch` and `recording`. Imports nothing else of `addon`.
"""
