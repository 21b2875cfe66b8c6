"""What a sample of lines is made of, in both modes."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from worker.cli.estimate_verb import new_sample_tally
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.estimate.line_sampling import Line, LineStretch
from worker.estimate.sample_tally import SampleTally
from worker.settings.settings import Settings

TallyOf = Callable[..., SampleTally]


@pytest.fixture
def tally_of(prepared_model: PreparedModel, words: Tokenizer) -> TallyOf:
    """Count stretches, given as lists of lines: `tally_of([b"a line"], decode={"format": "json"})`."""

    def tally(*stretches: list[Line], **tables: Mapping[str, object]) -> SampleTally:
        made = new_sample_tally(Settings.model_validate(tables), prepared_model, words)
        made.add_stretches([LineStretch(lines, sum(len(line or b"") + 1 for line in lines)) for lines in stretches])
        return made

    return tally


def test_a_line_is_new_when_no_line_of_its_template_came_before(tally_of: TallyOf, words: Tokenizer) -> None:
    tally = tally_of([b"port 1 is open", b"port 22 is open", b"disk full"], [b"port 22 is open"])

    template, exact = tally.modes["template"], tally.modes["exact"]
    assert (tally.lines, tally.entries, tally.stretches, tally.size_bytes) == (4, 4, 2, 57)
    assert (template.templates, template.new_entries, template.pieces) == (2, 2, 4)
    assert (exact.templates, exact.new_entries, exact.pieces) == (3, 3, 4)
    counts = {text: int(words.count([text])[0]) for text in ("port 1 is open", "port 22 is open", "disk full")}
    assert exact.tokens == sum(counts.values()) + counts["port 22 is open"]
    assert exact.template_tokens == sum(counts.values())


def test_templates_are_counted_by_the_stretches_that_they_occur_in(tally_of: TallyOf) -> None:
    tally = tally_of([b"a", b"a", b"b"], [b"a", b"c"], [b"a"])

    assert tally.modes["exact"].templates_by_stretches() == {3: 1, 1: 2}


def test_a_second_list_of_stretches_goes_on_where_the_first_one_ended(tally_of: TallyOf) -> None:
    tally = tally_of([b"a"])
    tally.add_stretches([LineStretch([b"a", b"b"], 4)])

    exact = tally.modes["exact"]
    assert (exact.templates, exact.new_entries, exact.templates_by_stretches()) == (2, 2, {2: 1, 1: 1})


def test_what_is_not_indexed_of_several_lists_adds_up(tally_of: TallyOf) -> None:
    tally = tally_of([b"bad \xff", b"", None], decode={"errors": "strict"})
    tally.add_stretches([LineStretch([b"bad \xff", b"", None], 8), LineStretch([b"fine"], 5)])

    assert (tally.undecodable_lines, tally.empty_lines, tally.too_large_lines) == (2, 2, 2)
    assert (tally.lines, tally.entries, tally.stretches) == (7, 1, 3)


def test_lines_that_are_too_large_leave_the_others_in_their_stretches(tally_of: TallyOf) -> None:
    tally = tally_of([None, None, b"a"], [b"a", b"b"])

    assert tally.modes["exact"].templates_by_stretches() == {2: 1, 1: 1}


def test_of_json_lines_the_message_is_counted_and_an_array_holds_several(tally_of: TallyOf) -> None:
    array = b'[{"msg": "disk full", "service": "db", "level": "warn"}, {"msg": "disk full"}]'
    tally = tally_of([b'{"time": "2024-01-01", "message": "disk full", "pid": 7}', array])

    assert (tally.lines, tally.entries) == (2, 3)
    assert (tally.modes["template"].templates, tally.modes["exact"].templates) == (1, 1)


def test_a_long_line_is_split_and_its_chunks_are_pieces(tally_of: TallyOf) -> None:
    sentence = b"the quick brown fox jumps over the lazy dog. "
    tally = tally_of([sentence * 60, b"short"])

    exact = tally.modes["exact"]
    assert exact.chunked_entries == 1
    assert exact.pieces > 3
    assert exact.templates <= exact.pieces
    assert exact.new_entries == 2
    assert max(exact.entry_tokens) > 256, "a line's tokens are those of all its chunks"


def test_a_line_with_too_many_chunks_is_counted_and_needs_nothing(tally_of: TallyOf) -> None:
    tally = tally_of([b"one two three four five. " * 200], decode={"max_chunks": 1})

    exact = tally.modes["exact"]
    assert (exact.too_many_chunks_entries, exact.pieces, exact.tokens, exact.templates) == (1, 0, 0, 0)


def test_what_is_not_indexed_is_counted_by_its_reason(tally_of: TallyOf) -> None:
    tally = tally_of([b"", None, b"{}", b"bad \xff byte", b"fine"])

    assert (tally.lines, tally.entries) == (5, 2)
    assert (tally.empty_lines, tally.too_large_lines, tally.not_utf8_lines, tally.undecodable_lines) == (2, 1, 1, 0)


def test_masks_and_redaction_are_those_of_the_settings(tally_of: TallyOf) -> None:
    lines: list[Line] = [b"seen: Anna is gone", b"seen: Bob is gone"]
    added = {"name": "person", "pattern": "seen: [A-Z][a-z]+", "replacement": "seen: *"}

    assert tally_of(lines).modes["template"].templates == 2
    masked = tally_of(lines, mask={"add": [added]})
    assert (masked.modes["template"].templates, masked.modes["exact"].templates) == (1, 2)
    mails = tally_of([b"mail to anna@example.org", b"mail to bob@example.org"], redact={"rules": ["email"]})
    assert mails.modes["exact"].templates == 1


def test_the_ids_of_the_templates_are_kept_for_the_engine(tally_of: TallyOf, words: Tokenizer) -> None:
    tally = tally_of([b"disk full", b"disk full", b"door open"])

    kept = [ids.tolist() for ids in tally.modes["template"].kept]
    assert kept == [words.encode([text]).ids.tolist() for text in ("disk full", "door open")]


def test_the_prefix_of_documents_counts(prepared_model: PreparedModel, words: Tokenizer) -> None:
    tally = new_sample_tally(Settings(), replace(prepared_model, document_prefix="passage: "), words)
    tally.add_stretches([LineStretch([b"disk full"], 10)])

    assert tally.modes["exact"].tokens == int(words.count(["passage: disk full"])[0]) > int(words.count(["disk full"])[0])
