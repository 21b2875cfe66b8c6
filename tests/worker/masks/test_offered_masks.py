"""Masks that are offered for an index: from one line of each family, for topics that share their masks, as TOML to paste."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from consumers.text.families import family_of
from consumers.text.mask import Masker
from worker.masks.offered_masks import offer_masks
from worker.runtime.toml_strings import toml_string
from worker.settings.settings import Settings, load_settings

NAMES = ("Ada", "Bob", "Carol", "Dave", "Erin", "Frank")
PARCELS = tuple(f"parcel 'big' handed over with {name} on board" for name in NAMES)


class LinesIndex:
    """Answers the two questions from lines by topic, as a worker does; remembers them.

    Thread: the test's.
    """

    def __init__(self, **lines: Sequence[str]) -> None:
        self.lines = lines
        self.texts: dict[str, str] = {}
        """The templates of lines that are not what the masks make of them."""
        self.asked: list[Mapping[str, Any]] = []

    def __call__(self, query: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(query)
        if query["as"] == "counts":
            counts = [{"topic": topic, "lines": len(lines)} for topic, lines in self.lines.items()]
            return {"counts": counts, "by": ["topic"], "complete": True}
        topics = query.get("filters", {}).get("topic", self.lines)
        examples = [line for topic in topics for line in self.lines.get(topic, ())]
        texts = [self.texts.get(line, text) for line, text in zip(examples, Masker().mask(examples), strict=True)]
        listed = [
            {"family": family_of(text), "text": text, "example": line, "lines": 3} for line, text in zip(examples, texts, strict=True)
        ]
        return {"templates": listed, "complete": True}


def settings_of(**tables: Any) -> Settings:  # noqa: ANN401
    return load_settings(None, tables)


def test_families_that_differ_in_one_word_are_offered_as_one_mask() -> None:
    index = LinesIndex(logs=[*PARCELS, "disk full", "disk empty"])
    offered = offer_masks(settings_of(), index)
    assert (offered["families"], offered["lines"], offered["templates"], offered["templates_after"]) == (6, 8, 8, 3)
    pasted = settings_of(**tomllib.loads(offered["toml"]))
    assert [one.name for one in pasted.mask.add] == ["over-with"]
    assert "the index: 8 lines (one of each frequent family)" in offered["toml"]
    assert [query["as"] for query in index.asked] == ["templates"]


def test_without_families_that_differ_in_one_word_nothing_is_offered() -> None:
    offered = offer_masks(settings_of(), LinesIndex(logs=["disk full", "net away"]))
    assert (offered["families"], offered["suggestions"], offered["toml"]) == (0, [], "")
    assert offer_masks(settings_of(), LinesIndex())["lines"] == 0
    assert offer_masks(settings_of(mask={"mode": "exact"}), LinesIndex(logs=PARCELS))["families"] == 0


def test_a_family_is_looked_at_by_one_line() -> None:
    again = [line.upper() for line in PARCELS]
    offered = offer_masks(settings_of(), LinesIndex(logs=[*PARCELS, *again]))
    assert (offered["families"], offered["lines"]) == (6, 6)


def test_a_line_whose_template_the_masks_do_not_make_is_left_out() -> None:
    index = LinesIndex(logs=PARCELS)
    index.texts = dict.fromkeys(PARCELS[:1], "parcel {What} handed over with {Whom}")
    offered = offer_masks(settings_of(), index)
    assert (offered["families"], offered["lines"]) == (5, 5)


def test_topics_with_the_same_masks_are_looked_at_together_those_with_most_lines() -> None:
    own = {"disabled": ["email"]}
    tables: dict[str, Any] = {"topic": [{"name": "web"}, {"name": "shop", "mask": own}, {"name": "till", "mask": own}]}
    index = LinesIndex(web=["disk full"], shop=PARCELS[:3], till=PARCELS[3:])
    offered = offer_masks(settings_of(**tables), index)
    assert (offered["topic"], offered["table"], offered["families"]) == ("shop", "topic.mask", 6)
    assert index.asked[-1]["filters"] == {"topic": ["shop", "till"]}
    assert "[[topic.mask.add]]" in offered["toml"]
    assert offer_masks(settings_of(**tables), index, "web")["lines"] == 1
    assert offer_masks(settings_of(**tables), index, "web")["table"] == "mask"


@pytest.mark.parametrize("text", [r"(\bto )\S+", "it's", "a\tb", 'say "x"', "é", "\x7f", "''' \\", "it's 😀", ""])
def test_a_string_reads_back_as_it_was(text: str) -> None:
    assert tomllib.loads(f"x = {toml_string(text)}") == {"x": text}
