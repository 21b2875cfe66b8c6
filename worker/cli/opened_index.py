"""The index as tools open it, and how what fails there ends a verb: for `verify`, `compact`, `dlq replay` and `templates --direct`."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from consumers.groupless.groupless_reader import RangeUnreadable
from consumers.kafka.source_settings import SourceMisconfigured
from consumers.registry import RegistryAway, RegistryMisconfigured
from consumers.source import KafkaRefused
from producers.kafka import ProducerMisconfigured
from sinks.milvus.lite import names_server
from sinks.sink import Sink, SinkBroken, SinkBusy, SinkMismatch, SinkRejected
from worker.cli.absent_server import kafka_unread, listens, milvus_away, said_if_slow
from worker.cli.exits import failure, user_error
from worker.cli.screen import Screen
from worker.connections import open_sink, with_index_model
from worker.embedding.guarded_engine import EngineFailed
from worker.embedding.model.errors import ModelError
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.dead_letter_writer import DeadLetterUndelivered
from worker.inspecting.replay_marks import ReplayMarkUndelivered
from worker.settings.settings import Settings


class OpenedIndex(NamedTuple):
    """An index that is open, read with consistency Strong."""

    sink: Sink
    busy_retry: BusyRetry
    """Waits for a busy server as long as the user has patience."""
    settings: Settings
    """They name the model that filled it."""


@contextmanager
def opened_index(settings: Settings, screen: Screen, *, patience_s: float) -> Iterator[OpenedIndex]:
    """Open the existing index; a server at whose address nothing listens is not waited for.

    Raises ModelError, SinkMismatch, SinkBusy and SinkBroken.
    """
    busy_retry = BusyRetry(limit_s=patience_s, say=screen.warn, pause=threading.Event().wait, clock=time.monotonic)
    uri = settings.milvus.uri

    def attempt_until_answered(attempt: Callable[[], None]) -> None:
        try:
            attempt()
        except SinkBusy:
            if names_server(uri) and not listens(uri):
                raise
            busy_retry.call(attempt)

    with ExitStack() as opened:
        with said_if_slow(screen.warn, f"waiting for milvus at {uri}, for up to {patience_s:g} s"):
            chosen = with_index_model(settings)
            sink = opened.enter_context(open_sink(chosen, say=screen.warn, wait=attempt_until_answered))
        yield OpenedIndex(sink, busy_retry, chosen)


@contextmanager
def failures_in_one_line(settings: Settings, stopped: str) -> Iterator[None]:
    """Turn what fails inside the block into CommandFailed; `stopped` says what a refusal of the sink or the engine stopped."""
    try:
        yield
    except (SinkMismatch, ModelError, SourceMisconfigured, ProducerMisconfigured, RegistryMisconfigured, KafkaRefused) as error:
        raise user_error(error) from error
    except RangeUnreadable as error:
        raise kafka_unread(settings.kafka.bootstrap_servers, error) from error
    except (SinkBusy, SinkBroken) as error:
        raise milvus_away(settings.milvus.uri, error) from error
    except RegistryAway as error:
        raise failure(f"the schema registry does not answer: {error}") from error
    except (SinkRejected, EngineFailed, DeadLetterUndelivered, ReplayMarkUndelivered) as error:
        raise failure(f"{stopped}: {error}") from error
