"""Prometheus' settings and rules: they are valid, each alert fires when it must and says what to do, and none fires in a healthy hour."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.promql import DEPLOY, RULES, SCALING, SCRAPED, groupings, labels_of, rules, selectors
from tests.deploy.promtool import promtool
from worker.watching.alert_rules import RUNBOOKS, runbook_url
from worker.watching.canary import LOST_S
from worker.watching.conditions import CONDITIONS, Condition

CONFIG = DEPLOY / "prometheus" / "prometheus.yml"
ABOUT, STEP_S = "logs/0", 30
ALERTS = [rule for rule in rules() if "alert" in rule]
DESCRIBED = set(re.findall(r"^### (Vectail\w+)$", (DEPLOY.parent / "docs" / "operations.md").read_text(encoding="utf-8"), re.MULTILINE))


def name_of(rule: dict[str, Any]) -> str:
    """Two alerts of one name differ in severity."""
    return rule.get("record") or f"{rule['alert']}-{rule['labels']['severity']}"


@pytest.mark.process
def test_the_settings_and_the_rules_are_valid() -> None:
    assert "2 rule files found" in promtool("check", "config", CONFIG)
    found = re.findall(r"(\d+) rules found", promtool("check", "rules", RULES, SCALING))
    assert sum(map(int, found)) == len(rules())


def told(condition: Condition, at_s: int, *instances: str) -> dict[str, Any]:
    """Return what promtool must find of an alert at that moment: told of each of these instances, or once of all."""
    alerts = []
    for instance in instances:
        texts = {name: getattr(condition, name) for name in ("summary", "description", "runbook")}
        texts["runbook_url"] = runbook_url(condition.name)
        for place, value in (("$labels.about", ABOUT), ("$labels.instance", instance)):
            texts = {name: text.replace(f"{{{{ {place} }}}}", value) for name, text in texts.items()}
        of = {"instance": instance} if "$labels.instance" in condition.summary else {}
        of |= {"about": ABOUT} if condition.judge is not None else {}
        alerts.append({"exp_labels": {"severity": condition.severity, "job": "vectail", **of}, "exp_annotations": texts})
    return {"eval_time": f"{at_s}s", "alertname": condition.name, "exp_alerts": alerts}


def of_a_worker(condition: Condition) -> dict[str, Any]:
    """Return the case of a condition that a worker says from 0:05 on; if it is about a partition, later another one says it."""
    labels = f'job="vectail",name="{condition.name}",severity="{condition.severity}",about="{ABOUT}"'
    of_one = "$labels.instance" in condition.summary
    series = {"a": "0x9 1x60"} if of_one else {"a": "0x9 1x5 _x60", "b": "_x14 1x60"}
    begins_s = 10 * STEP_S
    due_s = begins_s + condition.for_s
    given = [{"series": f'vectail_condition{{{labels},instance="{name}"}}', "values": values} for name, values in series.items()]
    early = [due_s - STEP_S] if condition.for_s else []
    return {
        "name": f"{condition.name}-{condition.severity}",
        "interval": f"{STEP_S}s",
        "input_series": given,
        "alert_rule_test": [*(told(condition, at_s) for at_s in (begins_s - STEP_S, *early)), told(condition, due_s + STEP_S, "a")],
    }


def of_no_worker(condition: Condition) -> dict[str, Any]:
    """Return the case of one worker that answers, and from 0:05 on does not."""
    instances = ("a",) if "$labels.instance" in condition.summary else ("",)
    return {
        "name": condition.name,
        "interval": f"{STEP_S}s",
        "input_series": [{"series": 'up{job="vectail",instance="a"}', "values": "1x9 0x60"}],
        "alert_rule_test": [told(condition, 10 * STEP_S), told(condition, 10 * STEP_S + condition.for_s + STEP_S, *instances)],
    }


@pytest.mark.process
def test_each_alert_fires_when_a_worker_or_none_says_so_and_after_its_time_and_says_what_to_do(tmp_path: Path) -> None:
    cases = [of_no_worker(one) if one.judge is None else of_a_worker(one) for one in CONDITIONS]
    (tmp_path / "cases.yml").write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": f"{STEP_S}s", "tests": cases}))
    promtool("test", "rules", tmp_path / "cases.yml")
    assert {alert["alert"] for alert in ALERTS} == DESCRIBED == {one.name for one in CONDITIONS}


def test_an_alert_says_how_bad_it_is_what_it_means_and_what_to_do(subtests: pytest.Subtests) -> None:
    for alert in ALERTS:
        with subtests.test(name_of(alert)):
            assert alert["labels"]["severity"] in ("warning", "critical")
            assert set(alert["annotations"]) == {"summary", "description", "runbook", "runbook_url"}
            assert all(text.strip() for text in alert["annotations"].values())


def test_an_alert_leads_to_its_section_of_the_page_that_explains_it(subtests: pytest.Subtests) -> None:
    page = (DEPLOY.parent / RUNBOOKS).read_text(encoding="utf-8")
    sections = {section.lower(): section for section in re.findall(r"^### (\w+)$", page, re.MULTILINE)}
    for alert in ALERTS:
        with subtests.test(name_of(alert)):
            file, _, anchor = alert["annotations"]["runbook_url"].partition("#")
            assert (file, sections.get(anchor)) == (RUNBOOKS, alert["alert"])


@pytest.mark.process
def test_the_command_that_puts_an_address_before_the_pages_of_alerts_does_so_for_each(tmp_path: Path) -> None:
    (command,) = re.findall(r"^sed .*runbook_url.*$", (DEPLOY.parent / RUNBOOKS).read_text(encoding="utf-8"), re.MULTILINE)
    shutil.copytree(DEPLOY / "prometheus", tmp_path / "deploy/prometheus")
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)  # noqa: S602 - as a person types it
    rules = yaml.safe_load((tmp_path / "vectail.rules.yml").read_text(encoding="utf-8"))
    urls = {rule["annotations"]["runbook_url"] for group in rules["groups"] for rule in group["rules"]}
    assert urls == {f"https://git.example.org/vectail/blob/main/{runbook_url(alert['alert'])}" for alert in ALERTS}


def test_the_alert_of_the_canary_says_after_how_long_and_that_it_may_be_lag_alone() -> None:
    (alert,) = (one for one in ALERTS if one["alert"] == "VectailCanaryLost")
    said, what_to_do = alert["annotations"]["summary"], alert["annotations"]["description"]
    assert said.endswith(f"was not found by a search within {LOST_S:.0f} s")
    assert "That may be lag alone" in what_to_do
    assert alert["annotations"]["runbook"].startswith("vectail lag")


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
