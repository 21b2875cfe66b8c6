"""`vectail verify --vectors` on an index whose vectors another engine made, with the real model."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sinks.index_spaces import VectorSpace
from sinks.row import TemplateId, TemplateRow, TemplateText
from tests.worker.cli.console import in_one_line
from tests.worker.cli.indexed import Indexed, Verify
from worker.connections import vector_space
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel


def test_a_vector_that_is_not_the_model_s_is_found_without_kafka_and_written_again(
    verify: Verify, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:9")  # of the discard protocol: nobody listens

    def compared(exit_code: int, *words: str) -> dict[str, Any]:
        ended = verify("--vectors", "--json", *words)
        assert ended.exit_code == exit_code, ended
        result: dict[str, Any] = json.loads(ended.out)
        assert result["complete"] is (exit_code == 0)
        return result

    with indexed.sink() as sink:
        stored = sink.counts().templates
    repair = compared(0, "--repair")
    assert repair["templates"] == stored
    assert repair["wrong"] > 0, "the worker's engine was none of this model"
    assert all(one["repaired"] for one in repair["findings"])
    right = compared(0)
    assert (right["templates"], right["wrong"], right["left"], right["findings"]) == (stored, 0, 0, [])

    line = indexed.line(1, 4)
    with indexed.sink() as sink:
        before = sink.templates.vectors([line.template])[line.template]
        forged = np.zeros_like(before)
        forged[7] = 1.0
        sink.templates.upsert([TemplateRow(line.template, forged, line.template_text)])
    ended = verify("--vectors")
    assert ended.exit_code == 1
    assert f"  {line.template}  its stored vector is not the model's (cosine " in ended.out
    assert f"1 vector not as the model gives it, of {stored} templates in " in ended.out
    assert in_one_line(ended) == "1 vector not as the model gives it; --repair writes the model's"
    result = compared(1)
    assert [(one["template"], one["text"], one["repaired"]) for one in result["findings"]] == [(line.template, line.template_text, False)]
    assert -1.0 <= result["findings"][0]["cosine"] < 0.5
    assert (result["wrong"], result["left"]) == (1, 1)

    repair = compared(0, "--repair")
    assert (repair["wrong"], repair["left"], repair["findings"][0]["repaired"]) == (1, 0, True)
    with indexed.sink() as sink:
        assert float(np.dot(sink.templates.vectors([line.template])[line.template], before)) > 0.999
    assert compared(0, "--sample", "3")["templates"] <= 3
    ended = verify("--vectors")
    assert (ended.exit_code, ended.err) == (0, "")
    assert f"All vectors are the model's: {stored} templates in " in ended.out


def test_both_views_of_an_index_are_compared_each_with_its_own_model(verify: Verify, indexed: Indexed, plain_model: PreparedModel) -> None:
    def forged(texts: Sequence[tuple[TemplateId, TemplateText]]) -> list[TemplateRow]:
        return [TemplateRow(one, np.eye(1, plain_model.dim, 7, np.float32)[0], text) for one, text in texts[:2]]

    def views(*words: str) -> list[tuple[str, int, int, str]]:
        found = json.loads(verify("--vectors", "--json", *words).out)["views"]
        return [(view["model"], view["templates"], view["left"], view["not_compared"]) for view in found]

    verify("--vectors", "--repair")
    own = views()
    with indexed.second_view(vector_space(space_of(plain_model)), plain_model.name, forged):
        assert views() == [*own, (plain_model.name, 2, 2, "")]
        assert f"The view of {plain_model.name}: 2 of 2 templates wrong." in verify("--vectors").out
        assert views("--repair") == views() == [*own, (plain_model.name, 2, 0, "")]
    with indexed.second_view(VectorSpace(plain_model.dim, "1234567890abcdef"), "bge-small", forged):
        assert views()[0] == own[0]
        assert views()[1][:3] == ("bge-small", 0, 0)
        assert "The view of bge-small was not compared: there is no model bge-small" in verify("--vectors").out


@pytest.mark.parametrize("given", [("--from", "10"), ("--to", "latest"), ("--topic", "logs")])
def test_vectors_have_no_offsets(verify: Verify, given: tuple[str, ...]) -> None:
    ended = verify("--vectors", *given)
    assert ended.exit_code == 2
    assert "leave out --topic, --from and --to" in in_one_line(ended)
