"""`python -m benchmarks.cache` runs to its end, on few lines, and says what it needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cache import LIST, figures_of, lists_of, main, vectors_of
from tests.services.ports import free_port
from tests.services.redis import local_redis
from tests.worker.cli.console import ROOT, environment


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.cache", *words]
    return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.process
def test_on_a_file_and_a_running_server_it_gives_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "some.log"
    file.write_text("Failed password for root from 10.0.0.1\n" * 50)
    with local_redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu") as server:
        ended = run(str(file), "--quick", "--json", "--redis", server.url)
        assert server.admin().dbsize() == 2000

    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    assert list(figures)[:4] == ["l1_us_per_record", "redis_keys_per_s", "vs_get_loop", "mask_lines_per_s"]
    assert all(figures[name] > 0 for name in list(figures)[:4])
    assert ended.stderr == ""


def refusal(monkeypatch: pytest.MonkeyPatch, *words: str) -> SystemExit:
    monkeypatch.setattr(sys, "argv", ["cache", "--quick", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value


def test_without_a_server_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert refusal(monkeypatch).code == "redis-server is not installed, and --redis names none"


def test_a_server_that_does_not_answer_is_said_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = refusal(monkeypatch, "--redis", f"redis://127.0.0.1:{free_port()}")
    assert str(ended.code).startswith("Redis did not take the vectors")


def test_a_url_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(monkeypatch, "--redis", "http://h").code == 2
    assert "redis.url must begin" in capsys.readouterr().err


def test_vectors_are_seeded_and_of_length_one() -> None:
    one, other = vectors_of(10), vectors_of(10)
    assert list(one) == list(other)
    assert all(abs(float(vector @ vector) - 1) < 1e-5 for vector in one.values())
    assert [len(some) for some in lists_of([str(number) for number in range(2 * LIST + 1)])] == [LIST, LIST, 1]


def test_ratios_are_taken_within_a_round() -> None:
    figures = figures_of([1e6, 2e6, 1e6], [300.0, 100.0, 100.0], [100.0, 10.0, 2.0], [5.0, 6.0, 7.0])
    assert (figures["l1_us_per_record"], figures["worst"]["l1_us_per_record"]) == (1.0, 1.0)
    assert (figures["redis_keys_per_s"], figures["vs_get_loop"], figures["worst"]["vs_get_loop"]) == (100, 10.0, 3.0)
    assert figures["mask_lines_per_s"] == 6
