"""The live view's data: `tail` follows the capture files, `frame` sums up what they say. No
terminal here.
"""
