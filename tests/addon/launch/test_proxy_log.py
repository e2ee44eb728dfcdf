from addon.launch.proxy_log import troubles


def test_warnings_of_the_add_on_are_reported_once() -> None:
    lost = "[12:00:02.000] ccwire: an exchange could not be captured (OSError: full)\n"
    log = (
        "[12:00:01.000] HTTP(S) proxy listening at 127.0.0.1:1.\n"
        "[12:00:01.000] ccwire: capturing api.anthropic.com into captures\n"
        f"{lost}12:00:02  11111111  messages  claude-sonnet-4-5  200\n{lost}"
    )
    assert troubles(log) == ["an exchange could not be captured (OSError: full)"]
