"""`benchmarks.gpu` where there is no GPU: one line without vLLM's help, and the same code, tiny, on the CPU."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tokenizers

from benchmarks import gpu
from benchmarks.gpu import Failed, Replica, Row, Shape, made_texts, table, write_model

SCRIPT = str(gpu.__file__)
TINY = Shape("tiny", 1, 32, 1, (50,))


@pytest.mark.process
@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_in_one_line_and_exits_2() -> None:
    ended = subprocess.run([sys.executable, "-P", SCRIPT], capture_output=True, text=True, timeout=250, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == ["needs an NVIDIA GPU, and vLLM and torch that can use it"]


@pytest.mark.usefixtures("vllm_installed")
@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_same_code_runs_tiny_on_the_cpu(tmp_path: Path) -> None:
    copy = tmp_path / "alone.py"
    copy.write_bytes(Path(SCRIPT).read_bytes())
    command = [sys.executable, str(copy), "--cpu", "--json", "--replicas", "1", "2", "--seconds", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=550, check=False, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    rows = json.loads(ended.stdout)["rows"]
    assert [(row["way"], row["replicas"], row["failed"]) for row in rows] == [("default", 1, None), ("ids", 1, None), ("ids", 2, None)]
    assert min(row["tokens_per_s_worst"] for row in rows) > 0
    assert min(row["min_cosine"] for row in rows) > 0.999


@pytest.mark.long
@pytest.mark.process
def test_a_replica_that_fails_says_why(tmp_path: Path) -> None:
    one = Replica({}, tmp_path / "log")
    with pytest.raises(Failed, match=r"^KeyError: 'way'$"):
        one.wait(60)
    assert not one.alive


@pytest.mark.long
@pytest.mark.process
def test_a_replica_that_gives_no_answer_is_ended(tmp_path: Path) -> None:
    one = Replica({"way": "ids", "threads": 1}, tmp_path / "log")
    with pytest.raises(Failed, match=r"^no answer within 0 s$"):
        one.wait(0.0)
    assert not one.alive


def test_texts_have_the_ids_that_the_tokenizer_finds(tmp_path: Path) -> None:
    write_model(TINY, tmp_path / "model")
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "model" / "tokenizer.json"))
    for tokens in (50, 51, 512):
        texts, ids = made_texts(20, tokens)
        assert [one.ids for one in tokenizer.encode_batch(texts)] == [one.tolist() for one in ids]
        assert {len(one) for one in ids} == {tokens}


def test_the_weights_can_be_read(tmp_path: Path) -> None:
    from safetensors.numpy import load_file  # noqa: PLC0415 - the script writes the format by itself

    write_model(TINY, tmp_path / "model")
    weights = load_file(tmp_path / "model" / "model.safetensors")
    assert weights["encoder.layer.0.intermediate.dense.weight"].shape == (128, 32)
    assert abs(float(np.mean(weights["embeddings.LayerNorm.weight"])) - 1) < 0.05
    assert len(weights) == 3 + 2 + 16


def test_the_work_of_a_token_is_that_of_layers_and_attention() -> None:
    assert gpu.SHAPES[1].flops_per_token(512) == 12 * (24 * 768**2 + 4 * 512 * 768)


def test_the_table_shows_figures_and_failures() -> None:
    good = Row("MiniLM", 50, "ids", 4, 2_000_000, 1_900_000, 0.0437, 4.2, 0.99991, "bfloat16")
    lines = list(table([good, Row("MiniLM", 50, "ids", 8, failed="no answer within 900 s")]))
    assert lines[2] == "| MiniLM | 50 | ids | 4 | 2,000,000 | 1,900,000 | 4.4% | 4.20 | 0.99991 | bfloat16 |"
    assert lines[3].endswith("| failed: no answer within 900 s |")
    assert {line.count("|") for line in lines} == {11}
