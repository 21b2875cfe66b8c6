"""Where a verb reads lines from when a word may name a file or a topic: `peek` and `templates --suggest`.

A word is a file if there is one of that name, else a topic; a folder does not hide a topic that the settings name. `--file` and `--topic`
say which is meant. An error says what the word was taken for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from consumers.groupless.groupless_reader import RangeUnreadable, TopicUnknown
from consumers.kafka.source_settings import SourceMisconfigured
from consumers.registry import RegistryAway, RegistryMisconfigured
from producers.file_lines import STDIN, FileUnreadable
from worker.cli.absent_server import kafka_unread
from worker.cli.exits import CommandFailed, failure, user_error
from worker.cli.output import warn
from worker.embedding.model.errors import ModelError
from worker.settings.settings import Settings


class LineSource(NamedTuple):
    """A file (or folder, or standard input), or a topic."""

    name: str
    is_file: bool
    topic: str
    """Whose settings hold: itself, or of a file the one that is given, or the first of the settings."""
    guess: str = ""
    """Begins an error about a word that could be either."""


def line_source(word: str | None, settings: Settings, *, file: str | None, topic: str | None) -> LineSource:
    """Return what is meant by a word, or by `--file` and `--topic`. Raises CommandFailed."""
    if word is not None and file is not None:
        raise user_error(f"{word} and --file {file}: give one of them")
    if word is None and file is None:
        if topic is None:
            raise user_error("name a file or a topic, or use --file or --topic")
        return LineSource(topic, False, topic)
    name = file or word or STDIN
    is_folder = file is None and Path(name).is_dir()
    hides_topic = is_folder and name in settings.subscription.names
    if hides_topic:
        warn(f"{name} is a topic of the settings and a folder here: reading the topic (--file {name} reads the folder)")
    elif file is not None or name == STDIN or "/" in name or Path(name).exists():
        return LineSource(name, True, topic or next(iter(settings.subscription.names), "logs"))
    return LineSource(name, False, name, "" if hides_topic else f"there is no file {name}, so it was taken for a topic: ")


@contextmanager
def source_failures(source: LineSource, settings: Settings) -> Iterator[None]:
    """Turn what fails while a source is read into CommandFailed."""
    address = settings.kafka.bootstrap_servers
    try:
        yield
    except TopicUnknown as error:
        raise user_error(f"{source.guess}kafka at {address}: {error}") from error
    except RangeUnreadable as error:
        unread = kafka_unread(address, error)
        raise CommandFailed(f"{source.guess}{unread}", unread.exit_code) from error
    except (FileUnreadable, ModelError, SourceMisconfigured, RegistryMisconfigured) as error:
        raise user_error(error) from error
    except RegistryAway as error:
        raise failure(f"the schema registry does not answer: {error}") from error
