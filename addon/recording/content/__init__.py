"""The content of an exchange's files: decoded, redacted, classified and laid out. Pure.

Values in, values out: no file, clock or process. Imports `redaction`, and `identity` for the facts
in a request's headers.
"""
