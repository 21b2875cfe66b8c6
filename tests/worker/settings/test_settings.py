"""Settings from file, environment and flags, and what is refused."""

import os
import re
from dataclasses import asdict
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pydantic import SecretStr

from consumers.decode.rules import Clock
from consumers.kafka.source_settings import PROTECTED
from tests.log_topics import topic_line
from tests.rows import rows
from worker.settings.masks_version import masks_version, topic_masks_version
from worker.settings.secrets import redacted
from worker.settings.serve_tables import ServedModelTable
from worker.settings.settings import FAIL_POINT_VARIABLE, PREFIX, Settings, SettingsError, fail_point_of_tests, load_settings
from worker.settings.tables import INSTALLED_NAMES
from worker.settings.topic_tables import TopicTable


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().startswith(PREFIX):
            monkeypatch.delenv(name)


REGISTRY_TOPIC = "[[topic]]\nname = 'orders'\nformat = 'registry'\n"
NO_REGISTRIES = ("registry:8081", "ftp://registry", "http://", "mock://x", "http://a:1,http://b:1")


def write(folder: Path, text: str) -> Path:
    file = folder / "vectail.toml"
    file.write_text(text, encoding="utf-8")
    return file


def refusal(file: Path | None = None, flags: dict[str, dict[str, object]] | None = None) -> str:
    """Load settings that must be refused; returns the one line."""
    with pytest.raises(SettingsError) as refused:
        load_settings(file, flags)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_without_anything_only_this_machine_reaches_the_api() -> None:
    assert (Settings().http.host, Settings().http.allow_without_token) == ("127.0.0.1", False)


def test_flags_stand_over_the_environment_and_the_environment_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, '[kafka]\ngroup = "file"\nquery_group = "file"\nquery_topic = "file"\n[milvus]\nuri = "file"')
    monkeypatch.setenv("VECTAIL_KAFKA__QUERY_GROUP", "environment")
    monkeypatch.setenv("VECTAIL_KAFKA__QUERY_TOPIC", "environment")
    settings = load_settings(file, {"kafka": {"query_topic": "flag"}})
    kafka = settings.kafka
    assert (kafka.group, kafka.query_group, kafka.query_topic, settings.milvus.uri) == ("file", "environment", "flag", "file")
    assert kafka.reply_topic == Settings().kafka.reply_topic


def test_numbers_lists_and_paths_come_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "VECTAIL_MASK__DISABLED": '["uuid", "url"]',
        "VECTAIL_QUERY__REPLY_TOPICS": "one, two",
        "VECTAIL_LIMITS__MAX_IN_FLIGHT_RECORDS": "17",
        "VECTAIL_LIMITS__DRAIN_TIMEOUT_S": "2.5",
        "VECTAIL_MODEL__FOLDER": "/models/own",
        "vectail_engine__threads": "3",
        "VECTAIL_KAFKA__LIBRDKAFKA": '{"session.timeout.ms": "6000"}',
    }.items():
        monkeypatch.setenv(name, text)
    settings = load_settings(None)
    assert settings.mask.disabled == ("uuid", "url")
    assert settings.query.reply_topics == ("one", "two")
    assert (settings.limits.max_in_flight_records, settings.limits.drain_timeout_s, settings.engine.threads) == (17, 2.5, 3)
    assert settings.model.folder == Path("/models/own")
    assert settings.kafka.librdkafka == {"session.timeout.ms": "6000"}


def test_topics_come_out_of_the_environment_as_tables_or_as_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, topic_line("from", "the", "file"))
    assert load_settings(file).subscription.names == ("from", "the", "file")
    monkeypatch.setenv("VECTAIL_TOPIC", "logs, audit")
    assert load_settings(file).topic == (TopicTable(name="logs"), TopicTable(name="audit"))
    monkeypatch.setenv("VECTAIL_TOPIC", '[{"pattern": "app[.].*", "exclude": ["app[.]x"], "format": "json", "fields": {"text": ["m"]}}]')
    (table,) = load_settings(file).topic
    assert (table.pattern, table.exclude, table.format, table.fields.text) == ("app[.].*", ("app[.]x",), "json", ("m",))
    assert load_settings(file, {"topic": [{"name": "flag"}]}).subscription.names == ("flag",)


def test_served_models_come_out_of_the_environment_as_tables_or_as_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "[[serve.model]]\nname = 'bge'\nfolder = '/m/bge'\naliases = ['text-embedding-3-small']\nidle_s = 60")
    assert load_settings(file).serve.model == (
        ServedModelTable(name="bge", folder=Path("/m/bge"), aliases=("text-embedding-3-small",), idle_s=60.0),
    )
    monkeypatch.setenv("VECTAIL_SERVE__MODEL", ", ".join(INSTALLED_NAMES))
    assert load_settings(file).serve.model == tuple(ServedModelTable(name=name) for name in INSTALLED_NAMES)
    monkeypatch.setenv("VECTAIL_SERVE__MODEL", '[{"name": "e5", "folder": "/m/e5", "dimensions": [64, 128]}]')
    assert load_settings(file).serve.model == (ServedModelTable(name="e5", folder=Path("/m/e5"), dimensions=(64, 128)),)


def test_the_first_table_that_fits_a_topic_holds_for_it(tmp_path: Path) -> None:
    tables = "[[topic]]\nname = 'app.a'\nweight = 3\n[[topic]]\npattern = 'app[.].*'\nexclude = ['.*[.]tmp']\nweight = 2\nyear = 2024\n"
    settings = load_settings(write(tmp_path, f"{tables}[[topic]]\npattern = '.*'\nformat = 'text'"))
    weights = {topic: settings.weight_of(topic) for topic in ("app.a", "app.b", "app.b.tmp", "xapp.a", "__internal")}
    assert weights == {"app.a": 3.0, "app.b": 2.0, "app.b.tmp": 1.0, "xapp.a": 1.0, "__internal": 1.0}
    assert (settings.topic_table("app.b").year, settings.topic_table("app.b.tmp").format) == (2024, "text")
    assert settings.topic_table("__internal") == TopicTable(name="__internal"), "the settings do not read it"


def test_each_setting_of_a_topic_reaches_its_rule_of_decoding() -> None:
    fields = {name: (f"my.{name}",) for name in ("text", "time", "level", "service", "keep")}
    topic = {"name": "a", "format": "json", "fields": fields, "timezone": "Europe/Berlin", "year": 2024}
    settings = load_settings(None, {"topic": [topic], "decode": {"template_fields": ("my.template",), "max_record_bytes": 5_000}})
    rules = settings.topic_table("a").rules(settings.decode)
    assert asdict(rules.names) == fields | {"template": ("my.template",), "documented_service": True}
    assert (rules.format, rules.max_record_bytes) == ("json", 5_000)
    assert rules.clock == Clock(ZoneInfo("Europe/Berlin"), 2024)


def test_a_topic_with_masks_of_its_own_has_their_version() -> None:
    settings = load_settings(None, {"topic": [{"name": "web", "mask": {"disabled": ["email"]}}, {"name": "logs"}]})
    versions = {topic: topic_masks_version(settings, topic) for topic in ("web", "logs", "unheard-of")}
    assert versions["logs"] == versions["unheard-of"] == masks_version(settings.mask) != versions["web"]


def test_names_of_templates_may_be_what_people_say_and_keep_their_order(tmp_path: Path) -> None:
    text = (
        "[[template]]\nname = 'Zahlung abgelehnt (Kasse №2)'\npattern = 'payment .* declined'\n[[template]]\nname = 'a'\npattern = '^x'\n"
    )
    found = [(table.name, table.pattern) for table in load_settings(write(tmp_path, text)).template]
    assert found == [("Zahlung abgelehnt (Kasse №2)", "payment .* declined"), ("a", "^x")]


def test_topics_that_vectail_writes_or_asks_are_never_read(tmp_path: Path) -> None:
    file = write(tmp_path, "[[topic]]\npattern = '.*'\n[kafka]\nquery_topic = 'asked'\n[query]\nreply_topics = ['answers']")
    own = ("asked", "vectail.replies", "vectail.dead-letters", "answers", "__consumer_offsets")
    subscription = load_settings(file).subscription
    assert subscription.matching([*own, "logs", "vectail.queries"]) == {"logs", "vectail.queries"}
    assert not any(map(subscription.reads, own))


def test_canaries_go_to_a_named_topic_that_takes_plain_lines(tmp_path: Path) -> None:
    tables = (
        "[[topic]]\npattern = '.*'\n[[topic]]\nname = 'a'\nformat = 'otlp_proto'\n[[topic]]\nname = 'b'\n[topic.multiline]\nstart = 'go'\n"
    )
    settings = load_settings(write(tmp_path, f"{tables}[[topic]]\nname = 'c'\n[status]\ncanary_interval_s = 5"))
    assert settings.canary_topic() == "c"


def test_an_empty_variable_counts_as_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__GROUP", "")
    monkeypatch.setenv("VECTAIL_MODEL__FOLDER", "")
    settings = load_settings(write(tmp_path, '[kafka]\ngroup = "file"'))
    assert (settings.kafka.group, settings.model.folder) == ("file", None)


def test_client_properties_are_joined_from_file_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, '[kafka.librdkafka]\n"sasl.username" = "file"\n"security.protocol" = "sasl_ssl"')
    monkeypatch.setenv("VECTAIL_KAFKA__LIBRDKAFKA__SASL_PASSWORD", "from the environment")
    monkeypatch.setenv("VECTAIL_KAFKA__LIBRDKAFKA", '{"sasl.username": "json"}')
    assert load_settings(file).kafka.librdkafka == {
        "sasl.username": "json",
        "security.protocol": "sasl_ssl",
        "sasl.password": "from the environment",
    }
    assert load_settings(file, {"kafka": {"librdkafka": {}}}).kafka.librdkafka == {}, "a flag replaces them all"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *rows("settings/wrong_files"),
        (f"[query]\nreply_topics = ['{'a' * 250}']", "setting query.reply_topics.0: "),
        (f"[[template]]\nname = '{'x' * 65}'\npattern = 'a'", "setting template.0.name: "),
        *((f"[registry]\nurl = '{url}'", "setting registry.url: ") for url in NO_REGISTRIES),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_names_the_setting(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(write(tmp_path, text))


def test_a_name_that_kafka_allows_is_accepted_and_replies_may_go_to_the_reply_topic(tmp_path: Path) -> None:
    longest = "a" * 249
    file = write(tmp_path, f"{topic_line(longest, 'A.b_c-9', '...')}[query]\nreply_topics = ['vectail.replies']")
    settings = load_settings(file)
    assert settings.subscription.names == (longest, "A.b_c-9", "...")
    assert settings.query.reply_topics == ("vectail.replies",)


def test_a_topic_of_registry_format_is_accepted_with_a_registry(tmp_path: Path) -> None:
    file = write(tmp_path, f"{REGISTRY_TOPIC}[registry]\nurl = 'http://registry:8081'")
    assert load_settings(file).registry.url == "http://registry:8081"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert refusal(write(tmp_path, "[kafak]")).startswith(f"{tmp_path / 'vectail.toml'}: ")
    assert refusal(tmp_path / "none.toml") == f"settings file {tmp_path / 'none.toml'} cannot be read: No such file or directory"
    assert "cannot be read: Is a directory" in refusal(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'[kafka]\ngroup = "\xe9"')
    assert "is not valid TOML" in refusal(tmp_path / "latin.toml")


@pytest.mark.parametrize(("name", "text", "said"), rows("settings/wrong_environments"))
def test_a_wrong_environment_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: str) -> None:
    monkeypatch.setenv(name, text)
    assert said in refusal()


@pytest.mark.parametrize("name", ["VECTAIL_TEST_KAFKA", "VECTAIL_CONFIG", "VECTOR_X"])
def test_other_variables_are_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    assert load_settings(None) == Settings()


def test_a_wrong_flag_is_refused_like_any_other_setting() -> None:
    assert refusal(None, {"index": {"writers": 99}}).startswith("setting index.writers: ")
    assert refusal(None, {"milvus": {"writer": 1}}).startswith("setting milvus.writer: ")


@pytest.mark.parametrize("name", sorted(PROTECTED | {"acks", "delivery.report.only.error", "transactional.id", "max.poll.interval.ms"}))
@pytest.mark.parametrize("where", ["file", "environment", "flag"])
def test_client_properties_that_would_break_the_promise_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    file = write(tmp_path, f'[kafka.librdkafka]\n"{name}" = "x"') if where == "file" else None
    if where == "environment":
        monkeypatch.setenv(f"VECTAIL_KAFKA__LIBRDKAFKA__{name.upper().replace('.', '_')}", "x")
    said = refusal(file, {"kafka": {"librdkafka": {name: "x"}}} if where == "flag" else None)
    assert re.fullmatch(rf"setting kafka\.librdkafka: {re.escape(name)} (cannot be changed: .+|is the setting kafka\.\w+)", said)


def test_secrets_are_hidden_and_the_rest_is_shown() -> None:
    librdkafka = {
        "sasl.password": "hidden-1",
        "ssl.key.password": "hidden-2",
        "sasl.oauthbearer.client.secret": "hidden-3",
        "sasl.oauthbearer.config": "hidden-4",
        "sasl.username": "alice",
        "security.protocol": "sasl_ssl",
    }
    milvus = {"token": "hidden-5", "password": "hidden-6", "uri": "https://bob:hidden-7@milvus:19530", "user": "bob"}
    settings = load_settings(None, {"kafka": {"librdkafka": librdkafka}, "milvus": milvus})
    shown = redacted(settings)
    assert "hidden" not in str(shown)
    assert shown["kafka"]["librdkafka"]["sasl.username"] == "alice"
    assert shown["kafka"]["librdkafka"]["security.protocol"] == "sasl_ssl"
    assert shown["milvus"]["uri"] == "https://**********@milvus:19530"
    assert shown["milvus"]["user"] == "bob"
    assert settings.kafka.librdkafka["sasl.password"] == "hidden-1"
    assert "hidden" not in str(settings.milvus.token), "a secret is a secret after flags were merged, too"


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_secret_may_stand_in_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    for variable, secret in {
        "VECTAIL_HTTP__TOKEN_FILE": "one",
        "vectail_milvus__password_file": "two words ",
        "VECTAIL_KAFKA__LIBRDKAFKA__SASL_PASSWORD_FILE": "three",
        "VECTAIL_KAFKA__LIBRDKAFKA__SSL_KEY_PEM_FILE": "-----BEGIN\nfour\n-----END",
    }.items():
        file = tmp_path / variable
        file.write_bytes(f"{secret}{end}".encode())
        monkeypatch.setenv(variable, str(file))
    settings = load_settings(None, {"milvus": {"timeout_s": 2.0}})
    assert settings.http.token == SecretStr("one")
    assert settings.milvus.password == SecretStr("two words ")
    assert settings.kafka.librdkafka == {"sasl.password": "three", "ssl.key.pem": "-----BEGIN\nfour\n-----END"}


def test_a_secret_s_file_that_cannot_be_used_is_named_and_its_content_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = "VECTAIL_HTTP__TOKEN_FILE"
    file = tmp_path / "token"
    monkeypatch.setenv(variable, str(file))
    assert refusal() == f"environment variable {variable}: {file} cannot be read: No such file or directory"
    file.write_bytes(b"\n")
    assert refusal() == f"environment variable {variable}: {file} is empty"
    file.write_bytes(b"hidden\xff")
    assert refusal() == f"environment variable {variable}: {file} is not UTF-8"
    file.write_bytes(b"hidden hidden")
    assert "hidden" not in refusal()


def test_a_secret_stands_in_one_place_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    monkeypatch.setenv("VECTAIL_HTTP__TOKEN_FILE", str(file))
    monkeypatch.setenv("VECTAIL_HTTP__TOKEN", "two")
    assert refusal() == "environment variables VECTAIL_HTTP__TOKEN and VECTAIL_HTTP__TOKEN_FILE are both set; remove one"
    monkeypatch.setenv("VECTAIL_HTTP__TOKEN", "")
    assert load_settings(None).http.token == SecretStr("one")


def test_only_secrets_stand_in_files_and_a_client_s_own_files_are_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_REDIS__CA_FILE", str(tmp_path / "ca"))
    monkeypatch.setenv("VECTAIL_KAFKA__LIBRDKAFKA__SASL_OAUTHBEARER_ASSERTION_PRIVATE_KEY_FILE", "/k")
    settings = load_settings(None)
    assert settings.redis.ca_file == tmp_path / "ca"
    assert settings.kafka.librdkafka == {"sasl.oauthbearer.assertion.private.key.file": "/k"}
    monkeypatch.setenv("VECTAIL_KAFKA__GROUP_FILE", str(tmp_path / "group"))
    assert refusal().startswith("unknown environment variable VECTAIL_KAFKA__GROUP_FILE; did you mean 'VECTAIL_KAFKA__GROUP'?")
    monkeypatch.delenv("VECTAIL_KAFKA__GROUP_FILE")
    monkeypatch.setenv("VECTAIL_HTTP__TOKN_FILE", "x")
    assert refusal().endswith("did you mean 'VECTAIL_HTTP__TOKEN_FILE'?")


def test_a_refusal_says_nothing_of_a_wrong_secret(tmp_path: Path) -> None:
    assert "123456789" not in refusal(write(tmp_path, "[milvus]\ntoken = 123456789"))


@pytest.mark.parametrize(
    ("text", "said"),
    [("before_commit", "'before_commit' is not POINT:N or POINT:N:SECONDS"), ("before_comit:1", "there is no point 'before_comit'")],
)
def test_a_wrong_fail_point_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    monkeypatch.setenv(FAIL_POINT_VARIABLE, text)
    with pytest.raises(SettingsError, match=re.escape(f"environment variable VECTAIL_TEST_FAIL_POINT: {said}")) as refused:
        fail_point_of_tests()
    assert "\n" not in str(refused.value)
