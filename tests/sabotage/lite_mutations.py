"""The mutations of Milvus Lite: what a block leaves behind when it goes, and how a process that hangs is seen.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

_EMPTIES = "self._empty(part, self._heads, self._columns, self._words)"
_WORDS = "        self._client.insert(self._words, [*keys, [encode_filter(bloom) for _, _, bloom in rows], pad])\n"
_COLUMNS = "        self._client.insert(self._columns, [*keys, places, texts, fields, pad])\n"

LITE_MUTATIONS: Changes = {
    "sinks/milvus/lite_blocks.py: a block that was merged leaves its texts in a local folder": (
        _EMPTIES,
        "self._empty(part, self._heads)",
        "sinks/test_lite_left_texts.py::blocks_that_were_merged_into_another_leave_no_text_behind",
    ),
    "sinks/milvus/lite_blocks.py: the texts of a local block go before its head": (
        _EMPTIES,
        "self._empty(part, self._columns, self._heads, self._words)",
        "sinks/test_lite_left_texts.py::a_delete_that_was_cut_short_leaves_whole_blocks_and_the_next_opening_takes_the_texts_of_the_others",
    ),
    "sinks/milvus/lite_blocks.py: a kill in the middle of a delete hides the texts that it leaves": (
        _EMPTIES,
        "self._empty(part, self._heads, self._words, self._columns)",
        "sinks/test_lite_left_texts.py::a_delete_that_was_cut_short_leaves_whole_blocks_and_the_next_opening_takes_the_texts_of_the_others",
    ),
    "sinks/milvus/lite_blocks.py: a kill in the middle of a write hides the texts that it leaves": (
        _WORDS + _COLUMNS,
        _COLUMNS + _WORDS,
        "sinks/test_lite_left_texts.py::what_was_written_without_a_head_is_not_there_and_its_slot_is_free",
    ),
    "sinks/milvus/lite_blocks.py: texts behind the last head are not looked for": (
        "self._client.count(self._heads.name) + self._client.count(self._words.name)",
        "2 * self._client.count(self._heads.name)",
        "sinks/test_lite_left_texts.py::texts_behind_the_last_head_go_at_the_next_opening_on_whatever_page_they_are",
    ),
    "sinks/milvus/lite_blocks.py: who only reads writes into a local folder": (
        "len(left) if create else 0",
        "len(left)",
        "sinks/test_lite_left_texts.py::who_only_reads_leaves_what_a_delete_that_was_cut_short_has_left",
    ),
    "sinks/milvus/sink.py: a local folder is ready for as long as its process lives": (
        "        only = 'id == \"\"' if self._lent.local is None",
        "        if self._lent.local is not None:\n            return\n        only = 'id == \"\"' if self._lent.local is None",
        "sinks/test_lite.py::a_folder_whose_process_hangs_does_not_answer_a_ping_until_it_goes_on",
    ),
    "sinks/milvus/sink.py: a ping may take as long as any read": (
        ", timeout_s=_PING_S)",
        ")",
        "sinks/test_server_faults.py::a_silent_server_does_not_answer_a_ping_however_long_a_read_may_take",
    ),
    "sinks/milvus/sink.py: a folder that is being written out is not ready": (
        "with self._lent.call_at_once() as client:",
        "with self._lent.calls() as client:",
        "sinks/test_lite.py::a_ping_waits_for_no_write_and_for_no_flush",
    ),
    "worker/http/pending_queries.py: a query over HTTP waits for longer than its deadline": (
        "timeout=min(most_s, self._timeout_s)",
        "timeout=self._timeout_s",
        "worker/http/test_search.py::a_query_without_a_reply_at_its_deadline_is_given_up_then_and_counts_as_open_until_a_step_replies",
    ),
    "worker/http/pending_queries.py: a query whose deadline has passed makes room at once for another": (
        "        if most_s < self._timeout_s:\n",
        "        if most_s < self._timeout_s:\n            self._close(pending)\n",
        "worker/http/test_search.py::a_query_without_a_reply_at_its_deadline_is_given_up_then_and_counts_as_open_until_a_step_replies",
    ),
    "worker/http/pending_queries.py: a query whose deadline has passed counts as one that nobody waits for": (
        "        if most_s < self._timeout_s:\n",
        "        if most_s < self._timeout_s:\n            pending.leave()\n",
        "worker/http/test_search.py::a_query_without_a_reply_at_its_deadline_is_given_up_then_and_counts_as_open_until_a_step_replies",
    ),
}
