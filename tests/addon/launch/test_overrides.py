from addon.launch.overrides import overriding, repeated, users_environment
from addon.launch.road import SettingsEnv

USER, MANAGED = "~/.claude/settings.json", "/etc/claude-code/managed-settings.json"
HOSTS = ("api.anthropic.com",)
CHILD = {"https_proxy": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1", "PATH": "/bin"}


def test_the_proxy_in_the_settings_is_the_users_own() -> None:
    settings = [SettingsEnv(USER, {"HTTPS_PROXY": "http://proxy.corp.test", "OTHER": "x"})]
    found = users_environment({"PATH": "/bin", "HTTPS_PROXY": "http://old"}, settings)
    assert found == {"PATH": "/bin", "HTTPS_PROXY": "http://proxy.corp.test"}


def test_only_what_settings_name_is_repeated_in_the_argument() -> None:
    settings = [SettingsEnv(USER, {"HTTPS_PROXY": "http://corp", "ALL_PROXY": "x", "PATH": "/x"})]
    assert repeated(CHILD, settings) == {"HTTPS_PROXY": "http://127.0.0.1:1", "ALL_PROXY": ""}
    assert repeated(CHILD, []) == {}


def test_the_administrators_proxy_is_named_with_its_file() -> None:
    settings = [SettingsEnv(MANAGED, {"https_proxy": "http://u:secret@corp"}, overridable=False)]
    (sentence,) = overriding(CHILD, settings, HOSTS, with_argument=True)
    assert sentence.startswith(f"https_proxy in {MANAGED} overrides ")
    assert "secret" not in sentence


def test_the_upper_case_form_does_not_matter_because_the_client_prefers_the_other() -> None:
    settings = [SettingsEnv(MANAGED, {"HTTPS_PROXY": "http://corp"}, overridable=False)]
    assert overriding(CHILD, settings, HOSTS, with_argument=True) == []


def test_settings_override_a_client_that_takes_no_argument() -> None:
    settings = [SettingsEnv(USER, {"https_proxy": "http://corp"})]
    assert overriding(CHILD, settings, HOSTS, with_argument=True) == []
    (sentence,) = overriding(CHILD, settings, HOSTS, with_argument=False)
    assert sentence.startswith(f"https_proxy in {USER} ")


def test_no_proxy_matters_only_if_it_names_a_captured_host() -> None:
    def sentences(value: str) -> int:
        settings = [SettingsEnv(MANAGED, {"no_proxy": value}, overridable=False)]
        return len(overriding(CHILD, settings, HOSTS, with_argument=True))

    assert sentences("intranet.test,localhost") == 0
    assert sentences("intranet.test,.anthropic.com") == 1
    assert sentences("intranet.test .anthropic.com") == 1
