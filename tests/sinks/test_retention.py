"""How long the rows of both collections are to live, and what may be changed when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.milvus.retention import lifetimes, told
from tests.rows import rows

DAY_S = 86_400
NOW_S = 1_700_000_000.5


@pytest.mark.parametrize(("rule", "retention_s", "blocks_ttl_s", "templates_ttl_s", "since", "wanted"), rows("milvus/lifetimes"))
def test_templates_outlive_their_blocks_at_every_moment(
    rule: str, retention_s: float | None, blocks_ttl_s: int, templates_ttl_s: int, since: str, wanted: list[object]
) -> None:
    answer = lifetimes(retention_s, blocks_ttl_s=blocks_ttl_s, templates_ttl_s=templates_ttl_s, since=since, now_s=NOW_S, is_new=False)
    assert list(answer) == wanted, rule


def test_new_collections_get_both_at_once() -> None:
    assert lifetimes(60.0, blocks_ttl_s=0, templates_ttl_s=0, since="", now_s=NOW_S, is_new=True) == (60, 180, None)
    assert lifetimes(None, blocks_ttl_s=60, templates_ttl_s=0, since="", now_s=NOW_S, is_new=True) == (None, 180, None)


RETENTION = st.sampled_from([None, 0.0, 10.0, 100.0, 1_000.0])


@given(steps=st.lists(st.tuples(RETENTION, st.integers(0, 400)), max_size=12))
def test_no_history_of_changes_removes_a_template_that_a_block_needs(steps: list[tuple[float | None, int]]) -> None:
    """A template that is in use is written again within L of each change, so after it templates' rows are at most 2 L + 0.1 L old."""
    blocks_s, templates_s, since, now_s = 0, 0, "", 1_000
    changed_s = 0
    for retention_s, passed_s in steps:
        now_s += passed_s
        answer = lifetimes(retention_s, blocks_ttl_s=blocks_s, templates_ttl_s=templates_s, since=since, now_s=float(now_s), is_new=False)
        if answer.blocks is not None:
            blocks_s, changed_s = answer.blocks, now_s
        if answer.since is not None:
            since = answer.since
        if answer.templates is not None:
            if answer.templates > 0 and (templates_s == 0 or answer.templates < templates_s):
                assert now_s >= changed_s + blocks_s, "templates were shortened before all that is in use was written again"
            templates_s = answer.templates
        assert templates_s == 0 or (blocks_s and templates_s >= 3 * blocks_s)
    for _ in range(2):
        answer = lifetimes(None, blocks_ttl_s=blocks_s, templates_ttl_s=templates_s, since=since, now_s=now_s + 5_000.0, is_new=False)
        since, templates_s = answer.since or since, templates_s if answer.templates is None else answer.templates
        now_s += 5_000
    assert templates_s == 3 * blocks_s, "in the end they live three times as long"


def test_a_lifetime_is_told_in_days() -> None:
    assert [told(seconds) for seconds in (0, DAY_S, DAY_S // 2)] == ["for ever", "1 days", "0.5 days"]
