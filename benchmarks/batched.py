"""The better worker that people write by hand: everything in batches. What `benchmarks.by_hand` compares vectail with.

    python -m benchmarks.batched sentence|onnx|llm TRIAL_FILE [NUMBER_FORMAT]

A list of 256 records is read, looked up in Redis with one MGET, what is missing is embedded as one list, and what was computed is kept with
one MSET, stored with one upsert, and committed. The engine is one of those of `benchmarks.rivals`. It embeds the lines of the
trial file when it is loaded: the fastest engine is the one that people would take.
"""

import hashlib
import os
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.by_hand_turns import Plan, Turn, keep_vectors, serve
from benchmarks.rivals.clients import COLLECTION, TURN_S, close_milvus, open_cache, open_consumer, open_milvus, read_messages, read_rows
from benchmarks.rivals.own_process import EmbedTexts
from worker.embedding.model.folder import default_folder

BATCH = 256
_TRIALS = 3


def index(embed: EmbedTexts, plan: Plan) -> Turn:
    """Index a topic's records."""
    consumer, cache = open_consumer(plan.bootstrap_servers, plan.topic), open_cache(plan.redis_url)
    milvus = open_milvus(plan.folder, 384)
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
    seconds = time.perf_counter() - began_s
    consumer.close()
    found = read_rows(milvus)
    close_milvus(milvus, plan.folder)
    keep_vectors(plan.folder, found)
    return Turn(seconds, len(found), {})


def open_engine(name: str, number_format: str) -> EmbedTexts:
    """Load an engine: only the library that it needs is imported."""
    folder, threads = default_folder(), len(os.sched_getaffinity(0))
    if name == "sentence":
        from benchmarks.rivals.sentence import open_sentence_transformers  # noqa: PLC0415

        return open_sentence_transformers(folder, threads)
    if name == "onnx":
        from benchmarks.rivals.onnx import open_onnx  # noqa: PLC0415

        return open_onnx(folder, threads)
    from benchmarks.rivals.llm import open_llm  # noqa: PLC0415

    return open_llm(folder, threads, number_format)


def seconds_of(embed: EmbedTexts, lines: list[str]) -> float:
    """Return how long an engine takes for these lines."""
    began_s = time.perf_counter()
    embed(lines)
    return time.perf_counter() - began_s


def main() -> None:
    """Load the model and index what is asked for."""
    name, trial_file, *formats = sys.argv[1:]
    embed = open_engine(name, *(formats or ["float32"]))
    lines = Path(trial_file).read_text(encoding="utf-8").split("\n")
    embed(lines)
    serve({"trial_s": min(seconds_of(embed, lines) for _ in range(_TRIALS))}, lambda plan: index(embed, plan))


if __name__ == "__main__":
    main()
