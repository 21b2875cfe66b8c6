"""The mutations of records that are read again and then hold other entries: in readers, in resume and in prepare.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

RECORD_MUTATIONS: Changes = {
    "sinks/reading/versions.py: copies are resolved by entry before they are by record": (
        "    is_held = is_used & holds_whole[of.version]\n",
        "    is_held = is_used & (holds_whole[of.version] | (of.sub > 0))\n",
        "sinks/reading/test_versions.py::a_record_that_was_read_again_holds_what_it_holds_now",
    ),
    "sinks/reading/versions.py: a record of which a run wrote some entries hides a whole one": (
        "    done = np.flatnonzero(is_run_end & (there >= needed))\n",
        "    done = np.flatnonzero(is_run_end)\n",
        "sinks/reading/test_versions.py::a_record_of_which_a_run_wrote_only_a_part_hides_no_whole_one",
    ),
    "sinks/reading/versions.py: an event hides only what begins where it begins": (
        "    spans = _Spans(place[begins], offset[begins], offset[begins].astype(np.int64) + records[begins])\n",
        "    spans = _Spans(place[begins], offset[begins], offset[begins].astype(np.int64) + 1)\n",
        "sinks/reading/test_versions.py::an_event_hides_whatever_earlier_runs_have_of_its_records",
    ),
    "sinks/reading/versions.py: a later run hides an event of which it has only a part": (
        "max(step for step in steps[at] if leads_on[step[1]])",
        "max(steps[at])",
        "sinks/reading/test_versions.py::until_then_it_hides_what_a_later_run_has_of_it",
    ),
    "sinks/reading/versions.py: an event of a log that was cut stays until the log has grown over all of it": (
        "    rank[_are_replaced(spans, passed, leader[begins], last_leader[begins])] = _NEVER\n",
        "",
        "sinks/reading/test_versions.py::an_event_of_a_log_that_was_cut_is_hidden_though_the_log_has_grown_less_far",
    ),
    "sinks/reading/versions.py: all records of an event are taken for those of its last leader": (
        "    leaders = np.append(leader, last_leader)\n",
        "    leaders = np.append(last_leader, last_leader)\n",
        "sinks/reading/test_versions.py::a_new_leader_that_has_lost_nothing_hides_nothing",
    ),
    "sinks/reading/versions.py: a log that was cut is shown between two records of the one that has grown since": (
        "np.append(spans.end, passed.end)",
        "np.append(spans.end, spans.end)",
        "sinks/reading/test_versions.py::whatever_the_runs_say_the_later_leader_is_right",
    ),
    "sinks/reading/versions.py: an unknown leader is earlier than every other one": (
        "(last_leader < epoch) & (last_leader != NO_LEADER_EPOCH)",
        "last_leader < epoch",
        "sinks/reading/test_versions.py::where_leaders_are_not_known_the_latest_run_holds",
    ),
    "consumers/kafka/message.py: what the client says of leaders is lost on the way into the index": (
        "NO_LEADER_EPOCH if said is None else said",
        "NO_LEADER_EPOCH",
        "consumers/kafka/test_waiting.py",
    ),
    "worker/indexing/pieces.py: the last record of an event is taken for one of its first one's leader": (
        "leader_epoch[value + records - 1]",
        "of_first",
        "worker/indexing/test_read_again.py::an_event_has_the_leaders_of_its_first_record_and_of_its_last",
    ),
    "worker/indexing/stored_entries.py: an empty line of an event is still held by it when the others are apart": (
        "is_cut | is_empty[spanned] & (self._ends[at] - self._begins[at] > 1)",
        "is_cut",
        "worker/indexing/test_read_again.py::lines_that_are_apart_now_are_not_there_joined",
    ),
    "sinks/reading/versions.py: a hollow entry is shown": (
        " & (chunks > 0)\n    return holds",
        "\n    return holds",
        "sinks/reading/test_versions.py::a_hollow_entry_makes_its_record_whole",
    ),
    "sinks/contents.py: a hollow entry is counted": (
        "        lines = take_lines(lines, np.flatnonzero(lines.chunks))\n",
        "        pass\n",
        "sinks/test_build.py::hollow_entries_are_in_no_head_and_come_back_hollow",
    ),
    "worker/indexing/stored_entries.py: entries that a record does not have any more are left as they are": (
        "held = np.repeat(is_whole & (self._touching(offset[firsts], ends) == entries), entries)",
        "held = np.repeat(is_whole, entries)",
        "worker/indexing/test_stored_entries.py::a_record_is_held_with_all_its_entries_and_no_others_only",
    ),
    "worker/indexing/stored_entries.py: only what is missing of a record is written": (
        "is_whole = np.add.reduceat(held.astype(np.int64), firsts) == entries",
        "is_whole = np.add.reduceat(held.astype(np.int64), firsts) > 0",
        "worker/indexing/test_stored_entries.py::a_record_is_held_with_all_its_entries_and_no_others_only",
    ),
    "worker/indexing/resume.py: an assignment begins inside a stored event": (
        "return start < window.first_offset and window.assignment.begin_again(start)",
        "return False",
        "worker/indexing/test_read_again.py::an_assignment_does_not_begin_inside_a_stored_event",
    ),
    "worker/indexing/prepare.py: a record that holds nothing any more shows what it held": (
        "            self._hide_stored(group, emptied_records(group, decoded, reader), decoded.empty)\n",
        "            pass\n",
        "worker/indexing/test_read_again.py::a_record_that_holds_nothing_any_more_shows_nothing",
    ),
    "worker/indexing/store.py: what the sink refuses is shown as it was before": (
        "            self.hide(batch.assignment, hollowed(take_lines(batch.lines, rows)))\n",
        "            pass\n",
        "worker/indexing/test_read_again.py::what_the_sink_refuses_now_is_not_shown_as_it_was_before",
    ),
    "sinks/reading/copies.py: a search asks no other runs": (
        "            every = with_other_runs(self._snapshot, listed.select(np.array(new, np.int64)))\n",
        "            every = listed.select(np.array(new, np.int64))\n",
        "sinks/reading/test_copies.py::a_search_does_not_find_a_line_as_it_was_before_it_was_read_again",
    ),
}
