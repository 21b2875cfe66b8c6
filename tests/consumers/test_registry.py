"""The client of a Schema Registry, against a registry on loopback that answers, refuses, hangs and lies."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from consumers.registry import RegistryAway, RegistryClient, RegistryMisconfigured, SchemaNotFound
from consumers.registry_settings import RegistrySettings
from consumers.schema import FetchedSchema
from tests.services.ports import free_port
from tests.services.schema_registry import SchemaRegistryStub

AVRO = FetchedSchema("AVRO", '"string"')
GUID = "8b2a9c5e-0d3f-4b60-9a77-2f4c53a1e9d0"


@pytest.fixture
def registry() -> Iterator[SchemaRegistryStub]:
    with SchemaRegistryStub() as stub:
        yield stub


def client(registry: SchemaRegistryStub, **settings: str) -> RegistryClient:
    return RegistryClient(RegistrySettings.model_validate({"url": registry.url, **settings}))


def test_a_schema_is_found_by_its_number_and_by_its_guid(registry: SchemaRegistryStub) -> None:
    registry.add_schema(7, AVRO)
    registry.add_answer(f"/schemas/guids/{GUID}", {"schema": '"bytes"'})
    assert client(registry).fetch(7) == AVRO
    assert client(registry).fetch(GUID) == FetchedSchema("AVRO", '"bytes"')


def test_protobuf_is_asked_for_as_a_descriptor(registry: SchemaRegistryStub) -> None:
    registry.add_answer("/schemas/ids/7", {"schema": 'syntax = "proto3";', "schemaType": "PROTOBUF"})
    registry.add_answer("/schemas/ids/7?format=serialized", {"schema": "CgA=", "schemaType": "PROTOBUF"})
    assert client(registry).fetch(7) == FetchedSchema("PROTOBUF", "CgA=")


def test_a_descriptor_that_the_registry_fails_at_by_its_number_is_asked_for_by_subject_and_version(registry: SchemaRegistryStub) -> None:
    registry.add_answer("/schemas/ids/7", {"schema": 'syntax = "proto3";', "schemaType": "PROTOBUF"})
    registry.answers["/schemas/ids/7?format=serialized"] = (500, b"")
    registry.answers["/schemas/ids/7/versions"] = (200, b'[{"subject":"a-value","version":3}]')
    registry.add_answer("/subjects/a-value/versions/3?deleted=true&format=serialized", {"schema": "CgA=", "schemaType": "PROTOBUF"})
    assert client(registry).fetch(7) == FetchedSchema("PROTOBUF", "CgA=")
    for versions in (b"[]", b"{}", b"<html>", b'[{"subject":7}]', b'[{"subject":"\\udfff","version":3}]'):
        registry.answers["/schemas/ids/7/versions"] = (200, versions)
        with pytest.raises(RegistryAway, match="it answers 500"):
            client(registry).fetch(7)


def test_references_come_after_those_that_they_refer_to_themselves(registry: SchemaRegistryStub) -> None:
    refers_to_a = {"references": [{"name": "A", "subject": "a/b", "version": 2}]}
    registry.add_answer("/schemas/ids/7", {"schema": "main", **refers_to_a})
    registry.add_answer(
        "/subjects/a%2Fb/versions/2",
        {"schema": "a", "references": [{"name": "B", "subject": "b", "version": 1}, {"name": "A", "subject": "a/b", "version": 2}]},
    )
    registry.add_answer("/subjects/b/versions/1", {"schema": "b", **refers_to_a})
    assert client(registry).fetch(7) == FetchedSchema("AVRO", "main", (("B", "b"), ("A", "a")))


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_a_registry_that_says_so_does_not_have_the_schema(registry: SchemaRegistryStub, code: int) -> None:
    registry.add_answer("/schemas/ids/7", {"error_code": code}, 404)
    with pytest.raises(SchemaNotFound):
        client(registry).fetch(7)


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (404, b"<html>no such page</html>", "it answers 404 Not Found"),
        (404, b'{"error_code":404}', "it answers 404 Not Found, error 404"),
        (401, b'{"error_code":40101}', "it answers 401 Unauthorized, error 40101"),
        (500, b"", "it answers 500 Internal Server Error"),
        (429, b"", "it answers 429 Too Many Requests"),
        (302, b"http://127.0.0.1:1/elsewhere", "it answers with a redirect, which is not followed: 302 Found"),
        (200, b"<html>", "its answer is not a JSON object"),
        (200, b"[" * 100_000, "its answer is not a JSON object"),
        (200, b"{}", "it answers without a schema"),
        (200, b'{"schema":"x","references":[{"name":"a"}]}', "it answers a reference without name, subject or version"),
        (200, b'{"schema":"x","references":7}', "it answers a reference without name, subject or version"),
        (200, b'{"schema":"x","references":{"name":"a"}}', "it answers a reference without name, subject or version"),
        (
            200,
            b'{"schema":"x","references":[{"name":"a","subject":"\\ud800","version":1}]}',
            "it answers a reference without name, subject or version",
        ),
        (200, b" " * (8 * 1024 * 1024 + 1), "an answer has more than 8388608 bytes"),
    ],
)
def test_whatever_else_it_answers_is_the_worlds_fault(registry: SchemaRegistryStub, status: int, content: bytes, reason: str) -> None:
    registry.answers["/schemas/ids/7"] = (status, content)
    with pytest.raises(RegistryAway) as raised:
        client(registry).fetch(7)
    assert str(raised.value) == reason


def test_a_registry_that_is_not_there_or_does_not_answer_in_time_is_away(registry: SchemaRegistryStub) -> None:
    with pytest.raises(RegistryAway, match="refused"):
        RegistryClient(RegistrySettings(url=f"http://127.0.0.1:{free_port()}")).fetch(7)
    registry.ready.clear()
    with pytest.raises(RegistryAway, match="timed out"):
        RegistryClient(RegistrySettings(url=registry.url), timeout_s=0.05).ping()


def test_user_password_and_token_are_sent_and_never_shown(registry: SchemaRegistryStub) -> None:
    registry.add_schema(7, AVRO)
    address = registry.url.replace("://", "://a%40b:se%3Acret@")
    for one in (client(registry, url=address + "/"), client(registry, user="a@b", password="se:cret"), client(registry, token="t0ken")):  # noqa: S106
        one.fetch(7)
        assert one.address == registry.url
    basic = "Basic " + base64.b64encode(b"a@b:se:cret").decode()
    assert registry.authorizations == [basic, basic, "Bearer t0ken"]


def test_a_certificate_that_cannot_be_read_is_for_the_user_to_change(tmp_path: Path) -> None:
    with pytest.raises(RegistryMisconfigured, match=r"missing\.pem"):
        RegistryClient(RegistrySettings(url="https://registry", ca_file=tmp_path / "missing.pem"))
