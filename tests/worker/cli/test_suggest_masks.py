"""`vectail templates --suggest`: masks for a file or a topic that can be pasted into the settings and do what is said."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from producers.kafka import EmbeddedBroker
from tests.worker.cli.conftest import RunHere
from worker.cli.exits import CommandFailed
from worker.cli.masks_diff import diff_masks
from worker.cli.suggest_masks import SuggestOptions, suggest_masks
from worker.cli.verb_options import DiffOptions
from worker.masks.suggested_toml import shown_suggestions
from worker.settings.settings import load_settings

NAMES = ("Ada", "Bob", "Carol", "Dave", "Erin", "Frank")
LINES = tuple(f"parcel 'big' handed over to {name} at noon" for name in NAMES)


def suggest(source: Path | str, *, tables: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    return suggest_masks(load_settings(None, tables or {}), SuggestOptions(source=str(source), **options))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "parcels.log"
    path.write_text("".join(f"{line}\n" for line in (*LINES, "disk full")), encoding="utf-8")
    return path


def test_what_is_printed_is_a_settings_file_that_does_what_it_says(file: Path, tmp_path: Path) -> None:
    facts = suggest(file)
    assert (facts["lines"], facts["templates"], facts["templates_after"]) == (7, 7, 2)
    pasted = tmp_path / "pasted.toml"
    pasted.write_text(shown_suggestions(facts), encoding="utf-8")
    told: dict[str, Any] = diff_masks(DiffOptions(old="default", new=str(pasted), files=[str(file)]))
    assert (told["old"]["templates"], told["new"]["templates"]) == (7, 2)


def test_each_table_stands_below_what_it_does(file: Path) -> None:
    shown = shown_suggestions(suggest(file)).splitlines()
    (begin,) = (number for number, line in enumerate(shown) if line == "[[mask.add]]")
    assert shown[begin - 2] == "# 6 templates become 1 (6 lines): Ada, Bob, Carol and 3 more"
    assert shown[begin - 1] == "# parcel 'big' handed over to * at noon"
    assert shown[begin + 1 : begin + 4] == ["name = 'over-to'", r"pattern = '(\bover to )\S+'", r"replacement = '\1*'"]


def test_the_users_own_masks_are_applied_and_their_names_are_taken(file: Path) -> None:
    own = [{"name": "over-to", "pattern": "big", "replacement": "small"}]
    facts = suggest(file, tables={"mask": {"add": own}})
    assert [one["name"] for one in facts["suggestions"]] == ["over-to-2"]
    assert "small" in facts["suggestions"][0]["template"]


def test_for_a_topic_with_masks_of_its_own_the_tables_go_there(file: Path) -> None:
    facts = suggest(file, topic="web", tables={"topic": [{"name": "web", "mask": {"disabled": ["email"]}}]})
    shown = shown_suggestions(facts)
    assert "[[topic.mask.add]]" in shown
    assert "has masks of its own" in shown


def test_without_a_suggestion_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    path.write_text("disk full\n", encoding="utf-8")
    shown = shown_suggestions(suggest(path))
    assert "No mask to suggest" in shown
    assert tomllib.loads(shown) == {}


def test_of_a_topic_the_newest_records_are_read_and_no_group_is_left() -> None:
    broker = EmbeddedBroker()
    try:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        for number, line in enumerate((*["disk full"] * 20, *LINES)):
            producer.produce("logs", line.encode(), partition=number % 2)
        assert producer.flush(30) == 0
        tables = {"kafka": {"bootstrap_servers": broker.bootstrap_servers}}
        facts = suggest("logs", tables=tables, sample_lines=6)
        assert (facts["basis"], facts["lines"], facts["templates"], facts["templates_after"]) == ("newest", 6, 6, 1)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        assert admin.list_consumer_groups(request_timeout=10).result().valid == []
        with pytest.raises(CommandFailed, match="does not exist") as failed:
            suggest("nowhere", tables=tables)
        assert failed.value.exit_code == 2
    finally:
        broker.close()


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "mail.log"
    path.write_text("".join(f"mail of {name}@example.org went to {name} at noon\n" for name in NAMES), encoding="utf-8")
    facts = suggest(path, tables={"redact": {"rules": ["email"]}, "mask": {"disabled": ["email"]}})
    assert facts["suggestions"]
    assert "@example" not in str(facts)


def test_templates_suggest_prints_them_and_reads_no_index(run_here: RunHere, file: Path) -> None:
    shown = run_here("templates", "--suggest", str(file))
    assert shown.exit_code == 0
    assert len(tomllib.loads(shown.out)["mask"]["add"]) == 1
    assert json.loads(run_here("templates", "--suggest", str(file), "--json").out)["templates_after"] == 2
    ended = run_here("templates", "--suggest", str(file), "--like", "a parcel")
    assert ended.exit_code == 2
    assert "--suggest reads a file or a topic" in ended.err
