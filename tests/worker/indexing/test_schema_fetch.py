"""Tools fetch the schemas of what they decode at once, and end if the registry does not answer."""

import pytest

from consumers.decode.registry_schemas import Unknown
from consumers.registry import RegistryAway
from consumers.registry_settings import RegistrySettings
from tests.worker.indexing.test_schema_wait import FakeRegistry
from worker.connections import open_registry
from worker.indexing.schema_fetch import SchemaFetch

VALUES = [b"\0\0\0\0\x01\x02x", None, b"plain", b"\0\0\0\0\x02x", b"\0\0\0\0\x01\x02x"]


def test_every_schema_is_fetched_once_and_an_unknown_one_is_not_asked_for_again() -> None:
    registry = FakeRegistry()
    registry.there = {1}
    fetch = SchemaFetch(registry)
    for _ in range(2):
        fetch.fetch_for(VALUES, None)
    assert sorted(registry.asked, key=str) == [1, 2]
    assert isinstance(fetch.schemas.find(2), Unknown)
    assert fetch.schemas.find(1) is not None


def test_a_registry_that_is_away_ends_the_tool() -> None:
    registry = FakeRegistry()
    registry.is_away = True
    with pytest.raises(RegistryAway):
        SchemaFetch(registry).fetch_for(VALUES, None)


def test_without_an_address_there_is_no_registry() -> None:
    assert open_registry(RegistrySettings()) is None
    registry = open_registry(RegistrySettings(url="https://me:secret@registry:8081/path/"))
    assert registry is not None
    assert registry.address == "https://registry:8081/path"
