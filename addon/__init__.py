"""The capturing side: the mitmproxy add-on, the hook command, and everything that writes captures.

`capture.py` is the add-on (`mitmdump -s addon/capture.py`), `hook.py` the hook command, `view.py`
the content view. Imports `ccwire.wire` and `ccwire.import_path`, never `correlate`. Only
`capture.py` imports mitmproxy.
"""
