"""The mutations of embedding around model and engine: batches, the check of a start, and who is blamed.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_EMBEDDING = "worker/embedding"
_TESTS = "tests/worker/embedding"

EMBEDDING_MUTATIONS = (
    Mutation(
        "tokenizers that give other ids of the same number pass the check of a start",
        f"{_EMBEDDING}/tokenizer.py",
        "if not np.array_equal(encoded.text(index), wanted):",
        "if len(encoded.text(index)) != len(wanted):",
        (f"{_TESTS}/test_tokenizer.py::test_the_start_check_names_the_first_text_that_differs",),
    ),
    Mutation(
        "an engine with wrong vectors passes the check of a start",
        f"{_EMBEDDING}/loaded.py",
        "    if worst < WORST_ALLOWED_COSINE:\n",
        "    if worst < 0:\n",
        (f"{_TESTS}/test_loaded.py::test_an_engine_that_fails_the_golden_texts_is_refused_and_closed",),
    ),
    Mutation(
        "one sound vector vouches for all others of its batch",
        f"{_EMBEDDING}/guarded_engine.py",
        "<= _UNIT_TOLERANCE).all())",
        "<= _UNIT_TOLERANCE).any())",
        (f"{_TESTS}/test_guarded_engine.py::test_texts_that_fail_alone_are_blamed_and_every_other_has_its_own_vector",),
    ),
    Mutation(
        "a query gets the vector of a log line of its batch",
        f"{_EMBEDDING}/compute.py",
        "texts = [query.ids for query in batch.queries] + [log.ids for log in batch.logs]",
        "texts = [log.ids for log in batch.logs] + [query.ids for query in batch.queries]",
        (f"{_TESTS}/test_embed.py::test_queries_and_lines_of_one_batch_get_their_own_vectors",),
    ),
    Mutation(
        "queries that make room for another come back in the reverse order",
        f"{_EMBEDDING}/batcher.py",
        "self._queries.extendleft(reversed(batch.queries))",
        "self._queries.extendleft(batch.queries)",
        (f"{_TESTS}/test_batcher.py::test_a_batch_that_was_put_back_comes_again",),
    ),
    Mutation(
        "batches stay short for ten batches after a query and not for ten seconds",
        f"{_EMBEDDING}/batch_cap.py",
        "self._since_query_s += seconds",
        "self._since_query_s += 1",
        (f"{_TESTS}/test_batch_cap.py::test_it_holds_while_queries_arrive_and_ten_seconds_of_work_longer",),
    ),
)
