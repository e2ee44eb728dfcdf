from addon.launch.proxy_log import Connections, connections, troubles


def test_warnings_of_the_add_on_are_reported_once() -> None:
    lost = "[12:00:02.000] ccwire: an exchange could not be captured (OSError: full)\n"
    log = (
        "[12:00:01.000] HTTP(S) proxy listening at 127.0.0.1:1.\n"
        "[12:00:01.000] ccwire: capturing api.anthropic.com into captures\n"
        f"{lost}12:00:02  11111111  messages  claude-sonnet-4-5  200\n{lost}"
    )
    assert troubles(log) == ["an exchange could not be captured (OSError: full)"]


def test_the_connections_survive_the_log() -> None:
    seen = Connections(3)
    for host, port in (("github.com", 443), ("127.0.0.1", 3000), ("github.com", 443)):
        seen.add_other(host, port)
    seen.add_untrusted("api.anthropic.com")
    line = seen.to_line()
    assert line == (
        "connections: 3; not captured: github.com (2), 127.0.0.1:3000 (1);"
        " certificate refused: api.anthropic.com (1)"
    )
    log = f"[12:00:01.000] ccwire: {line}\n"
    assert connections(log) == seen
    assert troubles(log) == []
    assert connections(f"[12:00:01.000] ccwire: {Connections().to_line()}\n") == Connections()


def test_refused_connections_are_counted_apart() -> None:
    seen = Connections(3)
    seen.add_untrusted("api.anthropic.com")
    seen.refuse()
    assert (seen.count, seen.refused) == (2, 1)
    assert seen.to_line().endswith("; clients refused: 1")
    assert connections(f"[12:00:01.000] ccwire: {seen.to_line()}\n") == seen


def test_a_proxy_that_was_killed_has_logged_no_connections() -> None:
    assert connections("[12:00:01.000] ccwire: capturing x into y\n") is None
