"""The mutations of what bounds strangers' work: times that Kafka cannot have, texts on a terminal, requests, and what a reader has left.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

STRANGER_MUTATIONS: Changes = {
    "worker/indexing/prepare.py: any time of Kafka's is believed": (
        "bounded_times(group.time_ms, self._wall_ms())",
        "group.time_ms",
        "worker/indexing/test_far_times.py::a_histogram_stays_as_fine_and_an_export_goes_on_to_its_end",
    ),
    "consumers/decode/kafka_times.py: a time of Kafka's before 1970 is believed": (
        "far = (kafka_ms < 0) | (kafka_ms > now_ms + DAY_MS)",
        "far = kafka_ms > now_ms + DAY_MS",
        "consumers/decode/test_kafka_times.py::a_time_before_1970_or_more_than_a_day_ahead_is_now_and_no_other_is",
    ),
    "worker/indexing/pieces.py: a line keeps no far time of Kafka's beside its own": (
        "kafka_time=kafka_time[value],",
        "kafka_time=entries.time_ms[cut.row],",
        "worker/indexing/test_far_times.py::its_line_has_the_time_when_it_was_read_and_kafkas_beside_it",
    ),
    "worker/audit/expected.py: a replay believes any time of a letter's": (
        "bounded_times(columns.time_ms, self._wall_ms())",
        "columns.time_ms",
        "worker/audit/test_replay.py::of_a_record_whose_time_cannot_be_true_a_letter_gives_its_own_and_kafkas_record_that_of_the_replay",
    ),
    "worker/audit/compare.py: verify reports every line that was read at another time than now": (
        "if is_far(expected.kafka_time, now_ms):",
        "if is_far(expected.kafka_time, now_ms) and not line.time:",
        "worker/audit/test_compare.py::a_line_of_a_record_whose_time_cannot_be_true_may_have_been_read_at_any_time",
    ),
    "worker/querying/export.py: an export asks for a later end than a query may name": (
        "(min(max(one, -MOST_MS), MOST_MS) for one in span)",
        "span",
        "worker/querying/test_export.py::a_stored_line_of_a_far_time_ends_no_export_whether_a_query_can_name_its_time_or_not",
    ),
    "worker/querying/counts.py: one far line makes a single bucket of all others": (
        "return rows[0] if rows else total",
        "return total",
        "worker/querying/test_counts.py::a_stored_line_of_a_far_time_counts_in_the_nearest_bucket_and_makes_none_wider",
    ),
    "sinks/reading/counting.py: a far line has a bucket of its own, years behind the last one": (
        "time_ms = np.clip(time_ms, *self._query.bucketed_ms)",
        "pass",
        "worker/querying/test_counts.py::a_stored_line_of_a_far_time_counts_in_the_nearest_bucket_and_makes_none_wider",
    ),
    "worker/cli/screen.py: a screen writes control characters as they are": (
        "((printable_lines(text), style) for text, style in parts)",
        "((text, style) for text, style in parts)",
        "worker/cli/test_terminal.py::a_screen_escapes_whatever_it_is_given",
    ),
    "worker/cli/screen.py: a warning writes control characters as they are": (
        "{printable(line)}",
        "{line}",
        "worker/cli/test_terminal.py::a_warning_is_one_line",
    ),
    "worker/cli/output.py: JSON on a terminal has C1 and bidirectional marks as they are": (
        '"".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)',
        "text",
        "worker/cli/test_terminal.py::json_is_escaped_as_json_is_and_reads_back_the_same",
    ),
    "worker/cli/toml.py: settings on a terminal have C1 as they are": (
        "one if one.isprintable() else",
        'one if one != "\\x7f" else',
        "worker/cli/test_terminal.py::settings_are_escaped_as_toml_is_and_read_back_the_same",
    ),
    "worker/cli/lag.py: a commit past the end looks as if all were read": (
        "beyond_end(now.positions)",
        "beyond_end(())",
        "worker/cli/test_offsets_screen.py::a_commit_past_the_end_is_said_as_the_doctor_says_it",
    ),
    "worker/http/request_checks.py: a head that comes whole has any length": (
        "for name, content in headers) > MAX_HEAD_BYTES",
        "for name, content in headers) > 16 * MAX_HEAD_BYTES",
        "worker/http/test_refusals.py::a_head_at_the_limit_is_taken_and_one_byte_more_is_not",
    ),
    "worker/http/responses.py: an export takes UTF-16 and a BOM": (
        'json.loads(value.decode("utf-8"))',
        "json.loads(value)",
        "worker/http/test_refusals.py::an_export_reads_a_query_no_more_leniently_than_a_search",
    ),
    "worker/__main__.py: a signal while `run` is imported is a crash": (
        'if sys.argv[1:2] == ["run"]:',
        'if sys.argv[1:2] == ["demo"]:',
        "worker/cli/test_start.py::a_signal_while_it_still_loads_its_libraries_is_a_drain",
    ),
    "worker/indexing/compaction.py: inner blocks are deleted whether the outer one can be read or not": (
        "for one, outer in outer_of.items() if fate[outer]]",
        "for one, outer in outer_of.items() if outer in fate]",
        "worker/indexing/test_compaction.py::inner_blocks_stay_while_the_one_that_stands_for_them_cannot_be_read",
    ),
}
