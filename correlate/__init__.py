"""The reading side: captures and transcripts in, findings out. Never imports `addon` or
mitmproxy.
"""
