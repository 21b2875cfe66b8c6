"""Prometheus' settings and rules: they are valid, each alert fires when it must and says what to do, and none fires in a healthy hour."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.promql import DEPLOY, RULE_TESTS, RULES, SCRAPED, groupings, labels_of, rules, selectors
from tests.deploy.promtool import promtool

CONFIG = DEPLOY / "prometheus" / "prometheus.yml"
ALERTS = [rule for rule in rules() if "alert" in rule]
WANTED = {alert["alert"] for alert in ALERTS}


def name_of(rule: dict[str, Any]) -> str:
    """Two alerts of one name differ in severity."""
    return rule.get("record") or f"{rule['alert']}-{rule['labels']['severity']}"


def cases_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
    return found


def told_cases() -> list[dict[str, Any]]:
    return [one for path in RULE_TESTS for test in cases_of(path) for one in test.get("alert_rule_test", [])]


@pytest.mark.process
def test_the_settings_and_the_rules_are_valid() -> None:
    assert "1 rule files found" in promtool("check", "config", CONFIG)
    assert f"{len(rules())} rules found" in promtool("check", "rules", RULES)


@pytest.mark.process
def test_the_rules_do_what_their_tests_say(subtests: pytest.Subtests) -> None:
    for path in RULE_TESTS:
        with subtests.test(path.stem):
            promtool("test", "rules", path)


def test_no_chance_is_in_the_tests_of_rules(subtests: pytest.Subtests) -> None:
    groups = [group["name"] for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]]
    for path in RULE_TESTS:
        with subtests.test(path.stem):
            assert yaml.safe_load(path.read_text(encoding="utf-8"))["group_eval_order"] == groups


def test_every_alert_has_an_hour_in_which_it_fires() -> None:
    fires = {(one["alertname"], told["exp_labels"]["severity"]) for one in told_cases() for told in one["exp_alerts"]}
    assert fires == {(alert["alert"], alert["labels"]["severity"]) for alert in ALERTS}


def test_every_alert_has_a_moment_in_which_it_does_not_fire_yet() -> None:
    silent = Counter(one["alertname"] for one in told_cases() if not one["exp_alerts"])
    assert set(silent) == WANTED


def test_the_healthy_hour_has_every_series_that_an_alert_looks_at() -> None:
    healthy = next(test for path in RULE_TESTS for test in cases_of(path) if test["name"] == "a healthy hour")
    there = {series["series"].partition("{")[0] for series in healthy["input_series"]}
    recorded = {rule["record"]: {one.metric for one in selectors(rule["expr"])} for rule in rules() if "record" in rule}
    looked_at = {one.metric for alert in ALERTS for one in selectors(alert["expr"])}
    while chained := looked_at & set(recorded):
        looked_at = looked_at - chained | {metric for name in chained for metric in recorded[name]}
    assert looked_at - there == set()


def test_an_alert_says_how_bad_it_is_what_it_means_and_what_to_do(subtests: pytest.Subtests) -> None:
    for alert in ALERTS:
        with subtests.test(name_of(alert)):
            assert alert["labels"]["severity"] in ("warning", "critical")
            assert set(alert["annotations"]) == {"summary", "description", "runbook"}
            assert all(text.strip() for text in alert["annotations"].values())


def test_an_alert_names_the_place(subtests: pytest.Subtests) -> None:
    for alert in ALERTS:
        with subtests.test(name_of(alert)):
            named = set(re.findall(r"\$labels\.(\w+)", " ".join(alert["annotations"].values())))
            can = {label for one in selectors(alert["expr"]) for label in labels_of(one.metric)}
            assert named <= can
            left = re.search(r"by \(([^)]*)\)", alert["expr"])
            known = can if left is None else {label.strip() for label in left[1].split(",")}
            if "absent(" in alert["expr"]:
                known = set()
            assert known & {"topic", "partition", "dependency", "level", "instance"} <= named


def test_a_rule_names_metrics_and_labels_that_are_there(subtests: pytest.Subtests) -> None:
    for rule in rules():
        with subtests.test(name_of(rule)):
            found = list(selectors(rule["expr"]))
            assert found
            for one in found:
                assert one.labels <= labels_of(one.metric), one
            known = {label for one in found for label in labels_of(one.metric)} | SCRAPED
            assert groupings(rule["expr"]) <= known


def test_a_worker_that_is_added_is_scraped() -> None:
    jobs = {job["job_name"]: job for job in yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["scrape_configs"]}
    assert set(jobs) == {"vectail", "kafka-exporter", "kminion", "prometheus"}
    assert jobs["vectail"]["metrics_path"] == "/metrics"
    assert "static_configs" not in jobs["vectail"], "fixed targets know no more workers"
    assert [sd["type"] for sd in jobs["vectail"]["dns_sd_configs"]] == ["A"]
