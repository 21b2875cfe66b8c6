"""`vectail config show`: what the settings are in the end."""

from typing import Any

from worker.cli.toml import toml_of
from worker.settings import Settings, redacted


def shown_settings(settings: Settings) -> dict[str, Any]:
    """Return every setting that counts, secrets hidden; what only fault tests set is left out."""
    shown = redacted(settings)
    del shown["fail_point"]
    return shown


def settings_as_toml(settings: Settings) -> str:
    """Return them as a settings file."""
    return toml_of(shown_settings(settings))
