"""Suggested masks as a person reads them: tables for the settings file, each below what it does; all the rest are comments.

Pure: returns text that is valid TOML as a whole. `vectail templates --suggest` prints it, and `worker.masks.offered_masks` offers it.
"""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from worker.runtime.logs import printable
from worker.runtime.toml_strings import toml_string
from worker.runtime.wording import counted, cut

_WIDTH = 100
_LONGEST_WORD = 60


def shown_suggestions(facts: Mapping[str, Any]) -> str:
    """Return the text; `facts` are what `vectail templates --suggest --json` prints."""
    return "\n".join([*_head(facts), *(line for one in facts["suggestions"] for line in _table(one, facts["table"]))])


def _head(facts: Mapping[str, Any]) -> Iterator[str]:
    read = {
        "all": "all lines",
        "sample": "a sample",
        "first": "the first lines",
        "newest": "the newest records",
        "families": "one of each frequent family",
    }[facts["basis"]]
    yield from _comment(
        f"{printable(facts['source'])}: {counted(facts['lines'], 'line')} ({read}), {counted(facts['templates'], 'template')}."
    )
    if facts["left_out"]:
        yield from _comment(f"Left out, because a rule drops them or they are too long: {facts['left_out']:,}.")
    if not facts["suggestions"]:
        yield from _comment("No mask to suggest: no word varies between templates that are otherwise equal, or such words tell something.")
        return
    masks = counted(len(facts["suggestions"]), "mask")
    yield from _comment(
        f"With {'this' if len(facts['suggestions']) == 1 else 'these'} {masks}: {counted(facts['templates_after'], 'template')}."
    )
    yield from _comment("Paste what is right into the settings file; `vectail masks diff` shows what a change does.")
    if facts["table"] == "topic.mask":
        yield from _comment(f"The topic {printable(facts['topic'])} has masks of its own: paste below its [[topic]] table.")


def _table(one: Mapping[str, Any], table: str) -> Iterator[str]:
    examples = ", ".join(cut(printable(word), _LONGEST_WORD) for word in one["examples"])
    rest = one["words"] - len(one["examples"])
    more = f" and {rest:,} more" if rest > 0 else ""
    yield ""
    yield from _comment(
        f"{counted(one['templates'], 'template')} become {one['templates_after']:,} ({counted(one['lines'], 'line')}): {examples}{more}"
    )
    yield f"# {cut(printable(one['template']), _WIDTH)}"
    yield f"[[{table}.add]]"
    for name in ("name", "pattern", "replacement"):
        yield f"{name} = {toml_string(one[name])}"


def _comment(sentence: str) -> Iterator[str]:
    for line in wrap(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"# {line}"
