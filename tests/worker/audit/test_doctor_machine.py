"""The doctor's judgements of the machine, the installed versions and the settings, on planted facts and on a planted root."""

import re
import resource
import socket
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.log_topics import log_topics
from tests.services.ports import free_port
from tests.worker.audit.judged import says
from worker.audit.doctor import State
from worker.audit.doctor_machine import (
    Cap,
    caps_of,
    judge_clock,
    judge_disk,
    judge_files,
    judge_instructions,
    judge_memory,
    judge_port,
    judge_processors,
    look_at_machine,
    memory_limit,
)
from worker.audit.doctor_settings import look_at_settings
from worker.audit.doctor_versions import (
    KNOWN,
    fits,
    judge_compiled,
    judge_known,
    judge_python,
    judge_required,
    look_at_versions,
    requires_of,
)
from worker.settings.service_tables import HttpTable
from worker.settings.settings import Settings

GIB = 1 << 30
LOGIN = {"security.protocol": "SASL_PLAINTEXT"}


def settings_of(**tables: dict[str, Any]) -> Settings:
    return Settings.model_validate({"topic": log_topics("logs"), **tables})


# The machine


def test_caps_that_do_not_fit_into_the_memory_are_a_problem() -> None:
    caps = [Cap("limits.max_in_flight_bytes, twice", GIB), Cap("cache.memory_bytes", GIB // 8)]
    says(judge_memory(4 * GIB, "the machine has", caps), "memory", "ok", "the machine has 4 GiB")
    says(judge_memory(2 * GIB, "the machine has", caps), "memory", "warning", "the largest is limits.max_in_flight_bytes")
    says(judge_memory(GIB, "the container may use", caps), "memory", "problem", "may be killed")
    says(judge_memory(None, "", caps), "memory", "ok", "cannot be read")
    assert {cap.name.split(",")[0] for cap in caps_of(settings_of(redis={"url": "redis://r"}))} == {
        "limits.max_in_flight_bytes", "kafka.prefetch_bytes", "cache.memory_bytes", "cache.max_known_templates", "redis.queue_bytes"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "bytes_there", "whose"),
    [
        ({}, 8 * GIB, "the machine has"),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": str(2 * GIB), "sys/fs/cgroup/a/b/memory.max": "max\n"},
         2 * GIB, "container"),
        ({"proc/self/cgroup": "5:memory:/docker/x\n1:cpu:/\n", "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": str(GIB)},
         GIB, "container"),
        ({"proc/self/cgroup": "5:memory:/x\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712"},
         8 * GIB, "the machine has"),
    ],
)  # fmt: skip
def test_the_memory_is_the_machines_or_less_if_a_control_group_says_so(
    files: dict[str, str], bytes_there: int, whose: str, tmp_path: Path
) -> None:
    for path, text in ({"proc/meminfo": f"MemTotal:  {8 * GIB // 1024} kB\n"} | files).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found, said = memory_limit(tmp_path)
    assert found == bytes_there
    assert whose in said


def test_few_open_files_are_a_warning_and_very_few_a_problem() -> None:
    says(judge_files(65_536), "open-files", "ok", "65,536")
    says(judge_files(resource.RLIM_INFINITY), "open-files", "ok", "any number")
    says(judge_files(1_000), "open-files", "warning", "ulimit -n")
    says(judge_files(100), "open-files", "problem")


def test_more_threads_than_processors_are_a_warning() -> None:
    says(judge_processors(4, None), "processors", "ok", "4")
    says(judge_processors(4, 4), "processors", "ok")
    says(judge_processors(4, 8), "processors", "warning", "engine.threads is 8")


def test_a_processor_without_avx2_is_a_warning() -> None:
    says(judge_instructions("x86_64", "flags : fpu avx avx2 avx512f\n"), "instructions", "ok", "AVX-512")
    says(judge_instructions("x86_64", "flags : fpu avx\n"), "instructions", "warning", "without AVX2")
    says(judge_instructions("aarch64", ""), "instructions", "ok", "aarch64")


def test_a_full_disk_is_a_problem_before_a_model_is_prepared() -> None:
    says(judge_disk(Path("/models"), 5 * GIB), "disk", "ok", "5 GiB free for /models")
    says(judge_disk(Path("/models"), GIB // 2), "disk", "warning")
    says(judge_disk(Path("/models"), GIB // 10), "disk", "problem", "model.cache")


def test_a_clock_before_this_program_existed_is_a_problem() -> None:
    says(judge_clock(1_800_000_000, "CET"), "clock", "ok", "2027-01-15 08:00 UTC", "CET")
    says(judge_clock(0, "UTC"), "clock", "problem", "1970-01-01")


def test_a_port_that_a_stranger_has_is_a_problem_and_a_free_one_is_not(tmp_path: Path) -> None:
    says(judge_port(HttpTable(), "", is_worker=True), "port", "ok", "a worker answers on 127.0.0.1 port 8790")
    says(judge_port(HttpTable(enabled=False), "", is_worker=False), "port", "ok", "nothing listens")
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        settings = settings_of(http={"port": taken.getsockname()[1]}, model={"cache": tmp_path / "not" / "there"})
        checks = {one.name: one for one in look_at_machine(settings)}
    says(checks["port"], "port", "problem", "Address already in use", "http.port")
    assert set(checks) == {"memory", "open-files", "processors", "instructions", "disk", "port", "clock"}
    says({one.name: one for one in look_at_machine(settings)}["port"], "port", "ok", "is free")


# What is installed


def test_a_python_that_was_not_tried_is_a_warning() -> None:
    says(judge_python((3, 12)), "python", "ok", "3.12")
    says(judge_python((3, 10)), "python", "warning")
    says(judge_python((3, 15)), "python", "warning")


@pytest.mark.parametrize("known", KNOWN, ids=lambda one: f"{one.library}-{one.below}")
def test_each_known_version_is_found_by_its_bounds(known: Any) -> None:  # noqa: ANN401 - a row of the table
    there = {known.library: known.since if known.since != "0" else "0.0.1"}
    found = judge_known(there.get)
    assert found.state != "ok"
    assert f"{known.reason} ({known.source})" in found.found
    assert known.reason not in judge_known({known.library: known.below}.get).found


@pytest.mark.parametrize(
    ("there", "condition", "holds"),
    [("3.0.2", ">=3.0,<4", True), ("4", ">=3.0,<4", False), ("3.10", ">=3.9", True), ("0.3.36", "==0.3.36", True),
     ("0.3.3", "==0.3.36", False), ("2.0.0rc1", ">=2", True),
     ("1.1.20251105", ">=1.1.20251105", True), ("5", "", True), ("3", "==3.0", True), ("1", "!=1", False)],
)  # fmt: skip
def test_a_version_fulfils_a_condition(there: str, condition: str, holds: bool) -> None:  # noqa: FBT001 - the expected answer
    assert fits(there, condition) is holds


def test_a_library_that_is_missing_or_of_another_version_is_a_problem() -> None:
    required = {"pymilvus": ">=3.0,<4", "redis": ">=7"}
    says(judge_required(required, {"pymilvus": "3.0.2", "redis": "8"}.get), "required", "ok", "all 2")
    says(judge_required(required, {"pymilvus": "2.6.1", "redis": "8"}.get), "required", "problem", "pymilvus is 2.6.1 (needs >=3.0,<4)")
    says(judge_required(required, {"redis": "8"}.get), "required", "problem", "pymilvus is not installed")
    says(judge_required({}, lambda _library: None), "required", "ok", "not installed as a package")


def test_a_library_of_another_c_file_is_a_problem(tmp_path: Path) -> None:
    sources = [tmp_path / name for name in ("one.c", "other.c")]
    for source in sources:
        source.touch()
        source.with_suffix(".c.so").write_text(f"compiled from {sha256(b'').hexdigest()}")
    says(judge_compiled(sources), "compiled", "ok", "2 libraries")
    sources[1].write_text("changed")
    says(judge_compiled(sources), "compiled", "problem", f"{sources[1]}.so was compiled from another other.c →", "make native")


def test_what_is_installed_here_is_well() -> None:
    checks = list(look_at_versions())
    assert re.search(r"^[1-9]\d* libraries", {one.name: one.found for one in checks}["compiled"])
    assert [one for one in checks if one.state != "ok"] == []
    assert {"pymilvus", "redis", "llama-cpp-python"} <= set(requires_of("vectail")) or not requires_of("vectail")


# The settings


def settings_say(name: str, state: State, word: str, **tables: dict[str, Any]) -> None:
    found = {one.name: one for one in look_at_settings(settings_of(**tables))}
    says(found[name], name, state, word)


def test_the_defaults_are_well() -> None:
    assert [one for one in look_at_settings(settings_of()) if one.state != "ok"] == []


@pytest.mark.parametrize(
    ("name", "state", "word", "tables"),
    [
        ("http", "problem", "refuses to start", {"http": {"host": "10.1.2.3"}}),
        ("http", "warning", "may search the logs", {"http": {"host": "10.1.2.3", "allow_without_token": True}}),
        ("http", "warning", "5 characters", {"http": {"host": "10.1.2.3", "token": "12345"}}),
        ("http", "ok", "a token is needed", {"http": {"host": "10.1.2.3", "token": "x" * 32}}),
        ("http", "ok", "nothing is served", {"http": {"enabled": False}}),
        ("transport", "warning", "of Kafka", {"kafka": {"bootstrap_servers": "k:9092", "librdkafka": LOGIN}}),
        ("transport", "ok", "no password", {"kafka": {"bootstrap_servers": "[::1]:9092", "librdkafka": LOGIN}}),
        ("transport", "warning", "of Redis", {"redis": {"url": "redis://:secret@r"}}),
        ("transport", "ok", "no password", {"redis": {"url": "rediss://:secret@r"}}),
        ("transport", "warning", "of Milvus", {"milvus": {"uri": "http://m:19530", "token": "root:Milvus"}}),
        ("transport", "warning", "of the Schema Registry", {"registry": {"url": "http://r:8081", "password": "p"}}),
        ("transport", "warning", "of Milvus", {"milvus": {"uri": "http://root:Milvus@m:19530"}}),
        ("transport", "warning", "of the Schema Registry", {"registry": {"url": "http://me:secret@r:8081"}}),
        ("transport", "ok", "no password", {"registry": {"url": "https://me:secret@r:8081"}}),
        ("client-properties", "warning", "can be the broker", {"kafka": {"librdkafka": {"enable.ssl.certificate.verification": "False"}}}),
        ("client-properties", "warning", "may write secrets", {"kafka": {"librdkafka": {"debug": "all"}}}),
        ("client-properties", "ok", "1 in", {"kafka": {"librdkafka": {"security.protocol": "ssl"}}}),
        ("work", "warning", "mask.mode is exact", {"mask": {"mode": "exact"}}),
        ("limits", "warning", "of this size", {"decode": {"max_record_bytes": 2_000_000}, "limits": {"max_in_flight_bytes": 1_000_000}}),
        ("limits", "warning", "cut off", {"http": {"timeout_s": 5}}),
        ("limits", "warning", "one thread", {"milvus": {"uri": "./index"}, "index": {"writers": 4}}),
    ],
)  # fmt: skip
def test_settings_that_are_a_risk_are_named(name: str, state: State, word: str, tables: dict[str, dict[str, Any]]) -> None:
    settings_say(name, state, word, **tables)
