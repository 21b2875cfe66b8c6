"""Prepare and store compute under one lock, and let go of it before they ask or tell anything outside."""

from collections.abc import Callable
from typing import Any

import pytest

from consumers.decode.text_reader import TextReader
from consumers.text.chunk import Chunker
from sinks.build import build
from tests.worker.chain import Chain
from worker.indexing.record_outcomes import RecordOutcomes


def test_columns_are_computed_under_the_lock_and_nothing_outside_is_reached_meanwhile(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[str, set[bool]] = {}

    def noting(where: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: object, **named: object) -> object:
            held.setdefault(where, set()).add(chain.computing.is_held)
            return call(*arguments, **named)

        return noted

    monkeypatch.setattr(TextReader, "read", noting("decode", TextReader.read))
    monkeypatch.setattr(RecordOutcomes, "judge", noting("dead letters", RecordOutcomes.judge))
    monkeypatch.setattr(Chunker, "split", noting("split", Chunker.split))
    monkeypatch.setattr("worker.indexing.store.build", noting("build", build))
    monkeypatch.setattr(chain.levels, "find", noting("caches and index", chain.levels.find))
    monkeypatch.setattr(chain.sink.templates, "upsert", noting("templates", chain.sink.templates.upsert))
    monkeypatch.setattr(chain.sink, "write_blocks", noting("blocks", chain.sink.write_blocks))
    chain.feed("disk full", "network down")
    chain.run()
    assert held == {
        "decode": {True},
        "split": {True},
        "build": {True},
        "dead letters": {False},
        "caches and index": {False},
        "templates": {False},
        "blocks": {False},
    }
    assert not chain.computing.is_held
