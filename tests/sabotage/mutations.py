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
from tests.sabotage.mutation import Changes, mutations_of
from tests.sabotage.native_mutations import NATIVE_MUTATIONS
from tests.sabotage.observability_mutations import OBSERVABILITY_MUTATIONS
from tests.sabotage.page_mutations import PAGE_MUTATIONS
from tests.sabotage.reading_mutations import READING_MUTATIONS
from tests.sabotage.record_mutations import RECORD_MUTATIONS
from tests.sabotage.settings_mutations import SETTINGS_MUTATIONS
from tests.sabotage.small_mutations import SMALL_MUTATIONS
from tests.sabotage.stranger_mutations import STRANGER_MUTATIONS

_OWN: Changes = {
    "worker/indexing/prepare.py: missing expect: a line of several chunks settles with its first chunk": (
        "assignment.expect(group.arrival[rows], np.maximum(pieces[rows], 1), held[rows])",
        "assignment.expect(group.arrival[rows], np.minimum(pieces[rows], 1), held[rows])",
        "worker/indexing/test_prepare.py::a_long_line_becomes_chunks_and_settles_with_the_last_of_them",
    ),
    "producers/dead_letters.py: a dead letter settles before its delivery": (
        "self._unsent.append(_OpenLetter(letter, envelope(letter, version=self._version, max_bytes=self._max_bytes), delivered))",
        (
            "self._unsent.append(_OpenLetter(letter, envelope(letter, version=self._version, max_bytes=self._max_bytes), lambda: None))\n"
            "        delivered()"
        ),
        "producers/test_dead_letters.py::nothing_is_delivered_without_a_broker_and_that_is_said_once",
    ),
    "sinks/milvus/lite_server.py: the process that serves a local folder outlives its worker": (
        "if os.getppid() != starter or (ready and not os.read(0, 64)):\n            os._exit(1)",
        "if os.getppid() != starter or (ready and not os.read(0, 64)):\n            time.sleep(1)\n            continue",
        "sinks/test_lite.py::the_process_that_serves_a_folder_ends_with_the_one_that_opened_it",
    ),
    "worker/indexing/flights.py: waiting lines are dropped when a flight fails": (
        "return [parked.release([place]) for parked, place in flight]",
        "return [parked.release([place]) for parked, place in flight[:1]]",
        "worker/indexing/test_flights.py::a_failed_flight_gives_back_its_lines_and_remembers_why",
    ),
    "worker/indexing/flights.py: waiting lines are dropped when a flight completes": (
        "                for parked, place in flight:\n",
        "                for parked, place in flight[:1]:\n",
        "worker/indexing/test_flights.py::the_first_of_a_template_begins_its_flight_and_the_others_wait_in_it",
    ),
    "worker/indexing/flights.py: a line that waits for its template is a slice of its batch": (
        "self._park(batch.take(waiting), joined.mine)",
        "self._park(batch if len(waiting) == batch.size else batch.take(waiting), joined.mine)",
        "worker/indexing/test_flights.py::what_waits_holds_no_memory_of_its_batch",
    ),
    "worker/indexing/parked.py: lines that wait are numbered as if all before them had stayed": (
        "            self._codes = (np.cumsum(used) - 1)[self._codes]  # as `take` numbers those values that are left\n",
        "",
        "worker/indexing/test_flights.py",
        "properties/test_flights.py",
    ),
    "worker/indexing/flights.py: a template is known before its row is acknowledged": (
        "                mine.append((ids[place], texts[place]))\n",
        "                mine.append((ids[place], texts[place]))\n                self._known.add_template(ids[place], 1, self._clock())\n",
        "worker/indexing/test_flights.py::the_first_of_a_template_begins_its_flight_and_the_others_wait_in_it",
        "worker/indexing/test_store.py::a_template_that_was_not_acknowledged_makes_no_line_known",
    ),
    "worker/indexing/prepare.py: a line settles the record at its own place in the batch": (
        "LineBatch(own.assignment, group.arrival[row[first:end]],",
        "LineBatch(own.assignment, group.arrival[first:end],",
        "worker/indexing/test_prepare.py",
        "worker/indexing/test_steps_together.py",
    ),
    "worker/indexing/prepare.py: lines that an earlier run has stored are settled and written again": (
        "left = np.flatnonzero(~stored)",
        "left = np.arange(len(stored))",
        "worker/indexing/test_restart.py",
    ),
    "worker/indexing/prepare.py: records of a partition that is gone are worked": (
        "if not own.assignment.alive]",
        "if own.assignment is None]",
        "worker/indexing/test_prepare.py::records_of_a_dead_generation_are_dropped_unread",
    ),
    "worker/indexing/prepare.py: a cache hit skips the template's row": (
        'elif found.source == "index" and not rewrite_found:',
        "elif not rewrite_found:",
        "worker/indexing/test_prepare.py::a_cached_vector_goes_to_the_sink_as_a_template",
    ),
    "sinks/milvus/writing.py: a non-finite vector is stored": (
        "if not np.isfinite(vector).all():",
        "if vector.ndim > 1:",
        "contracts/test_sink.py::a_vector_of_another_dimension_or_not_finite_is_our_fault",
    ),
    "sinks/milvus/faults.py: a failed write to a local folder is retried": (
        "    if local:\n",
        "    if local and not fault.reason:\n",
        "sinks/test_faults.py::a_local_write_that_fails_is_final",
    ),
    "worker/embedding/cache/frame.py: a frame from Redis is not checked": (
        "return hmac.compare_digest(self._hash(key, value[:-_HASH_BYTES]), value[-_HASH_BYTES:])",
        "return True",
        "properties/test_cache_frames.py::flipped_bits_are_no_vector",
    ),
    "worker/embedding/cache/frame.py: a frame from Redis is valid under any key": (
        "return hashlib.blake2b(key + front,",
        "return hashlib.blake2b(front,",
        "properties/test_cache_frames.py::swapped_frames_are_no_vectors",
    ),
    "worker/embedding/guarded_engine.py: a text is blamed while the engine is broken": (
        "        self.check_engine()\n        return [EmbeddingFailed(reason)]",
        "        return [EmbeddingFailed(reason)]",
        "worker/embedding/test_guarded_engine.py::nobody_is_blamed_while_the_golden_texts_fail_too",
    ),
    "worker/runtime/limits.py: dead letters have no limit": (
        "if self._in_a_row > self._most:",
        "if self._in_a_row > 1_000_000:",
        "worker/runtime/test_limits.py::so_many_faults_in_a_row_are_allowed_and_one_more_is_not",
    ),
    "worker/indexing/record_outcomes.py: a record's own fault counts towards the limit": (
        "if rejection.kind in (UNDECODABLE, UNKNOWN_SCHEMA):",
        "if rejection.kind:",
        "worker/indexing/test_prepare.py::what_no_setting_causes_never_stops_the_service",
    ),
    "worker/indexing/pieces.py: only the text is redacted": (
        "text, service = redactor.redact_column(text), _redact_labels(service, redactor)",
        "text = redactor.redact_column(text)",
        "worker/indexing/test_masks_and_rules.py",
    ),
    "consumers/decode/decoder.py: a record of any size is decoded": (
        "most_bytes = self._rules.max_record_bytes\n",
        "most_bytes = 1 << 40\n",
        "worker/indexing/test_prepare.py::a_record_above_the_limit_is_one_dead_letter_and_its_neighbours_are_stored",
    ),
    "worker/indexing/line_memory.py: small entries do not count towards the bytes": (
        "    held += LINE_BYTES\n",
        "",
        "worker/indexing/test_line_memory.py::as_much_is_counted_as_is_held",
    ),
    "consumers/text/split_long.py: a long text is chunked completely before it is refused": (
        "            if len(done) > self._max_chunks:\n                return []\n",
        "",
        "consumers/text/test_chunk.py::a_text_of_five_megabytes_is_left_as_soon_as_there_are_too_many_chunks",
    ),
    "consumers/kafka/epochs.py: an old answer about a topic's id is used after a new assignment": (
        "answer.asked_s < max(self._valid_since_s[partition], arrived_s - FRESH_S)",
        "False",
        "consumers/kafka/test_epochs.py::what_comes_soon_after_a_question_has_its_epoch_and_what_comes_later_waits_for_another",
    ),
    "consumers/kafka/intake.py: records polled before a rebalance in the same fetch are delivered": (
        "return partition in self.assigned and not is_elsewhere",
        "return not is_elsewhere",
        "consumers/kafka/test_source_world.py::what_was_polled_before_a_rebalance_inside_the_same_fetch_is_not_delivered",
    ),
    "consumers/kafka/intake.py: the client continues after a damaged batch": (
        "if name in _DAMAGED:",
        'if name == "never":',
        "consumers/kafka/test_source_damaged.py",
    ),
    "consumers/kafka/resume_point.py: expired records are skipped silently": (
        'if expired == "stop":',
        'if expired == "never":',
        "consumers/kafka/test_offset_reset.py",
    ),
    "worker/shutdown.py: a drain that lost a partition before its last commit was accepted reports success": (
        " or any(poller.given_up for poller in pollers)",
        "",
        "worker/test_shutdown.py::where_a_partition_was_given_up_it_is_not_called_drained",
    ),
    "consumers/kafka/intake.py: a start whose position the broker does not say waits for ever": (
        "                self._start_again(now_s)\n",
        "                pass\n",
        "consumers/kafka/test_intake.py::partitions_that_wait_for_the_groups_position_in_vain_are_assigned_again",
    ),
    "worker/querying/form_answers.py: a query that nobody waits for is searched for to its end": (
        "self._clock() >= stop_s or ready.requester.is_gone()",
        "self._clock() >= stop_s",
        "worker/querying/test_answer.py::a_query_that_nobody_waits_for_is_not_searched_for",
    ),
    "worker/http/pending_queries.py: a client that hangs up makes room at once for another query": (
        "            pending.leave()\n",
        "            pending.leave()\n            self._close(pending)\n",
        "worker/http/test_search.py::a_client_that_hangs_up_disturbs_nobody",
    ),
    "worker/querying/dense.py: templates that are excluded take places among the nearest": (
        "found = [hit for hit in near if hit.template not in unwanted]",
        "found = near",
        "worker/querying/test_exclusions.py::the_nearest_templates_but_some_are_those_of_brute_force",
    ),
    "sinks/reading/filters.py: lines of excluded templates are shown": (
        "    if only.not_templates:\n",
        "    if False:\n",
        "worker/querying/test_exclusions.py::no_answer_of_any_form_has_what_is_excluded",
    ),
}
MUTATIONS = mutations_of(
    LEDGER_MUTATIONS,
    BEGIN_AGAIN_MUTATIONS,
    LETTER_MUTATIONS,
    BLOCK_MUTATIONS,
    CLOCK_MUTATIONS,
    FORM_MUTATIONS,
    READING_MUTATIONS,
    RECORD_MUTATIONS,
    NATIVE_MUTATIONS,
    COMPILED_MUTATIONS,
    LITE_MUTATIONS,
    STRANGER_MUTATIONS,
    SMALL_MUTATIONS,
    ESTIMATE_MUTATIONS,
    GROUPS_MUTATIONS,
    SETTINGS_MUTATIONS,
    OBSERVABILITY_MUTATIONS,
    AUDIT_MUTATIONS,
    CLI_MUTATIONS,
    MODEL_MUTATIONS,
    ENGINE_MUTATIONS,
    EMBEDDING_MUTATIONS,
    DEPLOY_MUTATIONS,
    HTTP_MUTATIONS,
    PAGE_MUTATIONS,
    _OWN,
)
