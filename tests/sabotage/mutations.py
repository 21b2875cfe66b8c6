"""The mutations: each changes one place, and names the tests that must fail because of it.

Each is a known bug of similar programs, or a plausible one here. `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.block_mutations import BLOCK_MUTATIONS
from tests.sabotage.mutation import Mutation

_LEDGER = "consumers/ledger.py"
_ARRIVAL = "consumers/arrival.py"
_POLLER = "consumers/poller.py"
_FLIGHTS = "worker/indexing/flights.py"
_PREPARE = "worker/indexing/prepare.py"
_WRITING = "sinks/milvus/writing.py"
_FRAME = "worker/embedding/cache/frame.py"

MUTATIONS = (
    *BLOCK_MUTATIONS,
    Mutation(
        "one ledger across assignments",
        _LEDGER,
        "self._owned[partition] = PartitionLedger(self._outcomes.of(partition.topic))",
        'self._owned[partition] = vars(self).setdefault("kept", {}).setdefault(partition, PartitionLedger(Counter()))',
        (
            "tests/consumers/test_ledger.py::test_late_settle_after_reassignment_does_not_move_the_new_assignment",
            "tests/consumers/test_poller.py::test_late_settle_does_not_rewind_what_the_next_owner_has_committed",
        ),
    ),
    Mutation(
        "consecutive offsets: the position is counted through gaps",
        _ARRIVAL,
        "self.next_offset = self.open.popleft().offset + 1",
        "self.next_offset = (self.open.popleft().offset if self.next_offset is None else self.next_offset) + 1",
        ("tests/consumers/test_poller.py::test_gaps_between_offsets_do_not_stop_commits",),
    ),
    Mutation(
        "the commit follows the last settled record, not the settled prefix",
        _ARRIVAL,
        "        popped = 0\n",
        "        popped = 0\n        self.next_offset = slot.offset + 1\n",
        ("tests/consumers/test_poller.py::test_only_the_settled_prefix_is_committed",),
    ),
    Mutation(
        "missing expect: a line of several chunks settles with its first chunk",
        _PREPARE,
        "receipt.expect(max(expected, 1), decoded_bytes=held)",
        "receipt.expect(1, decoded_bytes=held)",
        ("tests/worker/indexing/test_prepare.py::test_a_long_line_becomes_chunks_and_settles_with_the_last_of_them",),
    ),
    Mutation(
        "commit without ownership: a revoked partition stays in the ledger",
        _LEDGER,
        "ledger = self._owned.pop(partition, None)",
        "ledger = self._owned.get(partition)",
        ("tests/consumers/test_poller.py::test_late_settle_after_revoke_commits_nothing",),
    ),
    Mutation(
        "a lost partition is committed",
        _POLLER,
        '        """Let go without a commit (Rebalance)."""\n',
        "        self._commit()\n",
        ("tests/consumers/test_poller.py::test_a_lost_partition_is_not_committed",),
    ),
    Mutation(
        "held records survive the revocation of their partition",
        _POLLER,
        "if (record.topic, record.partition) not in gone)",
        "if gone is not None)",
        ("tests/consumers/test_poller.py::test_held_records_of_a_revoked_partition_are_dropped_and_the_others_stay_in_order",),
    ),
    Mutation(
        "commits continue after a crash",
        _POLLER,
        '        """After a crash: from now on nothing is committed, whatever settles."""\n        self._may_commit = False',
        '        """Forbid nothing."""',
        (
            "tests/consumers/test_poller.py::test_after_forbid_commits_nothing_is_committed_whatever_settles",
            "tests/worker/test_service.py::test_after_a_crash_nothing_more_is_committed",
        ),
    ),
    Mutation(
        "a refused commit counts as accepted",
        _POLLER,
        'self._say(f"commit of {partition.topic}/{partition.partition} was refused ({reason}); trying again")',
        "self._ledger.mark_committed(partition, next_offset)",
        ("tests/consumers/test_poller.py::test_a_refused_commit_is_said_and_tried_again_and_the_others_are_not",),
    ),
    Mutation(
        "the cap is ignored",
        _LEDGER,
        "if full and (self.open_records or self.open_bytes):",
        "if full and self.open_records < 0:",
        ("tests/consumers/test_poller.py::test_at_the_cap_it_pauses_and_keeps_polling",),
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
        "a member sends dead letters for a lost partition",
        _LEDGER,
        "        if self._partition.alive:\n",
        "        if self._partition:\n",
        ("tests/consumers/test_ledger.py::test_a_reject_in_a_dead_assignment_sends_no_letter",),
    ),
    Mutation(
        "waiting lines are dropped when a flight fails",
        _FLIGHTS,
        "            return parked\n",
        "            return parked[:1]\n",
        ("tests/worker/indexing/test_flights.py::test_a_failed_flight_gives_back_its_lines_and_remembers_why",),
    ),
    Mutation(
        "waiting lines are dropped when a flight completes",
        _FLIGHTS,
        "freed += parked",
        "freed += parked[:1]",
        ("tests/worker/indexing/test_flights.py::test_the_first_of_a_template_begins_its_flight_and_the_others_wait_in_it",),
    ),
    Mutation(
        "a template is known before its row is acknowledged",
        _FLIGHTS,
        "self._parked[template] = [chunk]",
        "self._parked[template] = [chunk]\n            self._known.add_template(template, 1, self._clock())",
        (
            "tests/worker/indexing/test_flights.py::test_the_first_of_a_template_begins_its_flight_and_the_others_wait_in_it",
            "tests/worker/indexing/test_store.py::test_a_template_that_was_not_acknowledged_makes_no_line_known",
        ),
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
        "and crc32(value, crc32(key)) == _INTACT and",
        "and crc32(value, crc32(key)) >= 0 and",
        ("tests/properties/test_cache_frames.py::test_flipped_bits_are_no_vector",),
    ),
    Mutation(
        "a frame from Redis is valid under any key",
        _FRAME,
        "frames.append(front + zlib.crc32(front, zlib.crc32(key))",
        'frames.append(front + zlib.crc32(front, zlib.crc32(b""))',
        ("tests/properties/test_cache_frames.py::test_what_comes_back_is_what_was_put_and_of_length_one",),
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
        _PREPARE,
        "if decoded.kind == UNDECODABLE:",
        "if decoded.kind:",
        ("tests/worker/indexing/test_prepare.py::test_what_no_setting_causes_never_stops_the_service",),
    ),
    Mutation(
        "only the text is redacted",
        "worker/indexing/pieces.py",
        "else entry._replace(text=text, service=service)",
        "else entry._replace(text=text)",
        ("tests/worker/indexing/test_masks_and_rules.py",),
    ),
    Mutation(
        "a record of any size is decoded",
        "consumers/decode/decoder.py",
        "if len(record.value) > self._max_record_bytes:",
        "if len(record.value) > 1 << 40:",
        ("tests/worker/indexing/test_prepare.py::test_a_record_above_the_limit_is_one_dead_letter_and_its_neighbours_are_stored",),
    ),
    Mutation(
        "small entries do not count towards the bytes",
        "worker/indexing/pieces.py",
        "held += CHUNK_BYTES + _NUMBER_BYTES * dim + getsizeof(piece.masked)",
        "held += len(chunk.masked)",
        ("tests/worker/indexing/test_prepare.py::test_as_much_is_counted_as_is_held",),
    ),
    Mutation(
        "a long text is chunked completely before it is refused",
        "consumers/text/chunk.py",
        "                if len(done) > self._max_chunks:\n                    return []\n        return done",
        "                pass\n        return done if len(done) <= self._max_chunks else []",
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
        " or partition not in self.assigned or not self._counts(partition)",
        " or not self._counts(partition)",
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
        "a partition lost during a drain is forgotten with its uncommitted records",
        _POLLER,
        "if partition in is_open or partition in due]",
        "if partition in is_open]",
        (
            "tests/consumers/test_poller_commits.py::test_a_partition_that_is_lost_during_a_drain_before_its_commit_was_accepted_is_given_up",
        ),
    ),
)
