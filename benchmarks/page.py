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

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple
from urllib.parse import quote

from benchmarks.page_browser import NoBrowser, OpenBrowser, Silent, chromium, first_paint_s, requests_of, seen_s
from benchmarks.page_clients import READY, TIMEOUT_S, Sent
from benchmarks.page_index import fill_for_page, synthetic
from benchmarks.page_worker import Running, fed, opened
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
_STOP_S = TIMEOUT_S + 10


class Wrong(Exception):
    """The figures would be worth nothing."""


class Plan(NamedTuple):
    """How much of everything."""

    lines: int = 1_000_000
    templates: int = 100_000
    visits: int = 15
    turns: int = 6
    """Pairs of intervals with and without pages."""
    interval_s: float = 12.0


QUICK = Plan(visits=9, turns=4, interval_s=8.0)


def measure(plan: Plan, say: Callable[[str], None]) -> dict[str, Any]:
    """Fill an index, look at it, and return the figures. Raises NoBrowser, Silent, Wrong."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        say(f"filling an index of {plan.lines:,} lines and {plan.templates:,} templates")
        with opened(Path(name), partial(_fill, plan)) as running, chromium() as browser:
            say("looking at it")
            visits = _visits(running, browser, plan)
            say("recording what pages ask")
            addresses = [f"{running.url}/{_address(tab, number)}" for number, tab in enumerate(TABS)]
            asked = [_parts(page, plan.interval_s) for page in requests_of(browser, addresses, 2 * plan.interval_s)]
            with fed(running, list(synthetic(_FED, int(time.time() * 1000)))):
                say("indexing with and without ten open pages")
                pages = _cost(running, [page for _, page in asked], plan)
                say("indexing with and without ten people who ask")
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
        "first_paint_s": round(median(paints), 3),
        "first_result_s": round(median(results), 3),
        "templates_p95_s": round(quantiles(listings, n=20, method="inclusive")[-1], 3),
        "first_families_s": round(median(bare), 3),
        "templates_p50_s": round(median(listings), 3),
    }


def _cost(running: Running, pages: Sequence[Sequence[Sent]], plan: Plan) -> dict[str, Any]:
    """Return by how much indexing is slower with the pages, by pairs of intervals in alternating order."""
    _await_flow(running)
    losses, told = list[float](), list[dict[str, Any]]()
    for turn in range(plan.turns):
        speeds: dict[bool, float] = {}
        for has_pages in (True, False) if turn % 2 == 0 else (False, True):
            if not has_pages:
                speeds[False] = _lines_per_s(running, plan.interval_s)
                continue
            with _clients(running.url, pages, plan.interval_s) as became:
                speeds[True] = _lines_per_s(running, plan.interval_s)
            told.append(became)
        losses.append(1 - speeds[True] / speeds[False])
    return {"loss": round(median(losses), 3), "loss_each": [round(loss, 3) for loss in losses]} | summed(told)


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


@contextmanager
def _clients(url: str, pages: Sequence[Sequence[Sent]], period_s: float) -> Iterator[dict[str, Any]]:
    """Let clients be these pages; what it yields says at the end what became of their requests."""
    told: dict[str, Any] = {}
    plan = {"url": url, "pages": pages, "period_s": period_s, "stream": STREAM}
    command = [sys.executable, "-m", "benchmarks.page_clients", json.dumps(plan)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        if process.stdout is None or process.stdout.readline().strip() != READY:
            raise Wrong("the clients did not start")
        yield told
        printed, _ = process.communicate(timeout=_STOP_S)
    told |= json.loads(printed)


def main(show: Callable[[str], None] = print, arguments: Sequence[str] | None = None) -> None:
    """Measure, and show the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK.visits} visits and {QUICK.turns} turns; the index is as large")
    parser.add_argument("--lines", type=int, help="another number of lines")
    parser.add_argument("--templates", type=int, help="another number of templates")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args(arguments)
    plan = QUICK if chosen.quick else Plan()
    plan = plan._replace(lines=chosen.lines or plan.lines, templates=chosen.templates or plan.templates)
    try:
        figures = measure(plan, (lambda _line: None) if chosen.json else show)
    except (NoBrowser, Silent, Wrong) as error:
        parser.error(str(error))
    if chosen.json:
        show(json.dumps(figures))
        return
    show(f"{'first paint':<24}{figures['first_paint_s']:>8.3f} s   (goal: at most 0.5)")
    show(f"{'first result':<24}{figures['first_result_s']:>8.3f} s   (goal: at most 0.5)")
    show(f"{'templates, p95':<24}{figures['templates_p95_s']:>8.3f} s   (goal: at most 1)")
    show(f"{'ten open pages cost':<24}{figures['ten_pages_loss']:>8.1%}     (goal: at most 5 %)")
    show(f"{'ten people who ask':<24}{figures['ten_askers_loss']:>8.1%}")


if __name__ == "__main__":
    main()
