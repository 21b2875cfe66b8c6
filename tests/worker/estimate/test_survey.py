"""What a sample of lines is made of, in both modes."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from worker.cli.estimate import new_survey
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.estimate.sampling import Line, Stretch
from worker.estimate.survey import Survey
from worker.settings.settings import Settings

SurveyOf = Callable[..., Survey]


@pytest.fixture
def survey_of(prepared_model: PreparedModel, words: Tokenizer) -> SurveyOf:
    """Survey stretches, given as lists of lines: `survey_of([b"a line"], decode={"format": "json"})`."""

    def survey(*stretches: list[Line], **tables: Mapping[str, object]) -> Survey:
        made = new_survey(Settings.model_validate(tables), prepared_model, words)
        made.add([Stretch(lines, sum(len(line or b"") + 1 for line in lines)) for lines in stretches])
        return made

    return survey


def test_a_line_is_new_when_no_line_of_its_kind_came_before(survey_of: SurveyOf, words: Tokenizer) -> None:
    survey = survey_of([b"port 1 is open", b"port 22 is open", b"disk full"], [b"port 22 is open"])

    template, exact = survey.modes["template"], survey.modes["exact"]
    assert (survey.lines, survey.entries, survey.stretches, survey.size_bytes) == (4, 4, 2, 57)
    assert (template.kinds, template.new_entries, template.rows) == (2, 2, 4)
    assert (exact.kinds, exact.new_entries, exact.rows) == (3, 3, 4)
    counts = {text: int(words.count([text])[0]) for text in ("port 1 is open", "port 22 is open", "disk full")}
    assert exact.tokens == sum(counts.values()) + counts["port 22 is open"]
    assert exact.kind_tokens == sum(counts.values())


def test_kinds_are_counted_by_the_stretches_that_they_were_met_in(survey_of: SurveyOf) -> None:
    survey = survey_of([b"a", b"a", b"b"], [b"a", b"c"], [b"a"])

    assert survey.modes["exact"].met_in() == {3: 1, 1: 2}


def test_a_second_list_of_stretches_goes_on_where_the_first_one_ended(survey_of: SurveyOf) -> None:
    survey = survey_of([b"a"])
    survey.add([Stretch([b"a", b"b"], 4)])

    exact = survey.modes["exact"]
    assert (exact.kinds, exact.new_entries, exact.met_in()) == (2, 2, {2: 1, 1: 1})


def test_of_json_lines_the_message_is_surveyed_and_an_array_holds_several(survey_of: SurveyOf) -> None:
    array = b'[{"msg": "disk full", "service": "db", "level": "warn"}, {"msg": "disk full"}]'
    survey = survey_of([b'{"time": "2024-01-01", "message": "disk full", "pid": 7}', array])

    assert (survey.lines, survey.entries) == (2, 3)
    assert (survey.modes["template"].kinds, survey.modes["exact"].kinds) == (1, 1)
    assert (survey.text_bytes, survey.label_bytes) == (27, 6)


def test_a_long_line_is_split_and_its_chunks_are_rows(survey_of: SurveyOf) -> None:
    sentence = b"the quick brown fox jumps over the lazy dog. "
    survey = survey_of([sentence * 60, b"short"])

    exact = survey.modes["exact"]
    assert exact.chunked_entries == 1
    assert exact.rows > 3
    assert exact.kinds <= exact.rows
    assert exact.new_entries == 2
    assert max(exact.entry_tokens) > 256, "a line's tokens are those of all its chunks"


def test_a_line_with_too_many_chunks_is_counted_and_needs_nothing(survey_of: SurveyOf) -> None:
    survey = survey_of([b"one two three four five. " * 200], decode={"max_chunks": 1})

    exact = survey.modes["exact"]
    assert (exact.too_many_chunks_entries, exact.rows, exact.tokens, exact.kinds) == (1, 0, 0, 0)


def test_what_is_not_indexed_is_counted_by_its_reason(survey_of: SurveyOf) -> None:
    survey = survey_of([b"", None, b"{}", b"bad \xff byte", b"fine"])

    assert (survey.lines, survey.entries) == (5, 2)
    assert (survey.empty_lines, survey.too_large_lines, survey.not_utf8_lines, survey.undecodable_lines) == (2, 1, 1, 0)


def test_bytes_that_are_not_utf8_are_undecodable_where_the_settings_say_so(survey_of: SurveyOf) -> None:
    survey = survey_of([b"bad \xff byte", b"fine"], decode={"errors": "strict"})

    assert (survey.undecodable_lines, survey.not_utf8_lines, survey.entries) == (1, 0, 1)


def test_masks_and_redaction_are_those_of_the_settings(survey_of: SurveyOf) -> None:
    lines: list[Line] = [b"user anna-7 is gone", b"user bob-12 is gone"]
    added = {"name": "user", "pattern": "user [a-z]+-", "replacement": "user "}

    assert survey_of(lines).modes["template"].kinds == 2
    masked = survey_of(lines, mask={"add": [added]})
    assert (masked.modes["template"].kinds, masked.modes["exact"].kinds) == (1, 2)
    mails = survey_of([b"mail to anna@example.org", b"mail to bob@example.org"], redact={"rules": ["email"]})
    assert mails.modes["exact"].kinds == 1
    assert mails.text_bytes < 47


def test_the_ids_of_the_kinds_are_kept_for_the_engine(survey_of: SurveyOf, words: Tokenizer) -> None:
    survey = survey_of([b"disk full", b"disk full", b"door open"])

    kept = [ids.tolist() for ids in survey.modes["template"].kept]
    assert kept == [words.encode([text]).ids.tolist() for text in ("disk full", "door open")]


def test_the_prefix_of_documents_counts(prepared_model: PreparedModel, words: Tokenizer) -> None:
    survey = new_survey(Settings(), replace(prepared_model, document_prefix="passage: "), words)
    survey.add([Stretch([b"disk full"], 10)])

    assert survey.modes["exact"].tokens == int(words.count(["passage: disk full"])[0]) > int(words.count(["disk full"])[0])
