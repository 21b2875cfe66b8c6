"""The settings of the Schema Registry: what is refused at start, and what is never shown."""

from pathlib import Path

import pytest

from worker.settings.secrets import redacted, secrets_of
from worker.settings.settings import SettingsError, load_settings


def settings_file(folder: Path, text: str) -> Path:
    file = folder / "vectail.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_topic_of_registry_format_needs_a_registry(tmp_path: Path) -> None:
    topic = '[[topic]]\nname = "orders"\nformat = "registry"\n'
    with pytest.raises(SettingsError, match=r"registry\.url is not set, but topic 'orders' has format registry"):
        load_settings(settings_file(tmp_path, topic))
    assert load_settings(settings_file(tmp_path, topic + '[registry]\nurl = "http://registry:8081"\n')).registry.url


@pytest.mark.parametrize("url", ["registry:8081", "ftp://registry", "http://", "mock://x", "http://a:1,http://b:1"])
def test_an_address_that_is_none_of_a_registry_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match=r"registry\.url"):
        load_settings(settings_file(tmp_path, f'[registry]\nurl = "{url}"\n'))


def test_the_password_of_a_registry_comes_from_a_file_and_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "password"
    secret.write_text("from-a-file\n", encoding="utf-8")
    monkeypatch.setenv("VECTAIL_REGISTRY__PASSWORD_FILE", str(secret))
    settings = load_settings(settings_file(tmp_path, '[registry]\nurl = "https://me:in-the-url@registry/path"\ntoken = "t0ken"\n'))
    assert settings.registry.password.get_secret_value() == "from-a-file"
    shown = str(redacted(settings))
    assert "https://**********@registry/path" in shown
    assert {"from-a-file", "in-the-url", "t0ken"} <= secrets_of(settings)
    assert not any(one in shown for one in ("from-a-file", "in-the-url", "t0ken"))


def test_a_token_that_no_header_can_carry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="bearer token"):
        load_settings(settings_file(tmp_path, '[registry]\ntoken = "a b"\n'))
