"""The dashboards as files: Grafana can load them, every query is one that Prometheus understands, and every metric is shown somewhere."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.promql import (
    DASHBOARDS,
    DEPLOY,
    OURS,
    SCRAPED,
    SOURCES,
    base,
    groupings,
    labels_of,
    panels,
    queries,
    read_dashboard,
    selectors,
)
from tests.deploy.promtool import promtool

WIDTH = 24
SCHEMA = 41
"""Of Grafana 12.0 and 12.1."""
SHOWN = {"stat", "state-timeline", "table", "timeseries"}
"""Panel types; all come with Grafana."""
DATASOURCE = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text(encoding="utf-8"))["datasources"][0]


def cells(panel: dict[str, Any]) -> set[tuple[int, int]]:
    """Return the grid cells that a panel covers."""
    at = panel["gridPos"]
    return set(itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])))


def test_both_dashboards_are_there_under_names_that_stay() -> None:
    named = {read_dashboard(path)["uid"]: read_dashboard(path)["title"] for path in DASHBOARDS}
    assert named == {"vectail-consumer-lag": "Consumer lag", "vectail-pipeline": "Pipeline"}


def test_a_dashboard_is_of_grafana_12_and_asks_the_provisioned_source(subtests: pytest.Subtests) -> None:
    for path in DASHBOARDS:
        with subtests.test(path.stem):
            dashboard = read_dashboard(path)
            assert dashboard["schemaVersion"] == SCHEMA
            assert "id" not in dashboard, "Grafana gives it"
            asked = [panel["datasource"] for panel in panels(dashboard)]
            asked += [target["datasource"] for panel in panels(dashboard) for target in panel["targets"]]
            asked += [variable["datasource"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
            asked += [annotation["datasource"] for annotation in dashboard["annotations"]["list"]]
            assert {(one["type"], one["uid"]) for one in asked} == {(DATASOURCE["type"], DATASOURCE["uid"])}


def test_panels_are_told_apart_and_do_not_overlap(subtests: pytest.Subtests) -> None:
    for path in DASHBOARDS:
        with subtests.test(path.stem):
            dashboard = read_dashboard(path)
            everything = dashboard["panels"]
            assert len({panel["id"] for panel in everything}) == len(everything)
            assert len({panel["title"] for panel in panels(dashboard)}) == len(panels(dashboard))
            covered: set[tuple[int, int]] = set()
            for panel in everything:
                mine = cells(panel)
                assert mine & covered == set(), panel["title"]
                assert max(x for x, _ in mine) < WIDTH, panel["title"]
                covered |= mine


def test_a_panel_says_what_it_shows_in_which_unit(subtests: pytest.Subtests) -> None:
    for path in DASHBOARDS:
        with subtests.test(path.stem):
            for panel in panels(read_dashboard(path)):
                assert panel["type"] in SHOWN, panel["title"]
                assert panel["description"].endswith("."), panel["title"]
                assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
                steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
                assert steps[0]["value"] is None, "the first colour begins anywhere"
                values = [step["value"] for step in steps[1:]]
                assert values == sorted(set(values)), panel["title"]
                assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]), panel["title"]


def test_every_variable_that_is_used_is_there_and_every_one_that_is_there_is_used(subtests: pytest.Subtests) -> None:
    for path in DASHBOARDS:
        with subtests.test(path.stem):
            variables = read_dashboard(path)["templating"]["list"]
            used = {name for query in queries() if query.dashboard == path.stem for name in re.findall(r"\$(\w+)", query.expr)}
            assert used - {"__rate_interval"} == {variable["name"] for variable in variables}


def test_the_source_of_the_lag_can_be_chosen() -> None:
    [variable] = [one for one in read_dashboard(DASHBOARDS[0])["templating"]["list"] if one["name"] == "source"]
    assert {int(option["value"]): option["text"] for option in variable["options"]} == SOURCES
    chosen = [query for query in queries() if "vector($source)" in query.expr]
    by_panel = {query.panel: {other.source for other in chosen if other.panel == query.panel} for query in chosen}
    assert len(by_panel) == 8
    assert all(sources == set(SOURCES) for sources in by_panel.values())


@pytest.mark.process
def test_prometheus_understands_every_query(tmp_path: Path) -> None:
    asked = [query.text() for query in queries()]
    asked += [one["expr"] for path in DASHBOARDS for one in read_dashboard(path)["annotations"]["list"]]
    recorded = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(asked)]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": recorded}]}), encoding="utf-8")
    assert f"{len(asked)} rules found" in promtool("check", "rules", file)


def test_a_query_names_metrics_and_labels_that_are_there(subtests: pytest.Subtests) -> None:
    for query in queries():
        with subtests.test(str(query)):
            found = list(selectors(query.expr))
            assert found
            ours = [one for one in found if not one.metric.startswith(("kafka_", "kminion_"))]
            for one in ours:
                assert one.labels <= labels_of(one.metric), one
            known = {label for one in ours for label in labels_of(one.metric)} | SCRAPED
            if ours:
                assert groupings(query.expr) <= known
            said = set(re.findall(r"\{\{(\w+)\}\}", query.legend))
            assert said <= (groupings(query.expr) or known), "the legend names a label that is gone"


def test_every_metric_is_shown_somewhere() -> None:
    shown = {base(one.metric) for query in queries() for one in selectors(query.expr)}
    assert set(OURS) - shown == set()


def test_the_figures_that_were_recorded_have_what_the_queries_ask_for(subtests: pytest.Subtests) -> None:
    for name in ("kafka_exporter", "kminion"):
        with subtests.test(name):
            text = Path(__file__).with_name(f"{name}.prom").read_text(encoding="utf-8")
            for query in queries():
                if SOURCES[query.source] == name:
                    for one in selectors(query.expr):
                        [line, *_] = re.findall(rf"^{one.metric}\{{(.*)\}} ", text, re.MULTILINE)
                        assert one.labels | groupings(query.expr) - {"le"} <= set(re.findall(r"(\w+)=", line)) | SCRAPED, query
