"""The mutations of blocks: how they are numbered, written, merged, deleted, read back and read.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_STORE = "worker/indexing/store.py"
_BLOCK_WRITER = "worker/indexing/block_writer.py"
_RUNS = "worker/indexing/runs.py"
_RESUME = "worker/indexing/resume.py"
_UPKEEP = "worker/indexing/upkeep.py"
_VERSIONS = "sinks/reading/versions.py"
_UNION = "sinks/reading/union.py"
_COUNTING = "sinks/reading/counting.py"
_WRITING = "sinks/milvus/writing.py"

BLOCK_MUTATIONS = (
    Mutation(
        "settle before the block is acknowledged",
        _BLOCK_WRITER,
        "            try:\n                self._send(blocks, was_sent=was_sent)",
        "            try:\n                self._settle(blocks)\n                self._send(blocks, was_sent=was_sent)",
        ("tests/worker/indexing/test_store.py::test_nothing_settles_before_the_template_and_the_block_are_acknowledged",),
    ),
    Mutation(
        "a block settles one line of a record, however many of its lines it holds",
        _BLOCK_WRITER,
        "one.run.assignment.settle(one.arrival)",
        "one.run.assignment.settle(np.unique(one.arrival))",
        ("tests/worker/indexing/test_store_refusals.py", "tests/worker/indexing/test_prepare.py"),
    ),
    Mutation(
        "a busy sink counts as stored",
        _BLOCK_WRITER,
        "                if self._pause(self.retry.pause_s(attempt)):\n                    raise Abandoned from error",
        "                del error\n                return",
        ("tests/worker/indexing/test_store.py::test_while_the_sink_is_busy_rows_are_held_and_tried_again",),
    ),
    Mutation(
        "a refused block rejects all of its lines",
        _BLOCK_WRITER,
        "elif halves := self._split(blocks[0]):",
        "elif halves := list[Sealed]():",
        ("tests/worker/indexing/test_store_refusals.py::test_only_lines_that_the_sink_refuses_alone_become_dead_letters",),
    ),
    Mutation(
        "refused lines have no limit",
        _BLOCK_WRITER,
        "self._refused.fault(str(error))",
        "self._refused.good()",
        ("tests/worker/indexing/test_store_refusals.py::test_one_refused_line_too_many_in_a_row_stops_and_blames_nobody_of_its_call",),
    ),
    Mutation(
        "a stored template resets the count of refused lines",
        _STORE,
        'refused=FaultLimit("lines that the sink refuses", most=most_refused),',
        "refused=self._refused_templates,",
        (
            "tests/worker/indexing/test_store_refusals.py::test_a_line_that_is_stored_begins_the_count_of_refused_ones_anew_and_a_template_does_not",
        ),
    ),
    Mutation(
        "a block that is refused is split under the same run",
        _BLOCK_WRITER,
        "        self._runs.renew(refused.run)\n",
        "",
        ("tests/worker/indexing/test_store_refusals.py::test_lines_of_a_refused_block_go_on_under_another_run",),
    ),
    Mutation(
        "a block is rewritten in place: its number is used twice",
        _RUNS,
        "self._next_number += len(built)",
        "self._next_number += 0",
        (
            "tests/worker/indexing/test_closing.py::test_a_full_block_does_not_wait",
            "tests/properties/test_blocks_machine.py",
        ),
    ),
    Mutation(
        "the epoch is missing from a block's place",
        _RESUME,
        "place = BlockPlace(records.topic, records.epoch, records.partition)",
        'place = BlockPlace(records.topic, "", records.partition)',
        ("tests/worker/indexing/test_store.py::test_lines_say_where_they_came_from",),
    ),
    Mutation(
        "the entry's number is missing from a line",
        "worker/indexing/pieces.py",
        "sub=entries.sub[cut.row],",
        "sub=np.zeros(len(cut.row), np.int32),",
        ("tests/worker/indexing/test_store_refusals.py::test_a_refused_entry_makes_a_dead_letter_of_that_entry_only",),
    ),
    Mutation(
        "a run begins below one that was seen",
        _RESUME,
        'seen = max((block.run for block in heads.ids), default="")',
        'seen = min((block.run for block in heads.ids), default="")',
        (
            "tests/worker/indexing/test_resume.py::test_the_run_of_an_assignment_begins_before_its_records_go_on_and_above_every_run_that_was_seen",
        ),
    ),
    Mutation(
        "resume by id: what is stored counts whatever it says",
        "worker/indexing/stored_entries.py",
        "held[held] = hash_entries(asked, self._is_thin[places[held]]).hashed == self._hashes[places[held]]",
        "held[held] = hash_entries(asked, self._is_thin[places[held]]).hashed >= 0",
        ("tests/worker/indexing/test_stored_entries.py::test_an_entry_that_differs_in_anything_is_not_held",),
    ),
    Mutation(
        "resume passes over lines whose template's row is gone",
        "worker/indexing/stored_entries.py",
        "(text in template_texts for text in lines.template.values)",
        "(text in lines.template.values for text in lines.template.values)",
        ("tests/worker/indexing/test_stored_entries.py::test_an_entry_without_the_row_of_one_of_its_templates_is_not_held",),
    ),
    Mutation(
        "a number is skipped in a merge",
        "worker/indexing/merging.py",
        "if one.id.first == last + 1:",
        "if stretches:",
        ("tests/worker/indexing/test_merging.py::test_over_a_missing_number_nothing_is_merged",),
    ),
    Mutation(
        "blocks are deleted before the merged one is acknowledged",
        "worker/indexing/compaction.py",
        '        self._fail_point("before_merged")\n',
        '        self._fail_point("before_merged")\n'
        "        for one in blocks:\n"
        "            self._sink.delete_blocks([one.id._replace(first=n, last=n) for n in range(one.id.first, one.id.last + 1)])\n",
        (
            "tests/worker/indexing/test_upkeep.py",
            "tests/properties/test_blocks_machine.py",
        ),
    ),
    Mutation(
        "inner blocks are deleted at once",
        "worker/indexing/compaction.py",
        "GRACE_S = 20.0",
        "GRACE_S = 0.0",
        ("tests/worker/indexing/test_upkeep.py",),
    ),
    Mutation(
        "a block is deleted because another run has its numbers",
        "worker/indexing/compaction.py",
        "outer_of = _outer_blocks([one.id for one in run])",
        "outer_of = {one: other for one in heads.ids for other in heads.ids if one.run < other.run and one.last <= other.last}",
        ("tests/worker/indexing/test_compaction.py::test_a_block_whose_lines_another_run_has_under_wider_numbers_stays",),
    ),
    Mutation(
        "blocks of two runs are merged with each other",
        "worker/indexing/compaction.py",
        "runs[one.run].append(Source(one, size, written_ms))",
        'runs[""].append(Source(one, size, written_ms))',
        ("tests/worker/indexing/test_compaction.py::test_blocks_of_two_runs_are_never_merged_with_each_other",),
    ),
    Mutation(
        "two blocks of one run with the same lines are both counted",
        _UNION,
        "            _mark_numbers(heads, blocks, of, shared)\n",
        "            del blocks\n",
        ("tests/sinks/reading/test_union.py::test_blocks_of_one_run_share_only_where_their_numbers_intersect",),
    ),
    Mutation(
        "counts of overlapping runs are added up",
        _COUNTING,
        "self._shared = sharing_blocks(heads)",
        "self._shared = np.zeros(heads.size, np.bool_)",
        ("tests/sinks/reading/test_counting.py::test_overlapping_runs_are_never_added_up",),
    ),
    Mutation(
        "a listed block that is gone is passed over",
        "sinks/reading/snapshot.py",
        "        if len(stored) < len(ids):\n            raise BeginAnew\n",
        "",
        ("tests/sinks/reading/test_snapshot.py::test_a_listed_block_that_is_gone_begins_the_read_anew",),
    ),
    Mutation(
        "copies combine by piece, whatever text they are of",
        _VERSIONS,
        "is_shape = is_entry | _changes(chunks, cut)",
        "is_shape = is_entry",
        ("tests/sinks/reading/test_union.py::test_pieces_of_other_cuts_never_combine",),
    ),
    Mutation(
        "of whole copies that of the first run holds",
        _VERSIONS,
        "np.lexsort((-run, chunk, cut, chunks, sub, last_leader, leader, entries, records, offset, place))",
        "np.lexsort((run, chunk, cut, chunks, sub, last_leader, leader, entries, records, offset, place))",
        ("tests/sinks/reading/test_union.py::test_of_two_copies_that_of_the_later_run_holds",),
    ),
    Mutation(
        "a line with more words than fit is refused",
        "sinks/build.py",
        "        words = np.concatenate([np.array([ANY_WORD], np.int32), words[: bounds.words - 1]])",
        '        raise ValueError("too many words")',
        ("tests/sinks/test_build.py::test_one_line_alone_with_more_words_than_fit_may_hold_any",),
    ),
    Mutation(
        "a block is closed early although lines are on their way",
        _STORE,
        "return is_idle and are_all and len(waiting) <= _FEW_RUNS",
        "return is_idle and len(waiting) <= _FEW_RUNS",
        ("tests/worker/indexing/test_closing.py::test_lines_wait_for_no_others_when_none_are_on_their_way",),
    ),
    Mutation(
        "a short count passes as an acknowledgement",
        _WRITING,
        "if counted != rows:",
        "if counted > rows:",
        ("tests/sinks/test_writing.py::test_a_short_count_is_no_acknowledgement",),
    ),
    Mutation(
        "an id occurs twice in a batch",
        _WRITING,
        "last = list({row.template: row for row in rows}.values())",
        "last = list(rows)",
        ("tests/sinks/test_writing.py::test_an_id_stands_once_in_all_batches_together",),
    ),
)
