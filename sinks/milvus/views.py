"""The views of an index on Milvus: a templates' collection for each embedding space, and the blocks' collection, which remembers them.

The sink's door makes one and lends it its connection. Whoever drops a view, or replaces a collection, is noticed after the next write.
"""

import json
from collections.abc import Callable, Mapping

from sinks.index_spaces import IndexSpaces, VectorSpace, encode_spaces
from sinks.milvus.backend import backend
from sinks.milvus.collections import check_space, ensure, properties, spaces_of
from sinks.milvus.fields import (
    SPACE_PARTS_PROPERTY,
    SPACE_PROPERTY,
    SPACES_PROPERTY,
    CollectionFound,
    templates_layout,
    templates_name,
)
from sinks.milvus.lending import Lending
from sinks.milvus.lite import names_server
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.opening import Opened, set_lifetimes, wanted_templates
from sinks.milvus.template_rows import MilvusTemplates
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch


class MilvusViews:
    """The view of a space is one object for as long as this is; one that was not opened answers nothing.

    Thread: any; `prefer` and `open_view` one at a time.
    """

    def __init__(self, settings: MilvusSettings, home: VectorSpace, group: str, lent: Lending, say: Callable[[str], None]) -> None:
        """`home`: the space of the worker's own model."""
        self._settings = settings
        self._group = group
        self._lent = lent
        self._say = say
        self._is_local = not names_server(settings.uri)
        self._home = home.id
        self._views = {home.id: MilvusTemplates(templates_layout(settings.collection, home), lent, local=self._is_local)}
        self._ids: dict[str, int] = {}
        """Of the collections, by their names."""
        self.preferred = self._views[home.id]

    def use(self, opened: Opened) -> None:
        """Take the collections as the sink's `open` found them."""
        self._views[self._home].use(opened.templates, opened.index_type)
        templates_id, blocks_id = opened.ids
        self._ids = {opened.templates.name: templates_id, self._settings.collection: blocks_id}

    def spaces(self) -> IndexSpaces:
        """Return what the blocks' collection remembers now."""
        with self._lent.calls() as client:
            return spaces_of(client.described(self._settings.collection))

    def change(self, before: IndexSpaces, after: IndexSpaces) -> bool:
        """Remember `after`, unless somebody has changed `before` meanwhile; returns whether it is so now.

        Milvus has no condition for that: of two who change it in the same moment the last one wins, and both may be told so.
        """
        name = self._settings.collection
        with self._lent.calls() as client:
            if spaces_of(client.described(name)) != before:
                return False
            parts = client.described(templates_name(name, after.preferred)).properties.get(SPACE_PARTS_PROPERTY, json.dumps({}))
            kept = {SPACE_PROPERTY: after.preferred, SPACE_PARTS_PROPERTY: parts, SPACES_PROPERTY: encode_spaces(after)}
            client.alter(name, kept)
            return spaces_of(client.described(name)) == after

    def open_view(self, space: VectorSpace, *, create: bool, now_s: float) -> MilvusTemplates:
        """Return the view of a space, opened or, if it is wished, created; `now_s`: since 1970. Raises SinkMismatch and SinkBusy."""
        settings = self._settings
        with self._lent.calls() as client:
            capable = backend(client.version(), local=self._is_local)
            layout, _ = wanted_templates(client, settings, space, capable)
            found = ensure(client, layout, capable, create=properties(space, self._group) if create else None)
            check_space(found, space)
            if create and not self._is_local:
                blocks = client.described(settings.collection)
                set_lifetimes(client, blocks, found, None, now_s, None)
        view = self._views.setdefault(space.id, MilvusTemplates(layout, self._lent, local=self._is_local))
        view.use(layout, found.index_type)
        self._ids[layout.name] = found.id
        return view

    def prefer(self, space: str) -> None:
        """Make an open view the one that is asked."""
        self.preferred = self._views[space]

    def drop(self, space: str) -> None:
        """Remove the view of a space that is not preferred; one that is not there is no error."""
        name = templates_name(self._settings.collection, space)
        if self._views.get(space) is self.preferred:
            raise SinkMismatch(f"the view of embedding space {space} is the one that is asked")
        self._ids.pop(name, None)
        if space != self._home:
            self._views.pop(space, None)
        with self._lent.calls(write=True) as client:
            client.drop(name)

    def check_not_replaced(self, now_s: float) -> CollectionFound | None:
        """Raise SinkBroken if a collection is not that of `open` any more; returns the blocks', None in a local folder.

        Templates of every view are told how long they live. A view that is not among the index's any more was dropped, not replaced.
        """
        if self._is_local:
            return None
        name = self._settings.collection
        with self._lent.calls() as client:
            blocks = client.described(name)
        self._check_id(blocks)
        there = spaces_of(blocks).views
        for view in self._open_views(there):
            with self._lent.calls() as client:
                found = client.described(view.layout.name)
            self._check_id(found)
            try:
                with self._lent.calls() as client:
                    blocks, _ = set_lifetimes(client, blocks, found, None, now_s, self._say)
            except SinkBusy:
                return blocks  # the write is acknowledged; after the next one it is tried again
        return blocks

    def _open_views(self, there: Mapping[str, object]) -> list[MilvusTemplates]:
        return [view for space, view in self._views.copy().items() if space in there and view.layout.name in self._ids]

    def _check_id(self, found: CollectionFound) -> None:
        if found.id != self._ids.get(found.name, found.id):
            self._lent.broken = f"Milvus collection {found.name!r} was replaced while running; start again to fill the new one"
            raise SinkBroken(self._lent.broken)
