"""`vectail reindex` against the real HTTP server of a worker: what it asks for, what it waits for, and how it ends."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from tests.model_fixture import CACHE
from tests.services.ports import free_port
from tests.worker.cli.conftest import NewScreen, RunHere
from tests.worker.cli.console import in_one_line
from tests.worker.cli.reindex_worker import NEW, OLD, PLAN, TOKEN, ReindexWorker, building, changed, view_of
from worker.asking.refusals import BadQuery, Refused
from worker.cli import reindex_verb
from worker.cli.exits import CommandFailed
from worker.cli.reindex_verb import BegunChange, begin_change, lines_for_settings, wait_for_change
from worker.embedding.model.prepared import PreparedModel
from worker.settings.serve_tables import ServedModelTable, ServeTable
from worker.settings.service_tables import HttpTable
from worker.settings.settings import Settings
from worker.settings.tables import ModelTable

FOUND = [
    {"name": "complete", "met": True, "found": "every template is there"},
    {"name": "vectors", "met": True, "found": "500 stored vectors were embedded again: worst cosine 0.99999, at least 0.998"},
    {"name": "speed", "met": False, "found": "p95 of 40 searches: 31.0 ms, before 9.0 ms"},
]
SLOW = "not preferred: speed: p95 of 40 searches: 31.0 ms, before 9.0 ms"


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReindexWorker]:
    monkeypatch.setattr(reindex_verb, "LOOK_S", 0.0)
    worker = ReindexWorker()
    monkeypatch.setenv("VECTAIL_HTTP__PORT", worker.port)
    monkeypatch.setenv("VECTAIL_HTTP__TOKEN", TOKEN)
    yield worker
    worker.close()


def test_it_shows_the_plan_waits_until_the_new_model_is_asked_and_says_what_to_do_next(worker: ReindexWorker, run_here: RunHere) -> None:
    worker.documents = [building(4_000, per_s=120.0), changed(asked=OLD), changed(findings=FOUND[:2], overlap=0.36)]
    ended = run_here("reindex", "--to", "all-MiniLM-L6-v2")
    assert (ended.exit_code, ended.err) == (0, "")
    assert worker.asked == [{"to": "all-MiniLM-L6-v2"}]
    plan, memory, figures, *rest = ended.out.splitlines()
    assert plan == "From minilm to bge-small: 10,000 templates to embed, about 83 s while no lines come in."
    assert memory == "It takes 140 MB of memory of 9,000 MB that are free. No line is read again."
    assert figures == "templates 10,000 of 10,000"
    assert rest[0].split(maxsplit=2) == ["complete", "met", "every template is there"]
    assert rest[2:] == [
        "36% of the ten nearest templates are the same in both models; 30 to 40 % is usual.",
        "The index is asked with bge-small now.",
        "Next, set this in the settings of every worker before its next restart:",
        "  [model]",
        '  name = "all-MiniLM-L6-v2"',
        "minilm is kept up to date: `vectail reindex --rollback` goes back, `--drop` removes it.",
    ]


def test_as_json_it_is_one_object_with_the_plan(worker: ReindexWorker, run_here: RunHere) -> None:
    worker.documents = [building(4_000), changed()]
    ended = run_here("reindex", "--to", "bge-small", "--json")
    assert (ended.exit_code, ended.err) == (0, "")
    assert json.loads(ended.out) == changed(plan=PLAN)


def test_how_far_it_is_is_told_with_the_time_that_is_left(worker: ReindexWorker, run_here: RunHere) -> None:
    worker.documents = [building(4_000, per_s=120.0), building(4_000, per_s=120.0, findings=FOUND, error=SLOW)]
    worker.documents.append(worker.documents[-1])
    ended = run_here("reindex", "--to", "bge-small")
    assert ended.out.splitlines()[2] == "templates 4,000 of 10,000, a second 120, seconds left 50"


def test_a_condition_that_is_not_met_ends_it_with_1_and_says_how_to_go_on(worker: ReindexWorker, run_here: RunHere) -> None:
    worker.documents = [building(10_000, findings=FOUND, error=SLOW)]
    ended = run_here("reindex", "--to", "bge-small")
    assert ended.exit_code == 1
    assert in_one_line(ended) == (
        "bge-small is not asked: speed: p95 of 40 searches: 31.0 ms, before 9.0 ms;"
        " `--accept speed` goes on all the same, `--drop` gives it up"
    )


def test_what_was_found_before_a_condition_was_accepted_does_not_end_it(worker: ReindexWorker, run_here: RunHere) -> None:
    stale = building(10_000, findings=FOUND, error=SLOW)
    worker.to_action = stale | {"plan": PLAN}
    worker.documents = [stale, changed(findings=FOUND)]
    ended = run_here("reindex", "--to", "bge-small", "--accept", "speed")
    assert (ended.exit_code, ended.err) == (0, "")
    assert worker.asked == [{"to": "bge-small", "accept": ["speed"]}]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (building(0, error="bge-small: the golden vectors differ"), "bge-small: the golden vectors differ; the worker tries again"),
        (building(9, findings=FOUND[:2], error="disk full"), "disk full; the worker tries again"),
        (changed() | {"views": [view_of("minilm", "ready", asked=True)], "asked": OLD}, "the change was given up (--drop)"),
        (
            changed() | {"views": [view_of("minilm", "ready", asked=True), view_of("bge-small", "dropping", space=NEW)], "asked": OLD},
            "the change was given up (--drop)",
        ),
    ],
)
def test_a_change_that_cannot_go_on_ends_it_with_1(worker: ReindexWorker, run_here: RunHere, told: dict[str, object], said: str) -> None:
    worker.documents = [told]
    ended = run_here("reindex", "--to", "bge-small")
    assert ended.exit_code == 1
    assert in_one_line(ended).startswith(said)


def test_no_wait_returns_once_it_has_begun(worker: ReindexWorker, run_here: RunHere) -> None:
    ended = run_here("reindex", "--to", "bge-small", "--no-wait")
    assert (ended.exit_code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == "It goes on in the worker; `vectail reindex --status` shows how far it is."
    assert json.loads(run_here("reindex", "--to", "bge-small", "--no-wait", "--json").out) == building(0, plan=PLAN)
    assert worker.asked == 2 * [{"to": "bge-small"}]


def test_ctrl_c_ends_the_waiting_and_says_that_the_worker_goes_on(new_screen: NewScreen) -> None:
    begun = BegunChange(model="bge-small", folder=None, accepted=(), document=building(0, plan=PLAN))  # type: ignore[arg-type] # as ReindexJson
    stop = Event()
    stop.set()
    with pytest.raises(CommandFailed, match="goes on in the worker") as ended:
        wait_for_change(Settings(), begun, new_screen(80)[0], stop)
    assert ended.value.exit_code == 130


def test_the_status_is_a_table_of_the_models_and_what_the_worker_says_of_the_change(worker: ReindexWorker, run_here: RunHere) -> None:
    worker.documents = [building(4_000, per_s=120.4, failed=2, findings=FOUND, error=SLOW)]
    ended = run_here("reindex", "--status")
    assert (ended.exit_code, ended.err) == (0, "")
    head, old, new, filled, failed, *_, last = ended.out.splitlines()
    assert head.split() == ["model", "asked", "templates", "since", "2023-11-14", "UTC"]
    assert old.split() == ["minilm", "yes", "10,000", "complete", "22:13:20"]
    assert new.split() == ["bge-small", "no", "4,000", "being", "filled", "22:13:20"]
    assert (filled, failed) == ("Filled by host:1, 120 templates a second.", "2 templates without a vector of the new model.")
    assert last == f"It stands still: {SLOW}"
    assert json.loads(run_here("reindex", "--status", "--json").out) == worker.documents[0]
    worker.documents = [changed(same=True)]
    assert run_here("reindex", "--status").out.splitlines()[3:] == ["Filled by host:1.", "Both have the same templates."]


def test_an_index_with_one_model_has_one_line_and_no_more(worker: ReindexWorker, run_here: RunHere) -> None:
    worker.documents = [changed(filled_by="") | {"views": [view_of("", "ready", asked=True) | {"since_ms": 0}], "asked": OLD}]
    _head, only = run_here("reindex", "--status").out.splitlines()
    assert only.split() == ["embedding", "space", OLD, "yes", "10,000", "complete", "-"]
    worker.documents[0]["views"][0].update(loaded=False, templates=None)  # it has just started, and not looked yet
    _head, only = run_here("reindex", "--status").out.splitlines()
    assert only.split() == ["embedding", "space", OLD, "yes", "-", "complete", "-"]


def test_a_worker_without_the_new_model_says_so(worker: ReindexWorker, run_here: RunHere) -> None:
    old, new = view_of("minilm", "old", asked=False), view_of("bge-small", "ready", None, space=NEW, asked=True)
    worker.documents = [changed() | {"views": [old, new], "asked": OLD}]
    assert "This worker does not have bge-small, and goes on with minilm.\n" in run_here("reindex", "--status").out


def test_going_back_and_dropping_are_asked_for_and_told(worker: ReindexWorker, run_here: RunHere) -> None:
    old, new = view_of("minilm", "ready", asked=True), view_of("bge-small", "old", space=NEW)
    worker.to_action = changed() | {"views": [old, new], "asked": OLD}
    back = run_here("reindex", "--rollback")
    assert back.out.splitlines() == [
        "The index is asked with minilm again; let [model] in the settings name it.",
        "bge-small is kept up to date: `vectail reindex --to bge-small` goes there again, `--drop` removes it.",
    ]
    worker.to_action = changed() | {"views": [old, {**new, "state": "dropping"}], "asked": OLD}
    dropped = run_here("reindex", "--drop")
    assert dropped.out == "bge-small is removed within a minute: questions that were embedded for it are answered first.\n"
    assert (back.exit_code, dropped.exit_code) == (0, 0)
    assert worker.asked == [{"do": "rollback"}, {"do": "drop"}]


@pytest.mark.parametrize(
    ("refusal", "exit_code"),
    [
        (Refused("busy", "the index has a second view already"), 2),
        (Refused("not_found", "there is no model x"), 2),
        (BadQuery("accept", "must be a list of complete, vectors, speed"), 2),
        (Refused("unavailable", "the index does not answer"), 1),
        (Refused("expired", "there was no time"), 1),
    ],
)
def test_a_refusal_is_its_reason_in_one_line(worker: ReindexWorker, run_here: RunHere, refusal: Refused, exit_code: int) -> None:
    worker.refusal = refusal
    for words in (("--to", "bge-small"), ("--rollback",), ("--status",)):
        ended = run_here("reindex", *words)
        assert ended.exit_code == exit_code
        assert in_one_line(ended) == f"the worker refuses: {refusal}"


def test_a_wrong_token_is_said(worker: ReindexWorker, run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_HTTP__TOKEN", "another")
    ended = run_here("reindex", "--drop")
    assert (ended.exit_code, worker.asked) == (2, [])
    assert in_one_line(ended).endswith("(http.token of these settings)")


def test_without_a_worker_one_line_says_that_it_needs_one(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("VECTAIL_HTTP__PORT", str(port))
    ended = run_here("reindex", "--status")
    assert ended.exit_code == 1
    assert in_one_line(ended) == (
        f"no worker answers at 127.0.0.1:{port} (Connection refused): changing the model needs a running worker (`vectail run`)"
        " with these settings"
    )
    monkeypatch.setenv("VECTAIL_HTTP__PORT", "0")
    assert in_one_line(run_here("reindex", "--drop")).startswith("these settings do not say where a worker answers (http.port is 0")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give one of --to NAME|FOLDER, --status, --rollback and --drop"),
        (("--status", "--drop"), "give one of --to NAME|FOLDER, --status, --rollback and --drop"),
        (("--drop", "--accept", "speed"), "--drop takes neither --accept nor --no-wait: these are of --to"),
        (("--status", "--no-wait"), "--status takes neither --accept nor --no-wait: these are of --to"),
        (("--to", "./nowhere"), "--to ./nowhere: there is no such folder"),
    ],
)
def test_words_that_do_not_fit_together_are_refused(worker: ReindexWorker, run_here: RunHere, words: tuple[str, ...], said: str) -> None:
    ended = run_here("reindex", *words)
    assert (ended.exit_code, in_one_line(ended), worker.asked) == (2, said, [])


def test_a_folder_is_prepared_and_only_its_name_is_sent(worker: ReindexWorker, plain_model: PreparedModel, tmp_path: Path) -> None:
    settings = Settings(model=ModelTable(cache=CACHE), http=HttpTable.model_validate({"port": worker.port, "token": TOKEN}))
    begun = begin_change(settings, str(plain_model.folder), ())
    assert worker.asked == [{"to": plain_model.folder.name}]
    assert lines_for_settings(settings, begun) == ["[model]", f'folder = "{plain_model.folder}"']
    elsewhere = tmp_path / "elsewhere"
    elsewhere.symlink_to(CACHE, target_is_directory=True)
    begin_change(settings, str(elsewhere / plain_model.folder.name), ())
    copied = settings.model_copy(update={"model": ModelTable(cache=tmp_path / "empty")})
    with pytest.raises(CommandFailed, match="is a prepared model outside") as refused:
        begin_change(copied, str(plain_model.folder), ())
    assert refused.value.exit_code == 2
    with pytest.raises(CommandFailed) as no_model:
        begin_change(settings, str(tmp_path), ())
    assert (no_model.value.exit_code, len(worker.asked)) == (2, 2)


def test_a_folder_with_the_name_of_a_known_model_does_not_hide_it(
    worker: ReindexWorker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("bge", "all-MiniLM-L6-v2"):
        (tmp_path / name).mkdir()
    served = ServeTable(model=(ServedModelTable(name="bge", folder=Path("/models/bge")),))
    settings = Settings(serve=served, http=HttpTable.model_validate({"port": worker.port, "token": TOKEN}))
    begun = [begin_change(settings, name, ()) for name in ("bge", "all-MiniLM-L6-v2", "unknown")]
    assert [one["to"] for one in worker.asked] == ["bge", "all-MiniLM-L6-v2", "unknown"]
    assert [one.folder for one in begun] == [None, None, None]


def test_the_settings_to_write_name_what_must_go(tmp_path: Path) -> None:
    document = building(0)
    now = ModelTable(folder=tmp_path, cache=tmp_path, dims=128, query_prefix="query: ")
    begun = BegunChange(model="all-MiniLM-L6-v2", folder=None, accepted=(), document=document)  # type: ignore[arg-type] # as ReindexJson
    lines = lines_for_settings(Settings(model=now), begun)
    assert lines == ["[model]", 'name = "all-MiniLM-L6-v2"', "# remove folder", "# remove query_prefix", "# remove dims"]
