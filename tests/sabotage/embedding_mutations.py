"""The mutations of embedding around model and engine: batches, the check of a start, and who is blamed.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

EMBEDDING_MUTATIONS: Changes = {
    "worker/embedding/tokenizer.py: tokenizers that give other ids of the same number pass the check of a start": (
        "if not np.array_equal(encoded.text(index), wanted):",
        "if len(encoded.text(index)) != len(wanted):",
        "worker/embedding/test_tokenizer.py::the_start_check_names_the_first_text_that_differs",
    ),
    "worker/embedding/loaded.py: an engine with wrong vectors passes the check of a start": (
        "    if worst < WORST_ALLOWED_COSINE:\n",
        "    if worst < 0:\n",
        "worker/embedding/test_loaded.py::an_engine_that_fails_the_golden_texts_is_refused_and_closed",
    ),
    "worker/embedding/guarded_engine.py: one sound vector vouches for all others of its batch": (
        "<= _UNIT_TOLERANCE).all())",
        "<= _UNIT_TOLERANCE).any())",
        "worker/embedding/test_guarded_engine.py::one_text_without_a_finite_vector_is_blamed_alone",
    ),
    "worker/embedding/compute.py: a query gets the vector of a log line of its batch": (
        "texts = [query.ids for query in batch.queries] + [log.ids for log in batch.logs]",
        "texts = [log.ids for log in batch.logs] + [query.ids for query in batch.queries]",
        "worker/embedding/test_compute.py::outcomes_are_the_queries_then_the_logs",
    ),
    "worker/embedding/batcher.py: queries that make room for another come back in the reverse order": (
        "self._queries.extendleft(reversed(batch.queries))",
        "self._queries.extendleft(batch.queries)",
        "worker/embedding/test_batcher.py::a_batch_that_was_put_back_comes_again",
    ),
    "worker/embedding/batch_cap.py: batches stay short for ten batches after a query and not for ten seconds": (
        "self._since_query_s += seconds",
        "self._since_query_s += 1",
        "worker/embedding/test_batch_cap.py::it_holds_while_queries_arrive_and_ten_seconds_of_work_longer",
    ),
}
