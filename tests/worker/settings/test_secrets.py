"""Secrets: which values of the settings are secret, in which forms they are found, and that none of them is ever printed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rows import rows
from worker.runtime.logs import REDACTED
from worker.settings.secrets import is_secret, redacted, secrets_of
from worker.settings.settings import Settings

ROOT = Path(__file__).parents[3]
PASSWORDS = ("tiger-1", 'say "friend"\\', "pass/word@x", "großes Geheimnis")
SAYS = """
import sys
from worker.runtime.logs import rate_limited_log, configure_logs, non_blocking_stderr, redact_secrets, inform, report_crash
sys.stderr = non_blocking_stderr()
redact_secrets(sys.argv[1:])
configure_logs()
for secret in sys.argv[1:]:
    rate_limited_log().warn(f"a client complains about {secret}")
    inform("starting", address=f"http://user:{secret}@host", parts=[secret])
    try:
        raise RuntimeError(f"401 for {secret}")
    except RuntimeError as error:
        report_crash(error)
    print(f"a library prints {secret}", file=sys.stderr)
raise SystemExit(f"last words: {sys.argv[1:]}")
"""


def settings_with(secret: str) -> Settings:
    quoted = secret.replace("@", "%40").replace("/", "%2F")
    return Settings.model_validate(
        {
            "http": {"token": "http-token"},
            "milvus": {"uri": "https://me:milvus-inline@host", "token": "milvus-token", "password": secret},
            "redis": {"url": f"redis://me:{quoted}@host/0", "sentinel_password": "sentinel-1"},
            "kafka": {"librdkafka": {"sasl.password": "kafka-1", "ssl.key.location": "/etc/key.pem", "sasl.username": "someone"}},
        }
    )


def test_every_secret_is_found_wherever_it_stands() -> None:
    found = secrets_of(settings_with("tiger-1"))
    assert found == {"http-token", "milvus-inline", "milvus-token", "tiger-1", "sentinel-1", "kafka-1"}


def test_it_is_found_as_addresses_and_json_write_it() -> None:
    written, in_address = "pass/word@x", "pass%2Fword%40x"
    for tables in ({"milvus": {"password": written}}, {"redis": {"url": f"redis://:{in_address}@host"}}):
        assert {written, in_address} <= secrets_of(Settings.model_validate(tables))
    (quoted,) = [one for one in secrets_of(Settings.model_validate({"milvus": {"password": 'a"\\bé'}})) if "u00e9" in one]
    assert quoted == json.dumps('a"\\bé')[1:-1]


def test_what_is_too_short_to_be_a_secret_is_left_alone() -> None:
    assert secrets_of(Settings.model_validate({"milvus": {"password": "abc"}})) == frozenset()


@pytest.mark.parametrize(("name", "secret"), rows("settings/secret_properties"))
def test_which_client_properties_are_secret(name: str, *, secret: bool) -> None:
    assert is_secret(name) is secret


def test_a_command_that_may_hold_a_password_is_shown_nowhere() -> None:
    command = "echo tiger-1 | kinit someone@EXAMPLE.ORG"
    settings = Settings.model_validate({"kafka": {"librdkafka": {"sasl.kerberos.kinit.cmd": command}}})
    assert command in secrets_of(settings)
    assert "tiger-1" not in json.dumps(redacted(settings))


@pytest.mark.process
def test_nothing_that_reaches_standard_error_holds_one_whoever_writes_it() -> None:
    forms = sorted({form for secret in PASSWORDS for form in secrets_of(Settings.model_validate({"milvus": {"password": secret}}))})
    ran = subprocess.run([sys.executable, "-c", SAYS, *forms], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stderr.count(REDACTED) >= 5 * len(PASSWORDS)
    assert [form for form in forms if form in ran.stderr] == []
    assert "last words" in ran.stderr
