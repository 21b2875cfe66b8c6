"""TLS: what a server is reached with, and what is refused rather than passed over."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sinks.milvus.access import tls_options, token
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import SinkBusy, SinkMismatch
from tests.rows import rows
from tests.sinks.settings import strong_sink, with_settings
from tests.sinks.stub_server import StubServer
from tests.world import block, line

pytestmark = pytest.mark.process

NAME = "milvus.test"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of `NAME`, which signs itself; its key lies beside it."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    command += ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "cert.pem"


@pytest.fixture
def server(tmp_path: Path, certificate: Path) -> Iterator[StubServer]:
    key = certificate.with_name("key.pem")
    server = StubServer(tmp_path / "server", certificate=(key.read_bytes(), certificate.read_bytes()))
    yield server
    server.close()


def settings_for(uri: str, **tls: str) -> MilvusSettings:
    return MilvusSettings(uri=uri, timeout_s=10.0, **tls)  # type: ignore[arg-type] # pydantic makes paths of them


def test_a_server_is_reached_by_tls_under_the_name_in_its_certificate(server: StubServer, certificate: Path) -> None:
    sink = strong_sink(settings_for(server.uri, ca_file=str(certificate), server_name=NAME))
    sink.open()
    sink.write_blocks([block([line(1)])])
    assert sink.counts().blocks == 1
    sink.close()


@pytest.mark.parametrize("trusts", [True, False])
def test_a_server_that_is_not_the_one_is_not_spoken_to(server: StubServer, certificate: Path, trusts: bool) -> None:  # noqa: FBT001 (a parameter)
    tls = {"ca_file": str(certificate), "server_name": "another.test"} if trusts else {"server_name": NAME}
    with pytest.raises(SinkBusy):
        strong_sink(with_settings(settings_for(server.uri, **tls), timeout_s=0.5)).open()


def test_all_three_files_are_handed_on(certificate: Path) -> None:
    key = certificate.with_name("key.pem")
    three = {"ca_file": str(certificate), "cert_file": str(certificate), "key_file": str(key)}
    assert tls_options(settings_for("https://h:1", **three, server_name="n")) == {
        "server_name": "n",
        "ca_pem_path": str(certificate),
        "client_pem_path": str(certificate),
        "client_key_path": str(key),
    }
    assert tls_options(settings_for("https://h:1")) == tls_options(settings_for("http://h:1")) == {}


@pytest.mark.parametrize(("uri", "files", "reason"), rows("milvus/tls_refused"))
def test_what_would_be_passed_over_is_refused(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, uri: str, files: dict[str, str], reason: str
) -> None:
    monkeypatch.chdir(certificate.parent)
    with pytest.raises(SinkMismatch) as refused:
        strong_sink(settings_for(uri, **files)).open()
    assert reason in str(refused.value)


def test_a_token_stands_before_a_name_and_a_password() -> None:
    plain = settings_for("http://h:1")
    assert token(plain) == ""
    assert token(with_settings(plain, user="u", password="p")) == "u:p"  # noqa: S106 (no secret)
    assert token(with_settings(plain, user="u", password="p", token="t")) == "t"  # noqa: S106 (no secret)
