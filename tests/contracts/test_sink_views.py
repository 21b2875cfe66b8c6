"""What every sink must do with views of several embedding spaces, run on the fake, on a local Milvus folder and on a real server."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from sinks.block import BlockId
from sinks.index_spaces import IndexSpaces, SpaceLease, StoredSpace, VectorSpace
from sinks.row import TemplateRow, TemplateText
from sinks.sink import BlockFilter, Sink, SinkMismatch
from tests.template_ids import id_of
from tests.world import SPACE, blocks, line, template, told, unit

OTHER = VectorSpace(4, "other-space", {"pooling": "cls"})


@pytest.fixture
def two_views(sink: Sink) -> Iterator[Sink]:
    """Yield a sink with a second, empty view; leave it with one."""
    sink.drop_view(OTHER.id)
    sink.open_view(OTHER, create=True)
    before = sink.spaces()
    yield sink
    sink.prefer(SPACE.id)
    sink.drop_view(OTHER.id)
    assert sink.change_spaces(sink.spaces(), before)


def _row(text: str, *values: float) -> TemplateRow:
    vector = np.zeros(OTHER.dim, np.float32)
    vector[: len(values)] = values
    return TemplateRow(id_of(text), vector / np.linalg.norm(vector), TemplateText(text))


def _stored_blocks(sink: Sink) -> dict[BlockId, tuple[object, ...]]:
    """Return all that is stored of each block."""
    heads = told(sink.find_blocks(BlockFilter(), strong=True).heads)
    columns = sink.read_columns(heads.keys(), ["places", "texts", "fields"], strong=True)
    words = {one: found.tobytes() for one, found in sink.read_words(heads.keys()).items()}
    return {one: (of, columns[one], words.get(one)) for one, of in heads.items()}


def _with_other(spaces: IndexSpaces) -> IndexSpaces:
    return spaces.with_view(OTHER.id, StoredSpace(dim=OTHER.dim, model="other", state="building", since_ms=5))


def test_an_index_begins_with_the_one_view_of_its_model(sink: Sink) -> None:
    spaces = sink.spaces()
    assert (spaces.preferred, list(spaces.views), spaces.lease) == (SPACE.id, [SPACE.id], None)
    assert sink.open_view(SPACE) is sink.templates


def test_a_view_that_is_missing_is_refused_unless_it_may_be_created(sink: Sink) -> None:
    sink.drop_view(OTHER.id)
    with pytest.raises(SinkMismatch):
        sink.open_view(OTHER)
    sink.open_view(OTHER, create=True)
    assert sink.open_view(OTHER).count() == 0
    sink.drop_view(OTHER.id)


def test_each_view_has_its_own_vectors_and_no_other_view_sees_them(two_views: Sink) -> None:
    sink, view = two_views, two_views.open_view(OTHER)
    sink.templates.upsert([template("both", unit(1.0)), template("one", unit(0.0, 1.0))])
    view.upsert([_row("both", 0.0, 1.0)])
    assert (sink.templates.count(), view.count(), sink.counts().templates) == (2, 1, 2)
    assert view.stored([id_of("both"), id_of("one")]) == {id_of("both")}
    assert view.vectors([id_of("both")])[id_of("both")].shape == (OTHER.dim,)
    assert sink.templates.vectors([id_of("both")])[id_of("both")].shape == (SPACE.dim,)
    (hits,) = view.nearest(_row("", 0.0, 1.0).vector[None], 5)
    assert [hit.text for hit in hits] == ["both"]


def test_the_preferred_view_is_the_one_that_is_asked_and_cannot_be_dropped(two_views: Sink) -> None:
    sink = two_views
    sink.open_view(OTHER).upsert([_row("there", 1.0)])
    sink.prefer(OTHER.id)
    assert sink.templates.count() == 1  # after a Strong read a Bounded one misses nothing
    assert sink.templates.texts([id_of("there")]) == {id_of("there"): "there"}
    with pytest.raises(SinkMismatch):
        sink.drop_view(OTHER.id)
    assert sink.templates.stored([id_of("there")]) == {id_of("there")}


def test_a_dropped_view_is_empty_when_it_is_created_again(two_views: Sink) -> None:
    sink = two_views
    sink.open_view(OTHER).upsert([_row("gone", 1.0)])
    sink.drop_view(OTHER.id)
    assert sink.open_view(OTHER, create=True).count() == 0


def test_no_block_is_touched_while_views_come_and_go(two_views: Sink) -> None:
    sink = two_views
    sink.write_blocks(blocks([line(offset) for offset in range(12)], 4))
    before = _stored_blocks(sink)
    for row in ("one", "two"):
        sink.open_view(OTHER).upsert([_row(row, 1.0)])
    alone = sink.spaces()
    assert sink.change_spaces(alone, _with_other(alone))
    sink.prefer(OTHER.id)
    assert _stored_blocks(sink) == before
    sink.prefer(SPACE.id)
    sink.drop_view(OTHER.id)
    assert _stored_blocks(sink) == before
    assert len(before) == 3
    sink.delete_blocks(before.keys())
    sink.open_view(OTHER, create=True)


def test_spaces_change_at_once_and_only_if_nobody_was_faster(two_views: Sink) -> None:
    sink, before = two_views, two_views.spaces()
    building = replace(_with_other(before), lease=SpaceLease(owner="a", until_ms=7))
    assert sink.change_spaces(before, building)
    assert sink.spaces() == building
    assert not sink.change_spaces(before, replace(building, lease=None))
    assert sink.spaces() == building
    ready = building.with_view(OTHER.id, replace(building.views[OTHER.id], state="ready", waived=("speed",)))
    assert sink.change_spaces(building, replace(ready, preferred=OTHER.id))
    assert (sink.spaces().preferred, sink.spaces().other) == (OTHER.id, SPACE.id)


def test_what_was_changed_is_there_after_the_next_open(two_views: Sink) -> None:
    sink = two_views
    changed = _with_other(sink.spaces())
    assert sink.change_spaces(sink.spaces(), changed)
    sink.open_view(OTHER).upsert([_row("kept", 1.0)])
    sink.close()
    sink.open()
    assert sink.spaces() == changed
    assert sink.open_view(OTHER).count() == 1
