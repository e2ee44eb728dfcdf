"""Starts a client behind the proxy: the plan, the proxy process, the environment, the command line.

`road`, `environment`, `arguments`, `overrides` and `proxy_log` are pure, `proxy` and `client` run
processes. Imports `claude_settings` and `upstream`.
"""
