"""Changes as Markdown, for a pull request."""

from inline_snapshot import snapshot

from correlate.schema.compare.change import SchemaChange
from correlate.schema.compare.markdown import changes_as_markdown
from correlate.schema.snapshot.snapshot import ExamplePlace


def test_tables_by_severity() -> None:
    changes = [
        SchemaChange(
            kind="type-changed",
            bucket="wire/request/messages",
            path="metadata.user_id",
            before="string",
            after="integer or string",
            severity="breaking",
            sure=0.994,
            count=7,
            at=ExamplePlace("capture 1 exchange 7 request"),
            versions_before=frozenset({"2.1.39"}),
            versions_after=frozenset({"2.1.168", "2.1.170"}),
        ),
        SchemaChange(
            kind="added",
            bucket="hook/Stop",
            path="effort",
            after="object",
            severity="additive",
            sure=0.5,
            count=1,
        ),
    ]
    assert changes_as_markdown(changes) == snapshot(
        """\
### Breaking (1)

| change | where | before → after | confidence | versions | example |
|---|---|---|---:|---|---|
| type-changed | `wire/request/messages metadata.user_id` | `string` → `integer or string` | 99% | \
2.1.39 → 2.1.168 … 2.1.170 | `capture 1 exchange 7 request` |

### Additive (1)

| change | where | before → after | confidence | versions | example |
|---|---|---|---:|---|---|
| added | `hook/Stop effort` | `object` | 50% | ? → ? |  |
"""
    )


def test_nothing_to_say() -> None:
    assert changes_as_markdown([]) == "No format changes.\n"
