"""The baseline for `bench.proxy`: a mitmproxy add-on that only streams responses through."""

import os
import urllib.parse

from mitmproxy import ctx, http


class Bare:
    def __init__(self) -> None:
        self._upstream = urllib.parse.urlsplit(os.environ["BENCH_UPSTREAM"])

    def configure(self, updated: set[str]) -> None:
        if ctx.options.connection_strategy != "lazy":
            ctx.options.update(connection_strategy="lazy", upstream_cert=False, flow_detail=0)

    def request(self, flow: http.HTTPFlow) -> None:
        assert self._upstream.hostname is not None
        assert self._upstream.port is not None
        flow.request.scheme = "http"
        flow.request.host = self._upstream.hostname
        flow.request.port = self._upstream.port

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None
        flow.response.stream = True


addons = [Bare()]
