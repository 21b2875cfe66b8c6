"""`vectail model check`."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import in_one_line, vectail
from worker.embedding.model.prepared import PreparedModel


@pytest.fixture
def exchanged(prepared_model: PreparedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the settings name a prepared model whose own tokenizer has the ids of two words swapped."""
    folder = tmp_path / "exchanged"
    shutil.copytree(prepared_model.folder, folder)
    file = folder / "tokenizer.json"
    text = file.read_text(encoding="utf-8")
    ids = json.loads(text)["model"]["vocab"]
    for word, token_id in (("river", ids["castle"]), ("castle", ids["river"])):
        text = re.sub(rf'("{word}": ?){ids[word]}\b', rf"\g<1>{token_id}", text)
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("VECTAIL_MODEL__FOLDER", str(folder))
    return folder


def test_without_files_the_sample_of_every_start_and_the_engine_are_checked(run_here: RunHere) -> None:
    ended = run_here("model", "check")

    facts = {line[:11].strip(): line[11:] for line in ended.out.splitlines()}
    assert (ended.exit_code, ended.err) == (0, "")
    assert facts["compared"] == "the built-in sample"
    assert facts["ids"].startswith("all equal")
    assert facts["vectors"] == "engine llama.cpp gives the golden vectors"


def test_every_line_of_the_files_is_compared_as_it_is_and_masked(run_here: RunHere, tmp_path: Path) -> None:
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    first.write_bytes(b"port 4711 refused\nno number here\r\n\nnot UTF-8: \xff\xfe\n")
    second.write_text("[SEP] in a line\n" * 2500 + "the last line, 中", encoding="utf-8")

    ended = run_here("model", "check", "--sample", str(first), "--sample", str(second), "--json")

    facts = json.loads(ended.out)
    assert (ended.exit_code, ended.err, facts["equal"], facts["difference"]) == (0, "", True, None)
    assert facts["lines"] == 2505
    # Two lines lose a number when they are masked, and the empty line gets one, because no masked text is empty.
    assert facts["texts"] == 2505 + 3
    assert facts["foreign_texts"] == 2503
    assert (facts["tokenizer"], facts["engine"]) == ("llama.cpp", "llama.cpp")


def test_texts_are_compared_behind_both_prefixes_as_they_are_embedded(
    run_here: RunHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some.log").write_text("disk full\n", encoding="utf-8")
    monkeypatch.setenv("VECTAIL_MODEL__DOCUMENT_PREFIX", "[SEP] ")
    monkeypatch.setenv("VECTAIL_MODEL__QUERY_PREFIX", "query: ")

    ended = run_here("model", "check", "--sample", str(tmp_path / "some.log"))

    facts = {line[:11].strip(): line[11:] for line in ended.out.splitlines()}
    assert facts["compared"] == "the built-in sample and 1 lines, as they are and as they are embedded: 3 texts"
    assert facts["of these"] == "1, 33.33%, are left to the model's own tokenizer"


def test_standard_input_is_a_file_too(prepared_model: PreparedModel) -> None:
    env = {"VECTAIL_ENGINE__NAME": "llama", "VECTAIL_MODEL__FOLDER": str(prepared_model.folder)}

    ended = vectail("model", "check", "--sample", "-", "--json", given=b"a line\nanother line", env=env)

    assert (ended.exit_code, json.loads(ended.out)["lines"]) == (0, 2)


def test_a_line_that_no_record_can_hold_is_left_out_and_counted(run_here: RunHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_DECODE__MAX_RECORD_BYTES", "2000")
    (tmp_path / "long.log").write_bytes(b"short\n" + b"x" * 2001 + b"\nshort\n")

    facts = json.loads(run_here("model", "check", "--sample", str(tmp_path / "long.log"), "--json").out)

    assert (facts["lines"], facts["too_large"]) == (2, 1)


def test_the_first_line_that_differs_is_shown_with_its_ids(run_here: RunHere, exchanged: Path, tmp_path: Path) -> None:
    ids = json.loads((exchanged / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    (tmp_path / "some.log").write_text("all is well\nthe connection of a castle\nand a river\n", encoding="utf-8")

    ended = run_here("model", "check", "--sample", str(tmp_path / "some.log"))

    assert ended.exit_code == 1
    assert in_one_line(ended) == (
        f"ids differ on 'the connection of a castle'; from token 5: [{ids['river']}, 102] here, "
        f"[{ids['castle']}, 102] from the model's own tokenizer"
    )


def test_as_json_the_difference_has_all_ids(run_here: RunHere, exchanged: Path, tmp_path: Path) -> None:
    ids = json.loads((exchanged / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    (tmp_path / "some.log").write_text("\u0007 all is well\n" + "a river " * 20, encoding="utf-8")

    ended = run_here("model", "check", "--sample", str(tmp_path / "some.log"), "--json")

    facts = json.loads(ended.out)
    assert (ended.exit_code, facts["equal"], facts["engine"]) == (1, False, None)
    difference = facts["difference"]
    assert difference["text"] == "a river " * 20
    assert difference["shown"] == "'" + "a river " * 10 + "'…"
    assert difference["place"] == 2
    assert difference["found"] == [101, *[1037, ids["castle"]] * 20, 102]
    assert difference["wanted"] == [101, *[1037, ids["river"]] * 20, 102]


def test_an_engine_with_other_vectors_ends_with_2(
    run_here: RunHere, prepared_model: PreparedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "turned"
    shutil.copytree(prepared_model.folder, folder)
    file = folder / "golden.npz"
    size_bytes = file.stat().st_size
    file.write_bytes(b"\0" * size_bytes)
    monkeypatch.setenv("VECTAIL_MODEL__FOLDER", str(folder))

    ended = run_here("model", "check")

    assert (ended.exit_code, ended.out) == (2, "")
    in_one_line(ended)
