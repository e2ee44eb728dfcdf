"""Packs: a session's exchange files, stored once however often requests repeat them.

`segment` is the format that is written, a file of `records`; `tar` is an older one, only read.
`reader` finds an exchange file, open or in either kind of pack: nothing else needs to know where.
"""
