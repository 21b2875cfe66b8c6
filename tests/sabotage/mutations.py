"""The mutations: each changes one place, and names the tests that must fail because of it.

Each is a known bug of similar programs, or a plausible one here. `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.audit_mutations import AUDIT_MUTATIONS
from tests.sabotage.begin_again_mutations import BEGIN_AGAIN_MUTATIONS
from tests.sabotage.block_mutations import BLOCK_MUTATIONS
from tests.sabotage.cli_mutations import CLI_MUTATIONS
from tests.sabotage.clock_mutations import CLOCK_MUTATIONS
from tests.sabotage.compiled_mutations import COMPILED_MUTATIONS
from tests.sabotage.deploy_mutations import DEPLOY_MUTATIONS
from tests.sabotage.embedding_mutations import EMBEDDING_MUTATIONS
from tests.sabotage.engine_mutations import ENGINE_MUTATIONS
from tests.sabotage.estimate_mutations import ESTIMATE_MUTATIONS
from tests.sabotage.form_mutations import FORM_MUTATIONS
from tests.sabotage.groups_mutations import GROUPS_MUTATIONS
from tests.sabotage.http_mutations import HTTP_MUTATIONS
from tests.sabotage.ledger_mutations import LEDGER_MUTATIONS
from tests.sabotage.letter_mutations import LETTER_MUTATIONS
from tests.sabotage.lite_mutations import LITE_MUTATIONS
from tests.sabotage.model_mutations import MODEL_MUTATIONS
from tests.sabotage.mutation import Mutation
from tests.sabotage.native_mutations import NATIVE_MUTATIONS
from tests.sabotage.observability_mutations import OBSERVABILITY_MUTATIONS
from tests.sabotage.page_mutations import PAGE_MUTATIONS
from tests.sabotage.reading_mutations import READING_MUTATIONS
from tests.sabotage.record_mutations import RECORD_MUTATIONS
from tests.sabotage.settings_mutations import SETTINGS_MUTATIONS
from tests.sabotage.small_mutations import SMALL_MUTATIONS
from tests.sabotage.stranger_mutations import STRANGER_MUTATIONS

_FLIGHTS = "worker/indexing/flights.py"
_PREPARE = "worker/indexing/prepare.py"
_WRITING = "sinks/milvus/writing.py"
_FRAME = "worker/embedding/cache/frame.py"
_LITE_SERVER = "sinks/milvus/lite_server.py"

MUTATIONS = (
    *LEDGER_MUTATIONS,
    *BEGIN_AGAIN_MUTATIONS,
    *LETTER_MUTATIONS,
    *BLOCK_MUTATIONS,
    *CLOCK_MUTATIONS,
    *FORM_MUTATIONS,
    *READING_MUTATIONS,
    *RECORD_MUTATIONS,
    *NATIVE_MUTATIONS,
    *COMPILED_MUTATIONS,
    *LITE_MUTATIONS,
    *STRANGER_MUTATIONS,
    *SMALL_MUTATIONS,
    *ESTIMATE_MUTATIONS,
    *GROUPS_MUTATIONS,
    *SETTINGS_MUTATIONS,
    *OBSERVABILITY_MUTATIONS,
    *AUDIT_MUTATIONS,
    *CLI_MUTATIONS,
    *MODEL_MUTATIONS,
    *ENGINE_MUTATIONS,
    *EMBEDDING_MUTATIONS,
    *DEPLOY_MUTATIONS,
    *HTTP_MUTATIONS,
    *PAGE_MUTATIONS,
    Mutation(
        "missing expect: a line of several chunks settles with its first chunk",
        _PREPARE,
        "assignment.expect(group.arrival[rows], np.maximum(pieces[rows], 1), held[rows])",
        "assignment.expect(group.arrival[rows], np.minimum(pieces[rows], 1), held[rows])",
        ("tests/worker/indexing/test_prepare.py::test_a_long_line_becomes_chunks_and_settles_with_the_last_of_them",),
    ),
    Mutation(
        "a dead letter settles before its delivery",
        "producers/dead_letters.py",
        "self._unsent.append(_OpenLetter(letter, envelope(letter, version=self._version, max_bytes=self._max_bytes), delivered))",
        "self._unsent.append(_OpenLetter(letter, envelope(letter, version=self._version, max_bytes=self._max_bytes), lambda: None))\n"
        "        delivered()",
        ("tests/producers/test_dead_letters.py::test_nothing_is_delivered_without_a_broker_and_that_is_said_once",),
    ),
    Mutation(
        "the process that serves a local folder outlives its worker",
        _LITE_SERVER,
        "if os.getppid() != starter or (ready and not os.read(0, 64)):\n            os._exit(1)",
        "if os.getppid() != starter or (ready and not os.read(0, 64)):\n            time.sleep(1)\n            continue",
        ("tests/sinks/test_lite.py::test_the_process_that_serves_a_folder_ends_with_the_one_that_opened_it",),
    ),
    Mutation(
        "waiting lines are dropped when a flight fails",
        _FLIGHTS,
        "return [parked.release([place]) for parked, place in flight]",
        "return [parked.release([place]) for parked, place in flight[:1]]",
        ("tests/worker/indexing/test_flights.py::test_a_failed_flight_gives_back_its_lines_and_remembers_why",),
    ),
    Mutation(
        "waiting lines are dropped when a flight completes",
        _FLIGHTS,
        "                for parked, place in flight:\n",
        "                for parked, place in flight[:1]:\n",
        ("tests/worker/indexing/test_flights.py::test_the_first_of_a_template_begins_its_flight_and_the_others_wait_in_it",),
    ),
    Mutation(
        "a line that waits for its template is a slice of its batch",
        _FLIGHTS,
        "self._park(batch.take(waiting), joined.mine)",
        "self._park(batch if len(waiting) == batch.size else batch.take(waiting), joined.mine)",
        ("tests/worker/indexing/test_flights.py::test_what_waits_holds_no_memory_of_its_batch",),
    ),
    Mutation(
        "lines that wait are numbered as if all before them had stayed",
        "worker/indexing/parked.py",
        "            self._codes = (np.cumsum(used) - 1)[self._codes]  # as `take` numbers those values that are left\n",
        "",
        ("tests/worker/indexing/test_flights.py", "tests/properties/test_flights.py"),
    ),
    Mutation(
        "a template is known before its row is acknowledged",
        _FLIGHTS,
        "                mine.append((ids[place], texts[place]))\n",
        "                mine.append((ids[place], texts[place]))\n                self._known.add_template(ids[place], 1, self._clock())\n",
        (
            "tests/worker/indexing/test_flights.py::test_the_first_of_a_template_begins_its_flight_and_the_others_wait_in_it",
            "tests/worker/indexing/test_store.py::test_a_template_that_was_not_acknowledged_makes_no_line_known",
        ),
    ),
    Mutation(
        "a line settles the record at its own place in the batch",
        _PREPARE,
        "LineBatch(own.assignment, group.arrival[row[first:end]],",
        "LineBatch(own.assignment, group.arrival[first:end],",
        ("tests/worker/indexing/test_prepare.py", "tests/worker/indexing/test_steps_together.py"),
    ),
    Mutation(
        "lines that an earlier run has stored are settled and written again",
        _PREPARE,
        "left = np.flatnonzero(~stored)",
        "left = np.arange(len(stored))",
        ("tests/worker/indexing/test_restart.py",),
    ),
    Mutation(
        "records of a partition that is gone are worked",
        _PREPARE,
        "if not own.assignment.alive]",
        "if own.assignment is None]",
        ("tests/worker/indexing/test_prepare.py::test_records_of_a_dead_generation_are_dropped_unread",),
    ),
    Mutation(
        "a cache hit skips the template's row",
        _PREPARE,
        'elif found.source == "index" and not rewrite_found:',
        "elif not rewrite_found:",
        ("tests/worker/indexing/test_prepare.py::test_a_cached_vector_goes_to_the_sink_as_a_template",),
    ),
    Mutation(
        "a non-finite vector is stored",
        _WRITING,
        "if not np.isfinite(vector).all():",
        "if vector.ndim > 1:",
        ("tests/contracts/test_sink.py::test_a_vector_of_another_dimension_or_not_finite_is_our_fault",),
    ),
    Mutation(
        "a failed write to a local folder is retried",
        "sinks/milvus/faults.py",
        "    if local:\n",
        "    if local and not fault.reason:\n",
        ("tests/sinks/test_faults.py::test_a_local_write_that_fails_is_final",),
    ),
    Mutation(
        "a frame from Redis is not checked",
        _FRAME,
        "return hmac.compare_digest(self._hash(key, value[:-_HASH_BYTES]), value[-_HASH_BYTES:])",
        "return True",
        ("tests/properties/test_cache_frames.py::test_flipped_bits_are_no_vector",),
    ),
    Mutation(
        "a frame from Redis is valid under any key",
        _FRAME,
        "return hashlib.blake2b(key + front,",
        "return hashlib.blake2b(front,",
        ("tests/properties/test_cache_frames.py::test_swapped_frames_are_no_vectors",),
    ),
    Mutation(
        "a text is blamed while the engine is broken",
        "worker/embedding/guarded_engine.py",
        "        self.check_engine()\n        return [EmbeddingFailed(reason)]",
        "        return [EmbeddingFailed(reason)]",
        ("tests/worker/embedding/test_guarded_engine.py::test_nobody_is_blamed_while_the_golden_texts_fail_too",),
    ),
    Mutation(
        "dead letters have no limit",
        "worker/runtime/limits.py",
        "if self._in_a_row > self._most:",
        "if self._in_a_row > 1_000_000:",
        ("tests/worker/runtime/test_limits.py::test_so_many_faults_in_a_row_are_allowed_and_one_more_is_not",),
    ),
    Mutation(
        "a record's own fault counts towards the limit",
        "worker/indexing/record_outcomes.py",
        "if rejection.kind in (UNDECODABLE, UNKNOWN_SCHEMA):",
        "if rejection.kind:",
        ("tests/worker/indexing/test_prepare.py::test_what_no_setting_causes_never_stops_the_service",),
    ),
    Mutation(
        "only the text is redacted",
        "worker/indexing/pieces.py",
        "text, service = redactor.redact_column(text), _redact_labels(service, redactor)",
        "text = redactor.redact_column(text)",
        ("tests/worker/indexing/test_masks_and_rules.py",),
    ),
    Mutation(
        "a record of any size is decoded",
        "consumers/decode/decoder.py",
        "most_bytes = self._rules.max_record_bytes\n",
        "most_bytes = 1 << 40\n",
        ("tests/worker/indexing/test_prepare.py::test_a_record_above_the_limit_is_one_dead_letter_and_its_neighbours_are_stored",),
    ),
    Mutation(
        "small entries do not count towards the bytes",
        "worker/indexing/line_memory.py",
        "    held += LINE_BYTES\n",
        "",
        ("tests/worker/indexing/test_line_memory.py::test_as_much_is_counted_as_is_held",),
    ),
    Mutation(
        "a long text is chunked completely before it is refused",
        "consumers/text/split_long.py",
        "            if len(done) > self._max_chunks:\n                return []\n",
        "",
        ("tests/consumers/text/test_chunk.py::test_a_text_of_five_megabytes_is_left_as_soon_as_there_are_too_many_chunks",),
    ),
    Mutation(
        "an old answer about a topic's id is used after a new assignment",
        "consumers/kafka/epochs.py",
        "answer.asked_s < max(self._valid_since_s[partition], arrived_s - FRESH_S)",
        "False",
        (
            "tests/consumers/kafka/test_epochs.py::test_what_comes_soon_after_a_question_has_its_epoch_and_what_comes_later_waits_for_another",
        ),
    ),
    Mutation(
        "records polled before a rebalance in the same fetch are delivered",
        "consumers/kafka/intake.py",
        "return partition in self.assigned and not is_elsewhere",
        "return not is_elsewhere",
        ("tests/consumers/kafka/test_source_world.py::test_what_was_polled_before_a_rebalance_inside_the_same_fetch_is_not_delivered",),
    ),
    Mutation(
        "the client continues after a damaged batch",
        "consumers/kafka/intake.py",
        "if name in _DAMAGED:",
        'if name == "never":',
        ("tests/consumers/kafka/test_source_damaged.py",),
    ),
    Mutation(
        "expired records are skipped silently",
        "consumers/kafka/resume_point.py",
        'if expired == "stop":',
        'if expired == "never":',
        ("tests/consumers/kafka/test_offset_reset.py",),
    ),
    Mutation(
        "a drain that lost a partition before its last commit was accepted reports success",
        "worker/shutdown.py",
        " or any(poller.given_up for poller in pollers)",
        "",
        ("tests/worker/test_shutdown.py::test_where_a_partition_was_given_up_it_is_not_called_drained",),
    ),
    Mutation(
        "a start whose position the broker does not say waits for ever",
        "consumers/kafka/intake.py",
        "                self._start_again(now_s)\n",
        "                pass\n",
        ("tests/consumers/kafka/test_intake.py::test_partitions_that_wait_for_the_groups_position_in_vain_are_assigned_again",),
    ),
    Mutation(
        "a query that nobody waits for is searched for to its end",
        "worker/querying/form_answers.py",
        "self._clock() >= stop_s or ready.requester.is_gone()",
        "self._clock() >= stop_s",
        ("tests/worker/querying/test_answer.py::test_a_query_that_nobody_waits_for_is_not_searched_for",),
    ),
    Mutation(
        "a client that hangs up makes room at once for another query",
        "worker/http/pending_queries.py",
        "            pending.leave()\n",
        "            pending.leave()\n            self._close(pending)\n",
        ("tests/worker/http/test_search.py::test_a_client_that_hangs_up_disturbs_nobody",),
    ),
    Mutation(
        "templates that are excluded take places among the nearest",
        "worker/querying/dense.py",
        "found = [hit for hit in near if hit.template not in unwanted]",
        "found = near",
        ("tests/worker/querying/test_exclusions.py::test_the_nearest_templates_but_some_are_those_of_brute_force",),
    ),
    Mutation(
        "lines of excluded templates are shown",
        "sinks/reading/filters.py",
        "    if only.not_templates:\n",
        "    if False:\n",
        ("tests/worker/querying/test_exclusions.py::test_no_answer_of_any_form_has_what_is_excluded",),
    ),
)
