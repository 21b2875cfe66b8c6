"""The better worker that people write by hand: everything in batches. What `benchmarks.by_hand` compares vectail with.

A list of 256 records is read, looked up in Redis with one MGET, what is missing is embedded as one list, and what was computed is kept with
one MSET, stored with one upsert, and committed. The engine is one of those of `benchmarks.rivals`. It embeds the lines of a
trial when it is loaded: the fastest engine is the one that people would take.
"""

import hashlib
import os
import time
from functools import partial

import numpy as np

from benchmarks.by_hand_turns import Plan
from benchmarks.race import seconds_of
from benchmarks.rivals.clients import COLLECTION, TURN_S, Clients, index_topic, read_messages
from benchmarks.rivals.own_process import EmbedTexts, Opened
from worker.embedding.model.folder import default_folder

BATCH = 256
_TRIALS = 3


def index(embed: EmbedTexts, plan: Plan, clients: Clients) -> float:
    """Index a topic's records; return the seconds."""
    consumer, cache, milvus = clients
    began_s, done, until_s = 0.0, 0, time.monotonic() + TURN_S
    while done < plan.records:
        messages = read_messages(consumer, BATCH, until_s)
        began_s = began_s or time.perf_counter()
        texts = [(message.value() or b"").decode() for message in messages]
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        cached = dict(zip(keys, cache.mget(keys), strict=True))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if cached[key] is None}
        if missing:
            computed = embed(list(missing.values()))
            new = {key: vector.tobytes() for key, vector in zip(missing, computed, strict=True)}
            cache.mset(new)
            cached |= new
        rows = [
            {
                "id": f"{message.topic()}/{message.partition()}/{message.offset()}",
                "vector": np.frombuffer(cached[key], np.float32),
                "text": text,
                "topic": message.topic(),
                "partition": message.partition(),
                "offset": message.offset(),
            }
            for message, key, text in zip(messages, keys, texts, strict=True)
        ]
        milvus.upsert(COLLECTION, rows)
        consumer.commit(asynchronous=False)
        done += len(messages)
    return time.perf_counter() - began_s


def open_batched(name: str, trial: list[str], number_format: str) -> Opened:
    """Load an engine and let it embed the lines of the trial: only the library that it needs is imported."""
    folder, threads = default_folder(), len(os.sched_getaffinity(0))
    if name == "llm":
        from benchmarks.rivals.llm import open_llm  # noqa: PLC0415

        embed = open_llm(folder, threads, number_format)
    elif name == "onnx":
        from benchmarks.rivals.onnx import open_onnx  # noqa: PLC0415

        embed = open_onnx(folder, threads)
    else:
        from benchmarks.rivals.sentence import open_sentence_transformers  # noqa: PLC0415

        embed = open_sentence_transformers(folder, threads)
    embed(trial)
    return Opened(
        {"trial_s": min(seconds_of(lambda: embed(trial)) for _ in range(_TRIALS))},
        lambda plan: index_topic(plan, partial(index, embed, plan)),
    )
