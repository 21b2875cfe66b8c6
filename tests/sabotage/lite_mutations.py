"""The mutations of Milvus Lite: what a block leaves behind when it goes, and how a process that hangs is seen.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_LITE_BLOCKS = "sinks/milvus/lite_blocks.py"
_SINK = "sinks/milvus/sink.py"
_PENDING = "worker/http/pending_queries.py"
_LEFT = "tests/sinks/test_lite_left_texts.py"
_CUT_SHORT = f"{_LEFT}::test_a_delete_that_was_cut_short_leaves_whole_blocks_and_the_next_opening_takes_the_texts_of_the_others"
_EMPTIES = "self._empty(part, self._heads, self._columns, self._words)"
_WORDS = "        self._client.insert(self._words, [*keys, [encode_filter(bloom) for _, _, bloom in rows], pad])\n"
_COLUMNS = "        self._client.insert(self._columns, [*keys, places, texts, fields, pad])\n"
_PING = "tests/sinks/test_lite.py::test_a_folder_whose_process_hangs_does_not_answer_a_ping_until_it_goes_on"
_DEADLINE = (
    "tests/worker/http/test_search.py"
    "::test_a_query_without_a_reply_at_its_deadline_is_given_up_then_and_counts_as_open_until_a_step_replies"
)

LITE_MUTATIONS = (
    Mutation(
        "a block that was merged leaves its texts in a local folder",
        _LITE_BLOCKS,
        _EMPTIES,
        "self._empty(part, self._heads)",
        (f"{_LEFT}::test_blocks_that_were_merged_into_another_leave_no_text_behind",),
    ),
    Mutation(
        "the texts of a local block go before its head",
        _LITE_BLOCKS,
        _EMPTIES,
        "self._empty(part, self._columns, self._heads, self._words)",
        (_CUT_SHORT,),
    ),
    Mutation(
        "a kill in the middle of a delete hides the texts that it leaves",
        _LITE_BLOCKS,
        _EMPTIES,
        "self._empty(part, self._heads, self._words, self._columns)",
        (_CUT_SHORT,),
    ),
    Mutation(
        "a kill in the middle of a write hides the texts that it leaves",
        _LITE_BLOCKS,
        _WORDS + _COLUMNS,
        _COLUMNS + _WORDS,
        (f"{_LEFT}::test_what_was_written_without_a_head_is_not_there_and_its_slot_is_free",),
    ),
    Mutation(
        "texts behind the last head are not looked for",
        _LITE_BLOCKS,
        "self._client.count(self._heads.name) + self._client.count(self._words.name)",
        "2 * self._client.count(self._heads.name)",
        (f"{_LEFT}::test_texts_behind_the_last_head_go_at_the_next_opening_on_whatever_page_they_are",),
    ),
    Mutation(
        "who only reads writes into a local folder",
        _LITE_BLOCKS,
        "len(left) if create else 0",
        "len(left)",
        (f"{_LEFT}::test_who_only_reads_leaves_what_a_delete_that_was_cut_short_has_left",),
    ),
    Mutation(
        "a local folder is ready for as long as its process lives",
        _SINK,
        "        only = 'id == \"\"' if self._lent.local is None",
        "        if self._lent.local is not None:\n            return\n        only = 'id == \"\"' if self._lent.local is None",
        (_PING,),
    ),
    Mutation(
        "a ping may take as long as any read",
        _SINK,
        ", timeout_s=_PING_S)",
        ")",
        ("tests/sinks/test_server_faults.py::test_a_silent_server_does_not_answer_a_ping_however_long_a_read_may_take",),
    ),
    Mutation(
        "a folder that is being written out is not ready",
        _SINK,
        "with self._lent.call_at_once() as client:",
        "with self._lent.calls() as client:",
        ("tests/sinks/test_lite.py::test_a_ping_waits_for_no_write_and_for_no_flush",),
    ),
    Mutation(
        "a query over HTTP waits for longer than its deadline",
        _PENDING,
        "timeout=min(most_s, self._timeout_s)",
        "timeout=self._timeout_s",
        (_DEADLINE,),
    ),
    Mutation(
        "a query whose deadline has passed makes room at once for another",
        _PENDING,
        "        if most_s < self._timeout_s:\n",
        "        if most_s < self._timeout_s:\n            self._close(pending)\n",
        (_DEADLINE,),
    ),
    Mutation(
        "a query whose deadline has passed counts as one that nobody waits for",
        _PENDING,
        "        if most_s < self._timeout_s:\n",
        "        if most_s < self._timeout_s:\n            pending.leave()\n",
        (_DEADLINE,),
    ),
)
