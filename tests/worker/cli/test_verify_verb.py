"""`vectail verify` on an index that a real worker wrote to a Milvus Lite folder: each test damages the index, then repairs it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from sinks.index_spaces import VectorSpace
from sinks.row import TemplateId, TemplateRow, TemplateText, template_id
from tests.worker.cli.conftest import NewScreen
from tests.worker.cli.console import EndedVerb, in_one_line
from tests.worker.cli.indexed import Indexed, Verify
from worker.cli.verify_screen import show_verified


def found(ended: EndedVerb, exit_code: int = 1) -> dict[str, Any]:
    """Return what `--json` printed, with the number of problems of each kind found under `kinds`."""
    assert ended.exit_code == exit_code, ended
    result: dict[str, Any] = json.loads(ended.out)
    assert result["complete"] is (exit_code == 0)
    return result | {"kinds": {kind: number for kind, number in result["problems"].items() if number}}


def places(result: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [(one["kind"], one["partition"], one["offset"], one["sub"], one["chunk"]) for one in result["findings"]]


def repaired(verify: Verify, kinds: Mapping[str, int]) -> None:
    """Repair, check that exactly these problems were repaired, and that the next run finds none."""
    repair = found(verify("--repair", "--json"), 0)
    assert repair["kinds"] == kinds
    assert all(one["repaired"] for one in repair["findings"])
    again = found(verify("--json"), 0)
    assert again["kinds"] == {}
    assert again["lines"] == again["sound_lines"]


def test_an_untouched_index_is_complete(verify: Verify, indexed: Indexed) -> None:
    ended = verify("--json")
    result = found(ended, 0)
    assert ended.err == ""
    assert (result["records"], result["lines"], result["sound_lines"]) == (65, len(indexed.by_id), len(indexed.by_id))
    assert (result["dead_letter_pieces"], result["not_committed"], result["findings"]) == (1, 3, [])
    assert [(one["partition"], one["first_offset"], one["end_offset"], one["not_committed"]) for one in result["ranges"]] == [
        (0, 0, 60, 0), (1, 0, 5, 0), (2, 0, 0, 3), (3, 0, 0, 0)
    ]  # fmt: skip


def test_a_person_reads_that_it_is_complete_and_what_is_not_committed(verify: Verify, indexed: Indexed) -> None:
    ended = verify()
    assert (ended.exit_code, ended.err) == (0, "")
    assert f"Complete: 65 records, {len(indexed.by_id)} lines in " in ended.out
    assert "not yet committed: 3" in ended.out
    assert "dead letters instead of lines: 1" in ended.out


def test_lines_that_are_gone_are_found_and_written_again(verify: Verify, indexed: Indexed) -> None:
    indexed.remove(indexed.line(0, 7), indexed.line(1, 1, 2))
    result = found(verify("--json"))
    assert places(result) == [("gap", 0, 7, None, None), ("missing", 1, 1, 2, 0)]
    repaired(verify, {"gap": 1, "missing": 1})
    assert indexed.line(0, 7) in indexed.stored()


def test_a_changed_text_is_found_told_and_written_again(verify: Verify, indexed: Indexed) -> None:
    wrong = indexed.line(0, 3)._replace(text="nothing happened", level="INFO")
    indexed.edit(lambda line: wrong if line.id == wrong.id else line)
    ended = verify()
    assert ended.exit_code == 1
    assert "1 lines that differ from what their record says:" in ended.out
    assert f"{indexed.world.topic}/0@3 entry 0 chunk 0  differs in text, level" in ended.out
    assert "Not complete: 1 problem in 65 records" in ended.out
    assert in_one_line(ended) == "1 problem; --repair repairs what it can"
    repaired(verify, {"changed": 1})


def test_a_missing_template_is_found_and_embedded_again(verify: Verify, indexed: Indexed) -> None:
    line = indexed.line(1, 4)
    indexed.drop_template(line.template)
    assert places(found(verify("--json"))) == [("template", 1, 4, 0, 0)]
    repaired(verify, {"template": 1})
    with indexed.sink() as sink:
        assert sink.templates.texts([line.template]) == {line.template: line.text}


def test_a_dead_letter_that_is_missing_is_a_gap_and_is_written(verify: Verify, indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__DEAD_LETTER_TOPIC", f"{indexed.world.kafka.dead_letter_topic}-empty")
    indexed.world._producer.partition_count(f"{indexed.world.kafka.dead_letter_topic}-empty", timeout_s=30)  # noqa: SLF001 - makes it
    result = found(verify("--json"))
    assert places(result) == [("gap", 1, 2, None, None)]
    assert result["findings"][0]["detail"] == "no dead letter (undecodable: not valid UTF-8)"
    repaired(verify, {"gap": 1})


@pytest.mark.parametrize(("given", "records"), [
    (("--from", "10"), 50), (("--from", "10", "--to", "20"), 10), (("--to", "latest"), 65), (("--to", "3"), 6),
    (("--from", "latest"), 0), (("--to", "earliest"), 0),
])  # fmt: skip
def test_a_part_is_verified_and_never_more_than_is_committed(verify: Verify, given: tuple[str, ...], records: int) -> None:
    assert found(verify(*given, "--json"), 0)["records"] == records


def test_an_index_is_its_groups_and_a_group_that_has_committed_nothing_owes_nothing(
    verify: Verify, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__GROUP", "another")
    ended = verify()
    assert ended.exit_code == 2
    assert "consumer group" in in_one_line(ended)
    with indexed.sink("others", "another"):
        pass
    monkeypatch.setenv("VECTAIL_MILVUS__COLLECTION", "others")
    ended = verify()
    assert ended.exit_code == 0
    assert "Nothing to verify" in ended.out
    assert "not yet committed: 68" in ended.out
    assert found(verify("--to", "latest", "--json"))["kinds"] == {"gap": 66}, "asked for by name, all of it is"


def test_a_folder_that_a_worker_holds_is_one_line(verify: Verify, indexed: Indexed) -> None:
    with indexed.sink():
        ended = verify()
    assert ended.exit_code == 2
    assert indexed.uri in in_one_line(ended)


@pytest.mark.parametrize(("name", "value", "exit_code", "line"), [
    ("VECTAIL_MILVUS__URI", "./no-index-here", 2, "no-index-here"),
    ("VECTAIL_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:9", 1, "kafka at 127.0.0.1:9"),  # of the discard protocol: nobody listens
    ("VECTAIL_MODEL__DIMS", "128", 2, "dim"),
])  # fmt: skip
def test_what_is_wrong_outside_is_one_line(
    verify: Verify, monkeypatch: pytest.MonkeyPatch, name: str, value: str, exit_code: int, line: str
) -> None:
    monkeypatch.setenv(name, value)
    ended = verify("--patience", "1")
    assert ended.exit_code == exit_code
    assert line in in_one_line(ended)


@pytest.mark.parametrize("given", [("--from", "yesterday"), ("--to", "all"), ("--from", "-1x")])
def test_a_place_that_is_none_is_refused(verify: Verify, given: tuple[str, ...]) -> None:
    ended = verify(*given)
    assert ended.exit_code == 2
    assert "give earliest, latest" in in_one_line(ended)


def test_of_many_problems_the_first_are_shown(new_screen: NewScreen) -> None:
    screen, written = new_screen(100)
    finding = {"kind": "gap", "topic": "logs", "partition": 0, "sub": None, "chunk": None, "id": "", "detail": "its row\x1b[2J is missing"}
    kinds = ("gap", "missing", "changed", "template", "left_over", "foreign", "damaged")
    show_verified(screen, {
        "complete": False, "records": 1_000, "lines": 400, "seconds": 1.0, "not_committed": 0, "dead_letter_pieces": 0, "expired_lines": 4,
        "other_epoch_lines": 0, "other_masks_lines": 0, "compacted_lines": 2, "copies": 0, "ranges": [],
        "sampled_lines": 0, "dropped_lines": 0, "dropped_stored_lines": 0, "masks": {"2": 300, "3": 100}, "second_view": None,
        "problems": dict.fromkeys(kinds, 0) | {"gap": 1_000}, "left": dict.fromkeys(kinds, 0) | {"gap": 400},
        "findings": [finding | {"offset": offset, "number": 1, "repaired": False} for offset in range(900)],
    })  # fmt: skip
    lines = written.getvalue().splitlines()
    assert lines[0] == "1,000 records that are neither in the index nor among the dead letters, 400 not repaired:"
    assert lines[1] == r"  logs/0@0  its row\x1b[2J is missing"
    assert len(lines) == 1 + 10 + 1 + 1 + 3
    assert lines[11].startswith("  … and 990 more")
    assert lines[12] == "Not complete: 400 problems in 1,000 records, 400 lines in 1.0 s."
    assert lines[-1] == "lines by the version of their masks: 2 75.0 %, 3 25.0 %"


def test_templates_that_a_second_view_lacks_or_has_more_are_counted_and_no_problem(verify: Verify, indexed: Indexed) -> None:
    def rows(texts: Sequence[tuple[TemplateId, TemplateText]]) -> list[TemplateRow]:
        vector, more = np.full(4, 0.5, np.float32), TemplateText("only there")
        return [TemplateRow(one, vector, text) for one, text in [*texts[2:], (template_id(more), more)]]

    assert found(verify("--json"), 0)["second_view"] is None
    with indexed.sink() as sink:
        templates = sink.templates.count()
    space = VectorSpace(4, "1234567890abcdef")
    with indexed.second_view(space, "bge-small", rows):
        assert found(verify("--json"), 0)["second_view"] == {
            "model": "bge-small", "space": space.id, "state": "old", "templates": templates - 1, "missing": 2, "only_there": 1
        }  # fmt: skip
        assert "the second view, of bge-small, lacks 2 templates and has 1 more; a worker with both models copies them" in verify().out
