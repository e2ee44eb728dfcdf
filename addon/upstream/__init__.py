"""The way from this proxy to the API: a company's proxy, trusted certificates, and errors.

Used by the add-on and by `launch`. Imports nothing else of `addon`.
"""
