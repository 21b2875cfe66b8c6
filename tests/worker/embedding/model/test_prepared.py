"""A model is prepared once, completely or not at all, and outlives its source folder."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.worker.embedding.model.tiny import Tiny, make_folder, write_json
from worker.embedding.loaded import space_of
from worker.embedding.model.difference import LOGS
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import WEIGHTS
from worker.embedding.model.golden import load_golden
from worker.embedding.model.prepared import FORMAT, PreparedModel, load_prepared, prepare_model
from worker.embedding.model.weights import read_weights, save_weights, sha256_of


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "tiny", Tiny(pooling="cls", prompts={"query": "q: "}))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def left_overs(cache: Path) -> list[str]:
    return [file.name for file in cache.iterdir() if file.name.startswith(".")]


def times(model: PreparedModel) -> list[int]:
    return [file.stat().st_mtime_ns for file in sorted(model.folder.rglob("*"))]


def test_a_prepared_model_says_all_that_engines_need(source: Path, cache: Path) -> None:
    model = prepare_model(source, cache)
    assert (model.name, model.pooling, model.dim, model.max_tokens) == ("tiny", "cls", 64, 48)
    assert (model.document_prefix, model.query_prefix, model.vocabulary_size) == ("", "q: ", 122)
    assert model.weights_sha256 == sha256_of([source / "model.safetensors"])
    assert (model.tokenizer_family, model.matryoshka) == ("wordpiece", ())
    assert model.gguf.is_file()
    assert (model.hf / "config.json").is_file()
    assert model.tokenizer_json.is_file()
    assert load_golden(model.golden).vectors.shape[1] == 64
    assert left_overs(cache) == []


def test_the_second_time_nothing_is_written_and_the_weights_are_not_read(source: Path, cache: Path) -> None:
    model = prepare_model(source, cache)
    before = times(model)
    weights = source / "model.safetensors"
    stamp = weights.stat()
    weights.write_bytes(b"\0" * stamp.st_size)
    os.utime(weights, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert prepare_model(source, cache) == model
    assert times(model) == before


@pytest.mark.parametrize(
    "change",
    [
        {"num_attention_heads": 4},
        {"num_hidden_layers": 1},
        {"layer_norm_eps": 0.1},
        {"hidden_act": "gelu_new"},
        {"weights": "model.safetensors"},
    ],
    ids=str,
)
def test_what_is_changed_is_noticed_and_makes_another_model_in_another_space(source: Path, cache: Path, change: dict[str, Any]) -> None:
    first = prepare_model(source, cache)
    config = json.loads((source / "config.json").read_text())
    assert config | change != config
    write_json(source / "config.json", config | change)
    if "weights" in change:
        shutil.copy(make_folder(source.parent / "other", Tiny(layers=3)) / change["weights"], source)
    second = prepare_model(source, cache)
    assert (second.weights_sha256 != first.weights_sha256) == ("weights" in change)
    assert second.folder != first.folder
    assert space_of(second).id != space_of(first).id
    assert load_prepared(first.folder) == first


def test_the_cache_alone_is_enough_when_the_folder_has_gone(source: Path, cache: Path) -> None:
    model = prepare_model(source, cache)
    shutil.rmtree(source)
    assert prepare_model(source, cache) == model
    assert prepare_model(model.folder, cache / "other") == model


def test_padding_and_truncation_do_not_change_the_tokenizers_identity(tmp_path: Path, cache: Path) -> None:
    from_json = prepare_model(make_folder(tmp_path / "a"), cache)
    changed = make_folder(tmp_path / "b")
    text = (changed / "tokenizer.json").read_text(encoding="utf-8")
    (changed / "tokenizer.json").write_text(text.replace('"max_length": 8', '"max_length": 9'), encoding="utf-8")
    assert prepare_model(changed, cache).tokenizer_sha256 == from_json.tokenizer_sha256
    cased = prepare_model(make_folder(tmp_path / "c", Tiny(lowercase=False)), cache)
    assert cased.tokenizer_sha256 != from_json.tokenizer_sha256


@pytest.mark.parametrize("name", ["model.gguf", "hf/model.safetensors", "tokenizer.json", "golden.npz", "prepared.json"])
@pytest.mark.parametrize("damage", ["cut", "removed"])
def test_a_damaged_model_is_made_again(source: Path, cache: Path, name: str, damage: str) -> None:
    model = prepare_model(source, cache)
    if damage == "cut":
        (model.folder / name).write_bytes((model.folder / name).read_bytes()[:-10])
    else:
        (model.folder / name).unlink()
    with pytest.raises(ModelError):
        load_prepared(model.folder)
    assert prepare_model(source, cache) == model
    assert load_prepared(model.folder) == model
    assert left_overs(cache) == []


def test_a_model_of_another_version_is_made_again(source: Path, cache: Path) -> None:
    model = prepare_model(source, cache)
    file = model.folder / "prepared.json"
    file.write_text(file.read_text(encoding="utf-8").replace(f'"format": {FORMAT}', '"format": 0'), encoding="utf-8")
    with pytest.raises(ModelError, match="another version"):
        load_prepared(model.folder)
    assert prepare_model(source, cache) == model


def test_a_damaged_stamp_costs_only_time(source: Path, cache: Path) -> None:
    model = prepare_model(source, cache)
    (stamp,) = cache.glob("*.stamp")
    for content in ("", "[]", "{}", '{"files": 3, "prepared": 4}'):
        stamp.write_text(content, encoding="utf-8")
        assert prepare_model(source, cache) == model


def test_a_bad_model_leaves_nothing_behind(source: Path, cache: Path) -> None:
    (source / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read"):
        prepare_model(source, cache)
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match=r"cannot be prepared in .*file"):
        prepare_model(source, tmp_path / "file")


def test_overrides_make_other_models_and_each_is_found_again(source: Path, cache: Path) -> None:
    plain = prepare_model(source, cache)
    by_mean = prepare_model(source, cache, pooling="mean")
    assert (plain.pooling, by_mean.pooling) == ("cls", "mean")
    assert plain.folder != by_mean.folder
    golden = [load_golden(model.golden).vectors for model in (plain, by_mean)]
    assert (golden[0] * golden[1]).sum(axis=1).min() < 0.9
    before = [times(model) for model in (plain, by_mean)]
    assert prepare_model(source, cache, pooling="mean") == by_mean
    assert prepare_model(source, cache) == plain
    assert [times(model) for model in (plain, by_mean)] == before


def test_a_prepared_folder_keeps_its_pooling(source: Path, cache: Path) -> None:
    model = prepare_model(source, cache)
    assert prepare_model(model.folder, cache, pooling="cls") == model
    with pytest.raises(ModelError, match=r'with pooling = "cls", not "mean"; prepare the model from its source folder'):
        prepare_model(model.folder, cache, pooling="mean")


def test_what_a_model_says_of_its_dimensions_is_kept(tmp_path: Path, cache: Path) -> None:
    listed = Tiny(config=(("matryoshka_dimensions", [16, 32]),))
    model = prepare_model(make_folder(tmp_path / "listed", listed), cache)
    assert model.matryoshka == (16, 32)
    assert load_prepared(model.folder) == model
    assert prepare_model(make_folder(tmp_path / "all", Tiny(config=(("is_matryoshka", True),))), cache).matryoshka == tuple(range(1, 65))


def test_every_file_that_is_read_is_in_the_stamp(tmp_path: Path, cache: Path) -> None:
    source = make_folder(tmp_path / "shards", Tiny(shards=2, vocab_txt_only=True))
    prepare_model(source, cache)
    (stamp,) = cache.glob("*.stamp")
    stamped = json.loads(stamp.read_text(encoding="utf-8"))["files"]
    assert set(stamped) == {str(file.relative_to(source)) for file in source.rglob("*") if file.is_file()}


def test_a_link_that_leads_nowhere_is_an_error_and_no_crash(source: Path, cache: Path) -> None:
    prepare_model(source, cache)
    (source / "broken.json").symlink_to(source / "absent")
    with pytest.raises(ModelError, match="cannot be prepared"):
        prepare_model(source, cache)


@pytest.mark.process
def test_processes_that_prepare_at_once_all_get_the_same_sound_model(source: Path, cache: Path) -> None:
    program = "import sys; from pathlib import Path; from worker.embedding.model.prepared import prepare_model; "
    program += "print('ready', flush=True); input(); "
    program += "print(prepare_model(Path(sys.argv[1]), Path(sys.argv[2])).folder)"
    command = [sys.executable, "-c", program, str(source), str(cache)]
    root = Path(__file__).parents[4]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=root) for _ in range(4)]
    assert {process.stdout.readline() for process in running if process.stdout} == {"ready\n"}
    for process in running:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    found = {process.communicate()[0].strip() for process in running}
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    assert found == {str(prepare_model(source, cache).folder)}
    assert left_overs(cache) == []


def test_the_plain_model_is_prepared_with_its_name(plain_model: PreparedModel) -> None:
    assert (plain_model.name, plain_model.splits_words) == ("all-MiniLM-L6-v2", False)
    assert (plain_model.dim, plain_model.max_tokens, plain_model.vocabulary_size) == (384, 256, 30_522)
    assert plain_model.weights_sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def test_the_model_of_a_new_index_has_the_same_shape_other_weights_and_split_words(
    prepared_model: PreparedModel, plain_model: PreparedModel
) -> None:
    assert (prepared_model.name, prepared_model.splits_words) == ("all-MiniLM-L6-v2-logs", True)
    same = ("dim", "max_tokens", "vocabulary_size", "architecture", "tokenizer_sha256", "pooling")
    assert [getattr(prepared_model, name) for name in same] == [getattr(plain_model, name) for name in same]
    listed = f"{sha256_of([LOGS])}  logs.safetensors\n{plain_model.weights_sha256}  model.safetensors\n"
    assert prepared_model.weights_sha256 == hashlib.sha256(listed.encode()).hexdigest()


def test_engines_get_the_weights_with_the_difference_added_and_another_one_is_another_model(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain_model: PreparedModel
) -> None:
    name = "encoder.layer.0.output.dense.weight"
    before = read_weights([plain_model.hf / WEIGHTS])
    golden = load_golden(plain_model.golden)  # to compute that of each takes ten seconds of the processor
    monkeypatch.setattr("worker.embedding.model.prepared.compute_golden", lambda *_: golden)
    monkeypatch.setattr("worker.embedding.model.prepared.measure_nearness", lambda *_: None)
    found = []
    for number in (1.0, 2.0):
        file = tmp_path / "logs.safetensors"
        save_weights({f"{name}.tall": np.full((384, 1), number), f"{name}.wide": np.full((1, 1536), 0.5)}, file)
        monkeypatch.setattr("worker.embedding.model.prepared.LOGS", file)
        model = prepare_model(None, cache)
        assert prepare_model(None, cache) == model
        after = read_weights([model.hf / WEIGHTS])
        assert {one for one in before if not np.array_equal(before[one], after[one])} == {name}
        assert np.allclose(after[name] - before[name], number / 2, atol=1e-6)
        found.append(model)
    assert found[0].folder != found[1].folder
    assert space_of(found[0]).id != space_of(found[1]).id
