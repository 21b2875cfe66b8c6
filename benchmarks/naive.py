"""The worker that people write first: one record at a time, each step waited for. What `benchmarks.by_hand` compares vectail with.

It keeps its vectors in Redis under the hash of the text, so that a text is embedded once, and commits each record after it is stored. It
inserts, where `batched.py` upserts: a worker that people write first does not think of records that come again.
"""

import hashlib
import os
import time
from functools import partial

import numpy as np
from sentence_transformers import SentenceTransformer

from benchmarks.by_hand_turns import Plan
from benchmarks.rivals.clients import COLLECTION, TURN_S, Clients, index_topic, read_messages
from benchmarks.rivals.own_process import Opened
from benchmarks.rivals.torch_model import set_threads
from worker.embedding.model.folder import default_folder


def index(model: SentenceTransformer, plan: Plan, clients: Clients) -> float:
    """Index a topic's records; return the seconds."""
    consumer, cache, milvus = clients
    began_s, until_s = 0.0, time.monotonic() + TURN_S
    for _ in range(plan.records):
        (message,) = read_messages(consumer, 1, until_s)
        began_s = began_s or time.perf_counter()
        text = (message.value() or b"").decode()
        key = hashlib.sha256(text.encode()).hexdigest()
        cached = cache.get(key)
        vector = model.encode(text, show_progress_bar=False) if cached is None else np.frombuffer(cached, np.float32)
        if cached is None:
            cache.set(key, vector.tobytes())
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        row = {"id": f"{topic}/{partition}/{offset}", "vector": vector, "text": text}
        row |= {"topic": topic, "partition": partition, "offset": offset}
        milvus.insert(COLLECTION, [row])
        consumer.commit(message=message, asynchronous=False)
    return time.perf_counter() - began_s


def open_naive() -> Opened:
    """Load the model."""
    set_threads(len(os.sched_getaffinity(0)))
    model = SentenceTransformer(str(default_folder()), device="cpu", local_files_only=True)
    model.encode("once, so that the first record does not pay for it", show_progress_bar=False)
    return Opened({}, lambda plan: index_topic(plan, partial(index, model, plan)))
