"""The worker that people write first: one record at a time, each step waited for. What `benchmarks.by_hand` compares vectail with.

    python -m benchmarks.naive

It keeps its vectors in Redis under the hash of the text, so that a text is embedded once, and commits each record after it is stored.
"""

import hashlib
import time

import numpy as np
from sentence_transformers import SentenceTransformer

from benchmarks.by_hand_turns import Plan, Turn, keep_vectors, serve
from benchmarks.rivals.clients import COLLECTION, MOST_ROWS, open_cache, open_consumer, open_milvus
from worker.embedding.model.folder import default_folder


def index(model: SentenceTransformer, plan: Plan) -> Turn:
    """Index a topic's records."""
    consumer, cache = open_consumer(plan.bootstrap_servers, plan.topic), open_cache(plan.redis_url)
    milvus = open_milvus(plan.folder, 384)
    began_s = 0.0
    for _ in range(plan.records):
        while (message := consumer.poll(1.0)) is None:
            pass
        began_s = began_s or time.perf_counter()
        text = (message.value() or b"").decode()
        key = hashlib.sha256(text.encode()).hexdigest()
        cached = cache.get(key)
        vector = model.encode(text, show_progress_bar=False) if cached is None else np.frombuffer(cached, np.float32)
        if cached is None:
            cache.set(key, vector.tobytes())
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        row = {"id": f"{topic}/{partition}/{offset}", "vector": vector.tolist(), "text": text}
        row |= {"topic": topic, "partition": partition, "offset": offset}
        milvus.insert(COLLECTION, [row])
        consumer.commit(message=message, asynchronous=False)
    seconds = time.perf_counter() - began_s
    consumer.close()
    rows = milvus.query(COLLECTION, filter="", output_fields=["text", "vector"], limit=MOST_ROWS)
    milvus.close()
    keep_vectors(plan.folder, {row["text"]: np.array(row["vector"], np.float32) for row in rows})
    return Turn(seconds, len(rows), {})


def main() -> None:
    """Load the model and index what is asked for."""
    model = SentenceTransformer(str(default_folder()), device="cpu", local_files_only=True)
    model.encode("once, so that the first record does not pay for it", show_progress_bar=False)
    serve({}, lambda plan: index(model, plan))


if __name__ == "__main__":
    main()
