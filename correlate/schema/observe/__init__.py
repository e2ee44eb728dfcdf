"""From files to structure: which values there are, in which bucket, of which type. Holds no
content.
"""
