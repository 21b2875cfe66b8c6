"""The mutations of records that are read again and then hold other entries: in readers, in resume and in prepare.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_VERSIONS = "sinks/reading/versions.py"
_STORED = "worker/indexing/stored_entries.py"
_TEST_VERSIONS = "tests/sinks/reading/test_versions.py"
_TEST_STORED = "tests/worker/indexing/test_stored_entries.py"
_TEST_AGAIN = "tests/worker/indexing/test_read_again.py"

RECORD_MUTATIONS = (
    Mutation(
        "copies are resolved by entry before they are by record",
        _VERSIONS,
        "    is_held = is_used & holds_whole[of.version]\n",
        "    is_held = is_used & (holds_whole[of.version] | (of.sub > 0))\n",
        (f"{_TEST_VERSIONS}::test_a_record_that_was_read_again_holds_what_it_holds_now",),
    ),
    Mutation(
        "a record of which a run wrote some entries hides a whole one",
        _VERSIONS,
        "    done = np.flatnonzero(is_run_end & (there >= needed))\n",
        "    done = np.flatnonzero(is_run_end)\n",
        (f"{_TEST_VERSIONS}::test_a_record_of_which_a_run_wrote_only_a_part_hides_no_whole_one",),
    ),
    Mutation(
        "an event hides only what begins where it begins",
        _VERSIONS,
        "    spans = _Spans(place[begins], offset[begins], offset[begins].astype(np.int64) + records[begins])\n",
        "    spans = _Spans(place[begins], offset[begins], offset[begins].astype(np.int64) + 1)\n",
        (f"{_TEST_VERSIONS}::test_an_event_hides_whatever_earlier_runs_have_of_its_records",),
    ),
    Mutation(
        "a later run hides an event of which it has only a part",
        _VERSIONS,
        "max(step for step in steps[at] if leads_on[step[1]])",
        "max(steps[at])",
        (f"{_TEST_VERSIONS}::test_until_then_it_hides_what_a_later_run_has_of_it",),
    ),
    Mutation(
        "an event of a log that was cut stays until the log has grown over all of it",
        _VERSIONS,
        "    rank[_are_replaced(spans, passed, leader[begins], last_leader[begins])] = _NEVER\n",
        "",
        (f"{_TEST_VERSIONS}::test_an_event_of_a_log_that_was_cut_is_hidden_though_the_log_has_grown_less_far",),
    ),
    Mutation(
        "all records of an event are taken for those of its last leader",
        _VERSIONS,
        "    leaders = np.append(leader, last_leader)\n",
        "    leaders = np.append(last_leader, last_leader)\n",
        (f"{_TEST_VERSIONS}::test_a_new_leader_that_has_lost_nothing_hides_nothing",),
    ),
    Mutation(
        "a log that was cut is shown between two records of the one that has grown since",
        _VERSIONS,
        "np.append(spans.end, passed.end)",
        "np.append(spans.end, spans.end)",
        (f"{_TEST_VERSIONS}::test_whatever_the_runs_say_the_later_leader_is_right",),
    ),
    Mutation(
        "an unknown leader is earlier than every other one",
        _VERSIONS,
        "(last_leader < epoch) & (last_leader != NO_LEADER_EPOCH)",
        "last_leader < epoch",
        (f"{_TEST_VERSIONS}::test_where_leaders_are_not_known_the_latest_run_holds",),
    ),
    Mutation(
        "what the client says of leaders is lost on the way into the index",
        "consumers/kafka/message.py",
        "NO_LEADER_EPOCH if said is None else said",
        "NO_LEADER_EPOCH",
        ("tests/properties/test_intake.py",),
    ),
    Mutation(
        "the last record of an event is taken for one of its first one's leader",
        "worker/indexing/pieces.py",
        "leader_epoch[value + records - 1]",
        "of_first",
        (f"{_TEST_AGAIN}::test_an_event_has_the_leaders_of_its_first_record_and_of_its_last",),
    ),
    Mutation(
        "an empty line of an event is still held by it when the others are apart",
        _STORED,
        "is_cut | is_empty[spanned] & (self._ends[at] - self._begins[at] > 1)",
        "is_cut",
        (f"{_TEST_AGAIN}::test_lines_that_are_apart_now_are_not_there_joined",),
    ),
    Mutation(
        "a hollow entry is shown",
        _VERSIONS,
        " & (chunks > 0)\n    return holds",
        "\n    return holds",
        (f"{_TEST_VERSIONS}::test_a_hollow_entry_makes_its_record_whole",),
    ),
    Mutation(
        "a hollow entry is counted",
        "sinks/contents.py",
        "        lines = take_lines(lines, np.flatnonzero(lines.chunks))\n",
        "        pass\n",
        ("tests/sinks/test_build.py::test_hollow_entries_are_in_no_head_and_come_back_hollow",),
    ),
    Mutation(
        "entries that a record does not have any more are left as they are",
        _STORED,
        "held = np.repeat(is_whole & (self._touching(offset[firsts], ends) == entries), entries)",
        "held = np.repeat(is_whole, entries)",
        (f"{_TEST_STORED}::test_a_record_is_held_with_all_its_entries_and_no_others_only",),
    ),
    Mutation(
        "only what is missing of a record is written",
        _STORED,
        "is_whole = np.add.reduceat(held.astype(np.int64), firsts) == entries",
        "is_whole = np.add.reduceat(held.astype(np.int64), firsts) > 0",
        (f"{_TEST_STORED}::test_a_record_is_held_with_all_its_entries_and_no_others_only",),
    ),
    Mutation(
        "an assignment begins inside a stored event",
        "worker/indexing/resume.py",
        "return start < window.first_offset and window.assignment.begin_again(start)",
        "return False",
        (f"{_TEST_AGAIN}::test_an_assignment_does_not_begin_inside_a_stored_event",),
    ),
    Mutation(
        "a record that holds nothing any more shows what it held",
        "worker/indexing/prepare.py",
        "            self._hide_stored(group, emptied_records(group, decoded, reader), decoded.empty)\n",
        "            pass\n",
        (f"{_TEST_AGAIN}::test_a_record_that_holds_nothing_any_more_shows_nothing",),
    ),
    Mutation(
        "what the sink refuses is shown as it was before",
        "worker/indexing/store.py",
        "            self.hide(batch.assignment, hollowed(take_lines(batch.lines, rows)))\n",
        "            pass\n",
        (f"{_TEST_AGAIN}::test_what_the_sink_refuses_now_is_not_shown_as_it_was_before",),
    ),
    Mutation(
        "a search asks no other runs",
        "sinks/reading/copies.py",
        "            every = with_other_runs(self._snapshot, listed.select(np.array(new, np.int64)))\n",
        "            every = listed.select(np.array(new, np.int64))\n",
        ("tests/sinks/reading/test_copies.py::test_a_search_does_not_find_a_line_as_it_was_before_it_was_read_again",),
    ),
)
