"""Places contain no ids or paths, but can be found by whoever has the files."""

from correlate.schema.snapshot.anonymous import anonymous, without_places
from correlate.schema.snapshot.snapshot import ExamplePlace, Field, Seen


def places(*sources: ExamplePlace) -> dict[str, Field]:
    return {f"b{n}": Field({"string": Seen(1, place)}) for n, place in enumerate(sources)}


def shown(snapshot: dict[str, Field]) -> list[str]:
    return [str(root.at) for root in snapshot.values()]


def test_folders_and_files_are_numbered_in_order() -> None:
    snapshot = places(
        ExamplePlace("/c/bbb/0002_resp_v1_messages.json"),
        ExamplePlace("/c/aaa/0007_req_api_eval_sdk_secret.json"),
        ExamplePlace("/c/bbb/0001_req_v1_messages.json"),
        ExamplePlace("/home/x/.claude/projects/-home-x/zzz.jsonl", 31),
        ExamplePlace("/home/x/.claude/projects/-home-x/aaa.jsonl", 2),
        ExamplePlace("/home/x/.claude/sessions/4711.json"),
    )
    assert shown(anonymous(snapshot)) == [
        "capture 2 exchange 2 response",
        "capture 1 exchange 7 request",
        "capture 2 exchange 1 request",
        "transcript 2:31",
        "transcript 1:2",
        "file 1",
    ]


def test_what_is_anonymous_stays_as_it_is() -> None:
    snapshot = places(ExamplePlace("capture 3 exchange 1 request"), ExamplePlace("transcript 9", 4))
    assert anonymous(snapshot) == snapshot


def test_a_file_called_like_an_anonymous_place_gives_nothing_away() -> None:
    assert shown(anonymous(places(ExamplePlace("transcript 1 of mine.jsonl", 2)))) == [
        "transcript 1:2"
    ]


def test_places_can_be_dropped() -> None:
    assert shown(without_places(places(ExamplePlace("/c/x.jsonl", 1)))) == ["None"]
