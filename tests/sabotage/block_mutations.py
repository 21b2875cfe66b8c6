"""The mutations of blocks: how they are numbered, written, merged, deleted, read back and read.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

BLOCK_MUTATIONS: Changes = {
    "worker/indexing/block_writer.py: settle before the block is acknowledged": (
        "            try:\n                self._send(blocks, was_sent=was_sent)",
        "            try:\n                self._settle(blocks)\n                self._send(blocks, was_sent=was_sent)",
        "worker/indexing/test_store.py::nothing_settles_before_the_template_and_the_block_are_acknowledged",
    ),
    "worker/indexing/block_writer.py: a block settles one line of a record, however many of its lines it holds": (
        "one.run.assignment.settle(one.arrival)",
        "one.run.assignment.settle(np.unique(one.arrival))",
        "worker/indexing/test_store_refusals.py",
        "worker/indexing/test_prepare.py",
    ),
    "worker/indexing/block_writer.py: a busy sink counts as stored": (
        "                if self._pause(self.retry.pause_s(attempt)):\n                    raise Abandoned from error",
        "                del error\n                return",
        "worker/indexing/test_store.py::while_the_sink_is_busy_rows_are_held_and_tried_again",
    ),
    "worker/indexing/block_writer.py: a refused block rejects all of its lines": (
        "elif halves := self._split(blocks[0]):",
        "elif halves := list[Sealed]():",
        "worker/indexing/test_store_refusals.py::only_lines_that_the_sink_refuses_alone_become_dead_letters",
    ),
    "worker/indexing/block_writer.py: refused lines have no limit": (
        "self._refused.fault(str(error))",
        "self._refused.good()",
        "worker/indexing/test_store_refusals.py::one_refused_line_too_many_in_a_row_stops_and_blames_nobody_of_its_call",
    ),
    "worker/indexing/store.py: a stored template resets the count of refused lines": (
        'refused=FaultLimit("lines that the sink refuses", most=most_refused),',
        "refused=self._refused_templates,",
        "worker/indexing/test_store_refusals.py::a_line_that_is_stored_begins_the_count_of_refused_ones_anew_and_a_template_does_not",
    ),
    "worker/indexing/block_writer.py: a block that is refused is split under the same run": (
        "        self._runs.renew(refused.run)\n",
        "",
        "worker/indexing/test_store_refusals.py::lines_of_a_refused_block_go_on_under_another_run",
    ),
    "worker/indexing/runs.py: a block is rewritten in place: its number is used twice": (
        "self._next_number += len(built)",
        "self._next_number += 0",
        "worker/indexing/test_closing.py::a_full_block_does_not_wait",
        "properties/test_blocks_machine.py",
    ),
    "worker/indexing/resume.py: the epoch is missing from a block's place": (
        "place = BlockPlace(records.topic, records.epoch, records.partition)",
        'place = BlockPlace(records.topic, "", records.partition)',
        "worker/indexing/test_store.py::lines_say_where_they_came_from",
    ),
    "worker/indexing/pieces.py: the entry's number is missing from a line": (
        "sub=entries.sub[cut.row],",
        "sub=np.zeros(len(cut.row), np.int32),",
        "worker/indexing/test_store_refusals.py::a_refused_entry_makes_a_dead_letter_of_that_entry_only",
    ),
    "worker/indexing/resume.py: a run begins below one that was seen": (
        'seen = max((block.run for block in heads.ids), default="")',
        'seen = min((block.run for block in heads.ids), default="")',
        "worker/indexing/test_resume.py::the_run_of_an_assignment_begins_before_its_records_go_on_and_above_every_run_that_was_seen",
    ),
    "worker/indexing/stored_entries.py: resume by id: what is stored counts whatever it says": (
        "held[held] = hash_entries(asked, self._is_thin[places[held]]).hashed == self._hashes[places[held]]",
        "held[held] = hash_entries(asked, self._is_thin[places[held]]).hashed >= 0",
        "worker/indexing/test_stored_entries.py::an_entry_that_differs_in_anything_is_not_held",
    ),
    "worker/indexing/stored_entries.py: resume passes over lines whose template's row is gone": (
        "(text in template_texts for text in lines.template.values)",
        "(text in lines.template.values for text in lines.template.values)",
        "worker/indexing/test_stored_entries.py::an_entry_without_the_row_of_one_of_its_templates_is_not_held",
    ),
    "worker/indexing/merging.py: a number is skipped in a merge": (
        "if one.id.first == last + 1:",
        "if stretches:",
        "worker/indexing/test_merging.py::over_a_missing_number_nothing_is_merged",
    ),
    "worker/indexing/compaction.py: blocks are deleted before the merged one is acknowledged": (
        '        self._fail_point("before_merged")\n',
        (
            '        self._fail_point("before_merged")\n'
            "        for one in blocks:\n"
            "            self._sink.delete_blocks([one.id._replace(first=n, last=n) for n in range(one.id.first, one.id.last + 1)])\n"
        ),
        "worker/indexing/test_upkeep.py",
        "properties/test_blocks_machine.py",
    ),
    "worker/indexing/compaction.py: inner blocks are deleted at once": (
        "GRACE_S = 20.0",
        "GRACE_S = 0.0",
        "worker/indexing/test_upkeep.py",
    ),
    "worker/indexing/compaction.py: a block is deleted because another run has its numbers": (
        "outer_of = _outer_blocks([one.id for one in run])",
        "outer_of = {one: other for one in heads.ids for other in heads.ids if one.run < other.run and one.last <= other.last}",
        "worker/indexing/test_compaction.py::a_block_whose_lines_another_run_has_under_wider_numbers_stays",
    ),
    "worker/indexing/compaction.py: blocks of two runs are merged with each other": (
        "runs[one.run].append(Source(one, size, written_ms))",
        'runs[""].append(Source(one, size, written_ms))',
        "worker/indexing/test_compaction.py::blocks_of_two_runs_are_never_merged_with_each_other",
    ),
    "sinks/reading/union.py: two blocks of one run with the same lines are both counted": (
        "            _mark_numbers(heads, blocks, of, shared)\n",
        "            del blocks\n",
        "sinks/reading/test_union.py::blocks_of_one_run_share_only_where_their_numbers_intersect",
    ),
    "sinks/reading/counting.py: counts of overlapping runs are added up": (
        "self._shared = sharing_blocks(heads)",
        "self._shared = np.zeros(heads.size, np.bool_)",
        "sinks/reading/test_counting.py::overlapping_runs_are_never_added_up",
    ),
    "sinks/reading/snapshot.py: a listed block that is gone is passed over": (
        "        if len(stored) < len(ids):\n            raise BeginAnew\n",
        "",
        "sinks/reading/test_snapshot.py::a_listed_block_that_is_gone_begins_the_read_anew",
    ),
    "sinks/reading/versions.py: copies combine by piece, whatever text they are of": (
        "is_shape = is_entry | _changes(chunks, cut)",
        "is_shape = is_entry",
        "sinks/reading/test_union.py::pieces_of_other_cuts_never_combine",
    ),
    "sinks/reading/versions.py: of whole copies that of the first run holds": (
        "np.lexsort((-run, chunk, cut, chunks, sub, last_leader, leader, entries, records, offset, place))",
        "np.lexsort((run, chunk, cut, chunks, sub, last_leader, leader, entries, records, offset, place))",
        "sinks/reading/test_union.py::of_two_copies_that_of_the_later_run_holds",
    ),
    "sinks/build.py: a line with more words than fit is refused": (
        "        words = np.concatenate([np.array([ANY_WORD], np.int32), words[: bounds.words - 1]])",
        '        raise ValueError("too many words")',
        "sinks/test_build.py::one_line_alone_with_more_words_than_fit_may_hold_any",
    ),
    "worker/indexing/store.py: a block is closed early although lines are on their way": (
        "return is_idle and are_all and len(waiting) <= _FEW_RUNS",
        "return is_idle and len(waiting) <= _FEW_RUNS",
        "worker/indexing/test_closing.py::lines_wait_for_no_others_when_none_are_on_their_way",
    ),
    "sinks/milvus/writing.py: a short count passes as an acknowledgement": (
        "if counted != rows:",
        "if counted > rows:",
        "sinks/test_writing.py::a_short_count_is_no_acknowledgement",
    ),
    "sinks/milvus/writing.py: an id occurs twice in a batch": (
        "last = list({row.template: row for row in rows}.values())",
        "last = list(rows)",
        "sinks/test_writing.py::an_id_stands_once_in_all_batches_together",
    ),
}
