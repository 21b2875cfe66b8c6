"""What people come for at the worst hour, from the first screen on: each answer is at most three steps away, and nobody is stuck."""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from sinks.row import TemplateText
from tests.page.parts import ask, hits, open_hit, status, tab
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched

pytestmark = pytest.mark.process
MOST_STEPS: Final = 3
Step = Callable[[Page], object]


class Task(NamedTuple):
    question: str
    steps: Sequence[Step]
    """A click, or a text and Enter, each."""
    where: Callable[[Page], Locator]
    answer: str
    """A regular expression that the text there has."""


def click(name: str) -> Step:
    return lambda page: page.get_by_role("button", name=name, exact=True).first.click()


def unfold(text: str) -> Step:
    return lambda page: page.locator("summary", has_text=text).first.click()


TASKS = (
    Task("what began at the incident?", [], lambda page: hits(page).first, r"was declined by the bank(.|\n)*new"),
    Task(
        "which service got worse?",
        [lambda page: tab(page, "Templates")],
        lambda page: page.get_by_role("group", name="Services with more errors"),
        r"payments ↑ \d+, none before",
    ),
    Task(
        "what else did that service do then?",
        [lambda page: open_hit(page, "connection to db-"), click("Same service")],
        lambda page: page.get_by_role("region", name="Neighbours"),
        r"5 lines before and \d after, of service database",
    ),
    Task(
        "which host has it?",
        [lambda page: ask(page, "payment declined"), unfold("Fields"), click("k8s.pod.name")],
        lambda page: page.get_by_role("group", name="k8s.pod.name"),
        r"in (\d+) of \1 lines, 100%(.|\n)*web-\d",
    ),
    Task(
        "is this line new?",
        [lambda page: ask(page, "disk 7 is full")],
        lambda page: page.get_by_role("status", name="The line that you pasted"),
        r"Lines like this one: \d+, since",
    ),
    Task(
        "how far behind, and until when?",
        [lambda page: tab(page, "Lag")],
        lambda page: page.get_by_role("definition").filter(has_text="at the rates of the last minutes"),
        "caught up in 3 to 5 min",
    ),
    Task(
        "why is nothing found?",
        [lambda page: ask(page, "submarine service:nobody")],
        status,
        r"(No line|Nothing fits).*\.",
    ),
    Task(
        "a dead letter: why, and put back",
        [
            lambda page: tab(page, "Dead letters"),
            lambda page: page.get_by_role("list", name="Dead letters").get_by_role("checkbox").first.check(),
            click("Replay 1 letter"),
        ],
        lambda page: page.get_by_role("dialog"),
        "(Replay|replay)",
    ),
    Task(
        "which masks are missing?",
        [lambda page: tab(page, "Templates"), click("Most frequent"), unfold("families differ in one word")],
        lambda page: page.get_by_label("Suggested masks"),
        r"\[\[",
    ),
)


@pytest.mark.parametrize("task", TASKS, ids=[task.question for task in TASKS])
def test_an_answer_is_at_most_three_steps_away(task: Task, world: StubWorld, watched: Watched) -> None:
    world.documents["/api/lag"]["groups"][0] |= {"outlook": "catches_up", "outlook_text": "caught up in 3 to 5 min", "seconds": 95.0}
    world.store([line._replace(offset=line.offset + 9_000, template_text=TemplateText("disk is full")) for line in world.lines[-3:]])
    page = watched.open(f"{world.url}/")
    watched.settle(page)
    assert len(task.steps) <= MOST_STEPS
    for step in task.steps:
        step(page)
    expect(task.where(page)).to_have_text(re.compile(task.answer))
