"""The settings of the Schema Registry: what is refused at start, and what is never shown."""

from pathlib import Path

import pytest

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


def test_a_token_that_no_header_can_carry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="bearer token"):
        load_settings(settings_file(tmp_path, '[registry]\ntoken = "a b"\n'))
