"""How the demo begins: where the page is comes first, and no small file waits for an engine that starts slowly."""

import http.client
import socket
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Literal

import pytest

from tests.worker.cli.conftest import NewScreen
from tests.worker.cli.console import WAIT_S, RunningVerb
from worker.cli.demo import demo
from worker.cli.demo_start import WORTH_WAITING_BYTES, begin_demo, choose_engine
from worker.cli.exits import CommandFailed
from worker.cli.verb_options import DemoOptions
from worker.settings.tables import EngineTable


@pytest.fixture
def vllm_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `vllm` look installed; to import it would fail."""
    installed = ModuleType("vllm")
    installed.__spec__ = ModuleSpec("vllm", None, origin="vllm/__init__.py")
    monkeypatch.setitem(sys.modules, "vllm", installed)
    monkeypatch.delenv("VECTAIL_ENGINE__NAME")


def large_file(folder: Path) -> str:
    file = folder / "large.log"
    with file.open("wb") as opened:
        opened.truncate(WORTH_WAITING_BYTES)  # it has no blocks on disk
    return str(file)


def test_the_first_line_is_where_the_page_is_and_the_page_is_there(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("disk 7 is full\n")
    with RunningVerb(["demo", str(file), "--serve"]) as running:
        running.wait_for("in a browser: ")
        first = running.out.splitlines()[0]
        assert first.startswith("Open http://127.0.0.1:")
        address = first.removeprefix("Open http://").partition("/")[0]
        client = http.client.HTTPConnection(address, timeout=WAIT_S)  # it waits until the server runs
        client.request("GET", "/")
        answer = client.getresponse()
        assert (answer.status, b"<html" in answer.read()) == (200, True)
        client.close()
        running.wait_for("Ctrl-C ends it.")
        assert f"Open http://{address}/ in a browser: everything is indexed.\n" in running.out
        assert f"http://{address}/mcp" in running.out


def test_the_port_listens_and_its_address_is_said_before_anything_is_loaded(new_screen: NewScreen) -> None:
    screen, written = new_screen(80)
    start = begin_demo(DemoOptions(serve=True), None, screen)
    assert start.http is not None
    try:
        assert written.getvalue() == f"Open {start.http.url}/ in a browser: it answers in a moment, once the model is loaded.\n"
        socket.create_connection((start.http.host, start.http.port), timeout=WAIT_S).close()
    finally:
        start.http.socket.close()


def test_a_file_that_is_missing_is_said_before_any_address(new_screen: NewScreen, tmp_path: Path) -> None:
    screen, written = new_screen(80)
    with pytest.raises(CommandFailed, match="no such file"):
        begin_demo(DemoOptions(files=[str(tmp_path / "none.log")], serve=True), None, screen)
    assert written.getvalue() == ""


def test_a_demo_that_does_not_serve_listens_nowhere(new_screen: NewScreen) -> None:
    screen, written = new_screen(80)
    assert begin_demo(DemoOptions(), None, screen).http is None
    assert written.getvalue() == ""


def test_only_files_worth_the_wait_make_the_demo_wait_for_vllm(tmp_path: Path) -> None:
    small = tmp_path / "small.log"
    small.write_bytes(b"disk 7 is full\n")
    large = large_file(tmp_path)
    without = "Loading the model without vLLM, which would take about 20 seconds (--engine vllm) …"
    cases: list[tuple[Literal["auto", "vllm", "llama", "onnx"], bool, tuple[str, ...], str, str]] = [
        ("auto", False, (large,), "", "Loading the model …"),
        ("onnx", False, (large,), "onnx", "Loading the model …"),
        ("auto", True, (), "", without),
        ("auto", True, (str(small), "-"), "", without),
        ("auto", True, (large, "-"), "vllm", "Loading vLLM and the model, about 20 seconds: 500 MB are worth the wait"),
        ("vllm", True, (str(small),), "vllm", "Loading vLLM and the model, about 20 seconds …"),
    ]
    for named, has_vllm, files, chosen, said in cases:
        choice = choose_engine(EngineTable(name=named), files, has_vllm=has_vllm)
        assert (choice.name, said in choice.line) == (chosen, True), choice


@pytest.mark.usefixtures("vllm_is_installed")
def test_where_vllm_is_installed_a_small_demo_runs_without_it_and_says_so(new_screen: NewScreen, tmp_path: Path) -> None:
    screen, written = new_screen(200)
    file = tmp_path / "app.log"
    file.write_text("disk 7 is full\n")
    result = demo(DemoOptions(files=[str(file)], k=2), screen)
    assert result["lines"] == 1
    assert result["engine"] in ("llama.cpp", "onnx")
    told = written.getvalue()
    assert told.count("Loading the model without vLLM, which would take about 20 seconds (--engine vllm)") == 1
    assert told.endswith("See it in a browser: the same command with --serve.\n")


@pytest.mark.usefixtures("vllm_is_installed")
def test_an_engine_that_is_named_is_used_however_small_the_files_are(
    new_screen: NewScreen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "app.log"
    file.write_text("disk 7 is full\n")
    screen, written = new_screen(200)
    monkeypatch.setenv("VECTAIL_MODEL__FOLDER", str(tmp_path / "none"))
    with pytest.raises(CommandFailed, match=str(tmp_path / "none")):  # it ends before the engine is there
        demo(DemoOptions(files=[str(file)], k=2, engine="vllm"), screen)
    assert "Loading vLLM and the model, about 20 seconds …" in written.getvalue()
