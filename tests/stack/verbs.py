"""The verbs of `python -m tests.stack`; each prints what it did and returns the exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.services.missing import ServerMissing
from tests.stack.look import alerts, readiness
from tests.stack.parts import ROOT
from tests.stack.place import DEFAULT_FOLDER, NoAnswer, Place
from tests.stack.ports import choose

DONE, FAILED, USER_ERROR = 0, 1, 2
_GONE_S = 30.0
_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
_FOR = {
    "kafka": "topics logs, vectail.queries, vectail.replies and vectail.dead-letters",
    "redis": "vectors that workers share",
    "milvus": "the index",
    "worker": "the page, /readyz, /healthz, /metrics and POST /api/search",
    "prometheus": "/alerts, /graph; the jobs and rules of deploy/prometheus",
    "feed": "made-up lines to the topic logs",
}


def up(place: Place, *, well_known: bool, rate: float) -> int:
    """Start a supervisor; return when it reports that everything runs."""
    from tests.services.wheel_milvus import check_namespaces  # noqa: PLC0415 - imports Milvus' client, which takes seconds that no other verb needs

    try:
        check_namespaces()
    except ServerMissing as missing:
        return _problem(str(missing), USER_ERROR)
    lock = place.take()
    if lock is None:
        return _problem("a stack already runs; `make stack-down` stops it", USER_ERROR)
    place.make()
    ports = choose(well_known=well_known)
    _say(_page(f"127.0.0.1:{ports['worker']}", "it answers once the worker is ready, in about a minute"))
    words = [sys.executable, "-m", "tests.stack.supervisor", str(place.folder), json.dumps(ports), str(rate)]
    with place.log("supervisor").open("wb") as log:
        process = subprocess.Popen(
            [*_NAMESPACE, *words],
            cwd=ROOT,
            env=_environment(place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            pass_fds=[lock],
        )
    place.note(process.pid)
    os.close(lock)
    assert process.stdout is not None
    for line in process.stdout:
        said = json.loads(line)
        if "said" in said:
            _say(f"{said['said']} …")
        elif "up" in said:
            _say(_table(place, said["up"]))
            return DONE
        else:
            process.wait()
            return _problem(f"{said['failed']}; everything is stopped again", said["code"])
    process.wait()
    last = place.log("supervisor").read_text(errors="replace").splitlines()[-1:] if place.folder.exists() else []
    place.remove()
    return _problem(": ".join(["the supervisor ended", *last]), FAILED)


def down(place: Place) -> int:
    """Stop everything, and remove what a killed stack left."""
    if not place.is_taken():
        was_there = place.folder.exists()
        place.remove()
        _say("what a killed stack had left is removed" if was_there else "no stack runs")
        return DONE
    try:
        for said in place.ask(verb="down"):
            _say(f"{said['said']} …")
    except NoAnswer as silent:
        _say(f"the supervisor does not answer ({silent}): killing it")
    if not place.wait_free(_GONE_S):
        place.kill()
    if not place.wait_free(_GONE_S):
        return _problem(f"processes of the stack in {place.folder} do not end", FAILED)
    place.remove()
    _say("nothing is left")
    return DONE


def status(place: Place) -> int:
    """Show which parts run, the worker's state, and the alerts."""
    try:
        (said,) = place.ask(verb="status")
    except NoAnswer:
        return _nothing_runs()
    at = {name: address for name, (address, _) in said["parts"].items()}
    rows = [f"  {name:<12}{'runs' if lives else 'stopped':<10}{address}" for name, (address, lives) in said["parts"].items()]
    ready = readiness(at["worker"])
    if ready is None:
        rows.append("readyz: no answer")
    else:
        rows.append(f"readyz: {ready.status} ({ready.code})")
        rows += [f"  {name}: {why}" for name, why in ready.wrong().items()]
    found = alerts(at["prometheus"])
    rows.append("alerts: no answer" if found is None else f"alerts: {len(found) or 'none'}")
    rows += [f"  {alert}" for alert in found or []]
    _say("\n".join(rows))
    return DONE


def change(place: Place, verb: str, part: str) -> int:
    """Stop or start one part."""
    try:
        (said,) = place.ask(verb=verb, part=part)
    except NoAnswer:
        return _nothing_runs()
    if "failed" in said:
        return _problem(said["failed"], said["code"])
    _say(said["said"])
    return DONE


def _environment(place: Place) -> dict[str, str]:
    """Return this environment without vectail's settings; temporary files, a killed JVM's too, go into the stack's folder."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("VECTAIL_")}
    return inherited | {"TMPDIR": str(place.spare), "JDK_JAVA_OPTIONS": f'-XX:-UsePerfData "-Djava.io.tmpdir={place.spare}"'}


def _table(place: Place, addresses: Mapping[str, str]) -> str:
    vectail = Path(sys.executable).with_name("vectail")
    program = _short(vectail) if vectail.exists() else f"{_short(Path(sys.executable))} -m worker"
    config = f"--config {_short(place.settings_file)}"
    there = "" if place.folder == DEFAULT_FOLDER else f" --folder {_short(place.folder)}"
    stack = f"{_short(Path(sys.executable))} -m tests.stack"
    accident = "; ".join(f"{stack} {verb}{there}" for verb in ("stop milvus", "status", "start milvus"))
    end = f"{stack} down{there}" if there else "make stack-down"
    rows = [f"  {name:<12}{address:<18}{_FOR[name]}" for name, address in addresses.items()]
    return "\n".join(
        [
            "",
            _page(addresses["worker"], "the stack runs"),
            f"`{end}` ends it and removes what it wrote.",
            "",
            *rows,
            "",
            f"  alerts       http://{addresses['prometheus']}/alerts",
            f"  readiness    curl -s http://{addresses['worker']}/readyz",
            f"  search       {program} search 'disk is nearly full' {config}",
            f"  lag          {program} lag {config}",
            f"  an accident  {accident}",
            "",
            "Grafana and kafka_exporter are not part of it: those come with `make up`, in Docker.",
        ]
    )


def _page(worker: str, state: str) -> str:
    return f"Open http://{worker}/ in a browser: {state}."


def _short(path: Path) -> str:
    path = path.absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _nothing_runs() -> int:
    return _problem("no stack runs; `make stack` starts one", USER_ERROR)


def _problem(words: str, code: int) -> int:
    sys.stderr.write(f"stack: {words}\n")
    return code


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()
