"""How long the rows of both collections are to live."""

import pytest

from sinks.milvus.opening import lifetimes, told


@pytest.mark.parametrize(
    ("retention_s", "there", "wanted"),
    [
        (60.0, (0, 0), (120, 60)),
        (60.2, (0, 0), (121, 61)),
        (0.0, (120, 60), (0, 0)),
        (3e9, (0, 0), (3_155_760_000, 3_000_000_000)),
        (None, (0, 0), (None, None)),
        (None, (120, 60), (None, None)),
        (None, (500, 60), (None, None)),
        (None, (0, 60), (None, None)),
        (None, (119, 60), (120, None)),
        (None, (60, 0), (None, None)),
    ],
)
def test_templates_outlive_their_lines_and_what_is_not_set_stays(
    retention_s: float | None, there: tuple[int, int], wanted: tuple[int | None, int | None]
) -> None:
    templates_ttl_s, lines_ttl_s = there
    assert lifetimes(retention_s, templates_ttl_s=templates_ttl_s, lines_ttl_s=lines_ttl_s) == wanted


def test_a_lifetime_is_told_in_days() -> None:
    assert [told(seconds) for seconds in (0, 86_400, 43_200)] == ["for ever", "1 days", "0.5 days"]
