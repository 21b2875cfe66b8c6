"""Sinks on changed settings, with reads that see every write."""

from collections.abc import Callable
from typing import Any

from sinks.index_spaces import VectorSpace
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from tests.world import SPACE


def with_settings(settings: MilvusSettings, **changes: Any) -> MilvusSettings:  # noqa: ANN401 (values of any setting)
    """Return other settings, checked as the ones of a file are."""
    return MilvusSettings.model_validate(settings.model_dump() | changes)


def strong_sink(
    settings: MilvusSettings,
    space: VectorSpace = SPACE,
    *,
    group: str = "vectail",
    retention_s: float | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> MilvusSink:
    return MilvusSink(with_settings(settings, consistency="Strong"), space, consumer_group=group, retention_s=retention_s, say=say)
