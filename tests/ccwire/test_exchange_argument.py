import pytest

from ccwire.exchange_argument import session_and_number


@pytest.mark.parametrize(
    ("session", "number", "meant"),
    [
        (None, None, ("latest", None)),
        ("latest", 7, ("latest", 7)),
        ("4f1c", None, ("4f1c", None)),
        ("4f1c", 7, ("4f1c", 7)),
        (".", 7, (".", 7)),
        ("7", None, ("latest", 7)),
        ("007", None, ("latest", 7)),
        ("7", 3, ("7", 3)),
        ("12345", None, ("latest", 12345)),
        ("123456", None, ("123456", None)),
        ("\u0667", None, ("\u0667", None)),
        ("-7", None, ("-7", None)),
        ("", None, ("", None)),
    ],
)
def test_a_number_alone_is_an_exchange_of_the_latest_session(
    session: str | None, number: int | None, meant: tuple[str, int | None]
) -> None:
    assert session_and_number(session, number, lambda _: False) == meant


def test_the_start_of_an_id_may_be_four_digits() -> None:
    assert session_and_number("4711", None, lambda text: text == "4711") == ("4711", None)


def test_a_shorter_number_is_an_exchange_whatever_sessions_there_are() -> None:
    assert session_and_number("471", None, lambda _: True) == ("latest", 471)
