"""The page before many lines: when it is painted, when a question's first result is there, templates, and what open pages cost.

    python -m benchmarks.page [--quick] [--json]

Caveats first. One machine does it all: worker, embedded broker, index (Milvus Lite), feed, Chromium, and the clients that stand for open
pages. The index is the demo's in size and service, but written directly, with random vectors (`benchmarks.page_index`): what is found is
noise, how long it takes is not. Half of its lines are of templates that come a few times each. Every visit is by a browser with an empty
cache, to a worker that has answered a few questions before; times are the browser's own, from the start of the navigation. A result is
there when its element is, the frame that paints it follows.

Ten pages are ten clients that send what pages of the browser have sent before, at the same seconds, over and over, an interval's worth:
open pages what a page asks that somebody looks at, askers what it asks in its first seconds, as if each of ten people asked something new
in every interval. Streams are read all the time. What they cost is the share by which fewer lines are indexed with them than without, in
turns, in the same worker.
"""

import tempfile
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple
from urllib.parse import quote

from benchmarks.copies import copied
from benchmarks.own_service import fed
from benchmarks.page_browser import OpenBrowser, chromium, first_paint_s, requests_of, seen_s
from benchmarks.page_clients import Sent
from benchmarks.page_index import fill_for_page, synthetic
from benchmarks.page_worker import Running, opened
from benchmarks.program import Figures, option, program
from benchmarks.race import Wrong, race, ratios
from benchmarks.rivals.own_process import OwnProcess
from producers.log_feed import EXAMPLE_QUERIES

HIT, TEMPLATE = "#view li.hit", "#view [aria-label='Templates'] > li"
"""What is there when there is a first result."""
TABS = ("search", "search", "search", "search", "templates", "live", "live", "lag", "lag", "letters")
"""What the ten pages show."""
STREAM = "/api/tail"
_TEMPLATE_ADDRESSES = ("?tab=templates", "?tab=templates&since=15m", "?tab=templates&since=6h", "?tab=templates&since=all")
_FED = 32_000
"""Different lines that are fed, again and again with other digits."""
_FLOW_S, _LOOK_S = 120.0, 0.1


class Plan(NamedTuple):
    """How much of everything."""

    lines: int = 1_000_000
    templates: int = 100_000
    visits: int = 15
    turns: int = 6
    """Pairs of intervals with and without pages."""
    interval_s: float = 12.0


QUICK = Plan(visits=9, turns=4, interval_s=8.0)


def look_at(plan: Plan) -> Figures:
    """Fill an index, look at it, and return the figures. Raises Missing, Wrong."""
    with (
        tempfile.TemporaryDirectory(prefix="vectail-bench-") as name,
        opened(Path(name), partial(_fill, plan)) as running,
        chromium() as browser,
    ):
        visits = _visits(running, browser, plan)
        addresses = [f"{running.url}/{_address(tab, number)}" for number, tab in enumerate(TABS)]
        asked = [_parts(page, plan.interval_s) for page in requests_of(browser, addresses, 2 * plan.interval_s)]
        texts = list(synthetic(_FED, int(time.time() * 1000)))
        lists = ([text.encode() for text in copied(texts, copy)] for copy in count())
        with fed(running.settings, running.service, lists):
            pages = _cost(running, [page for _, page in asked], plan)
            askers = _cost(running, [page for page, _ in asked], plan)
    if not askers["answered"]:
        raise Wrong("nothing that was asked was answered")
    costs = {f"{who}_{name}": figure for who, cost in (("pages", pages), ("askers", askers)) for name, figure in cost.items()}
    losses = {"ten_pages_loss": pages["loss"], "ten_askers_loss": askers["loss"]}
    return {**visits, **losses, **costs, "lines": plan.lines, "templates": plan.templates}


def _parts(page: Sequence[Sent], seconds: float) -> tuple[list[Sent], list[Sent]]:
    """Return what a page asked in its first seconds, and what it asked in as many after them; a stream is part of both."""
    streams = [one for one in page if one.path.startswith(STREAM)]
    first = [one for one in page if one.at_s < seconds]
    later = [one._replace(at_s=one.at_s - seconds) for one in page if seconds <= one.at_s < 2 * seconds and one not in streams]
    return first, [*(one._replace(at_s=0.0) for one in streams[:1]), *later]


def _fill(plan: Plan, path: Path, space: str) -> None:
    filled = fill_for_page(path, plan.lines, plan.templates, space=space, now_ms=int(time.time() * 1000))
    filled.sink.close()


def _address(tab: str, number: int) -> str:
    question = quote(EXAMPLE_QUERIES[number % len(EXAMPLE_QUERIES)])
    return f"?q={question}&since=all" if tab == "search" else f"?tab={tab}"


def _visits(running: Running, browser: OpenBrowser, plan: Plan) -> dict[str, Any]:
    for address in ("", _address("search", 0), *_TEMPLATE_ADDRESSES):  # the worker reads the templates once, the engine wakes up
        seen_s(browser, f"{running.url}/{address}", TEMPLATE if "templates" in address else HIT)
    paints, results, listings, bare = list[float](), list[float](), list[float](), list[float]()
    for visit in range(plan.visits):
        paints.append(first_paint_s(browser, f"{running.url}/"))
        bare.append(seen_s(browser, f"{running.url}/", HIT))
        question = f"{EXAMPLE_QUERIES[visit % len(EXAMPLE_QUERIES)]} {visit}"  # none was asked before
        results.append(seen_s(browser, f"{running.url}/?q={quote(question)}", HIT))
        listings += [seen_s(browser, f"{running.url}/{address}", TEMPLATE) for address in _TEMPLATE_ADDRESSES]
    return {
        "first_paint_s": median(paints),
        "first_result_s": median(results),
        "templates_p95_s": quantiles(listings, n=20, method="inclusive")[-1],
        "first_families_s": median(bare),
        "templates_p50_s": median(listings),
    }


def _cost(running: Running, pages: Sequence[Sequence[Sent]], plan: Plan) -> dict[str, Any]:
    """Return by how much indexing is slower with the pages, by pairs of intervals in alternating order."""
    _await_flow(running)
    told: list[dict[str, Any]] = []

    def with_pages() -> float:
        asked = [running.url, pages, plan.interval_s, STREAM]
        with closing(OwnProcess("benchmarks.page_clients:open_pages", asked, log=running.folder / "clients.log")) as clients:
            speed = _lines_per_s(running, plan.interval_s)
            told.append(clients.ask("end"))
        return speed

    speeds = race({"with": with_pages, "without": lambda: _lines_per_s(running, plan.interval_s)}, plan.turns)
    losses = [1 - share for share in ratios(speeds["with"], speeds["without"])]
    return {"loss": median(losses), "loss_each": losses} | summed(told)


def summed(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what became of the clients' requests, all turns together; open pages may ask nothing. Raises Wrong where most were refused."""
    answered, refused = (sum(int(one[name]) for one in told) for name in ("answered", "refused"))
    if refused and refused >= answered:
        raise Wrong(f"of what the pages asked, {answered} were answered and {refused} refused")
    return {"answered": answered, "refused": refused, "p95_s": max(float(one["p95_s"]) for one in told)}


def _await_flow(running: Running) -> None:
    """Wait until lines have been indexed for a while: the first ones are of templates that are new. Raises Wrong."""
    until_s = time.monotonic() + _FLOW_S
    while running.lines < _FED:
        if time.monotonic() > until_s:
            raise Wrong("the feed is not indexed")
        time.sleep(_LOOK_S)


def _lines_per_s(running: Running, seconds: float) -> float:
    first, began_s = running.lines, time.monotonic()
    time.sleep(seconds)
    speed = (running.lines - first) / (time.monotonic() - began_s)
    if speed <= 0:
        raise Wrong("nothing is indexed")
    return speed


def measure(chosen: Namespace) -> Figures:
    """Measure as asked for. Raises Missing, Wrong."""
    plan = QUICK if chosen.quick else Plan()
    return look_at(plan._replace(lines=chosen.lines or plan.lines, templates=chosen.templates or plan.templates))


main = program(
    __doc__,
    measure,
    option("--lines", type=int, help="another number of lines"),
    option("--templates", type=int, help="another number of templates"),
    quick=f"{QUICK.visits} visits and {QUICK.turns} turns; the index is as large",
)

if __name__ == "__main__":
    main()
