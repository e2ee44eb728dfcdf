"""Packs: a session's exchange files, stored once however often requests repeat them.

`segment` is the format that is written, `tar` an older one that is only read. `reader` finds an
exchange file, open or in either kind of pack: nothing else needs to know where it is.
"""
