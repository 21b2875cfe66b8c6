"""The index as tools open it, and how what fails there ends a verb: for `verify`, `compact`, `dlq replay` and `templates --direct`."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from consumers.groupless.groupless_reader import RangeUnreadable
from consumers.kafka.source_settings import SourceMisconfigured
from consumers.registry import RegistryAway, RegistryMisconfigured
from consumers.source import KafkaRefused
from producers.kafka import ProducerMisconfigured
from sinks.sink import Sink, SinkBroken, SinkBusy, SinkMismatch, SinkRejected
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
    """Open the existing index. Raises ModelError, SinkMismatch, SinkBusy and SinkBroken."""
    busy_retry = BusyRetry(limit_s=patience_s, say=screen.warn, pause=threading.Event().wait, clock=time.monotonic)
    chosen = with_index_model(settings)
    with open_sink(chosen, say=screen.warn, wait=busy_retry.call) as sink:
        yield OpenedIndex(sink, busy_retry, chosen)


@contextmanager
def failures_in_one_line(settings: Settings, stopped: str) -> Iterator[None]:
    """Turn what fails inside the block into CommandFailed; `stopped` says what a refusal of the sink or the engine stopped."""
    try:
        yield
    except (SinkMismatch, ModelError, SourceMisconfigured, ProducerMisconfigured, RegistryMisconfigured, KafkaRefused) as error:
        raise user_error(error) from error
    except RangeUnreadable as error:
        raise failure(f"kafka at {settings.kafka.bootstrap_servers}: {error}") from error
    except (SinkBusy, SinkBroken) as error:
        raise failure(f"Milvus does not answer: {error}") from error
    except RegistryAway as error:
        raise failure(f"the schema registry does not answer: {error}") from error
    except (SinkRejected, EngineFailed, DeadLetterUndelivered, ReplayMarkUndelivered) as error:
        raise failure(f"{stopped}: {error}") from error
