"""The mutations of what bounds strangers' work: times that Kafka cannot have, texts on a terminal, requests, and what a reader has left.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_TIMES = "consumers/decode/kafka_times.py"
_COUNTS = "worker/querying/counts.py"
_SCREEN = "worker/cli/screen.py"
_OUTPUT = "worker/cli/output.py"
_TEST_TIMES = "tests/consumers/decode/test_kafka_times.py"
_TEST_FAR = "tests/worker/indexing/test_far_times.py"
_TEST_COUNTS = "tests/worker/querying/test_counts.py"
_TEST_TERMINAL = "tests/worker/cli/test_terminal.py"
_TEST_REFUSALS = "tests/worker/http/test_refusals.py"
_FAR_IN_COUNTS = f"{_TEST_COUNTS}::test_a_stored_line_of_a_far_time_counts_in_the_nearest_bucket_and_makes_none_wider"

STRANGER_MUTATIONS = (
    Mutation(
        "any time of Kafka's is believed",
        "worker/indexing/prepare.py",
        "bounded_times(group.time_ms, self._wall_ms())",
        "group.time_ms",
        (f"{_TEST_FAR}::test_its_line_has_the_time_when_it_was_read_and_kafkas_beside_it",),
    ),
    Mutation(
        "a time of Kafka's before 1970 is believed",
        _TIMES,
        "far = (kafka_ms < 0) | (kafka_ms > now_ms + DAY_MS)",
        "far = kafka_ms > now_ms + DAY_MS",
        (f"{_TEST_TIMES}::test_a_time_before_1970_or_more_than_a_day_ahead_is_now_and_no_other_is",),
    ),
    Mutation(
        "a line keeps no far time of Kafka's beside its own",
        "worker/indexing/pieces.py",
        "kafka_time=kafka_time[value],",
        "kafka_time=entries.time_ms[cut.row],",
        (f"{_TEST_FAR}::test_its_line_has_the_time_when_it_was_read_and_kafkas_beside_it",),
    ),
    Mutation(
        "a replay believes any time of a letter's",
        "worker/audit/expected.py",
        "bounded_times(columns.time_ms, self._wall_ms())",
        "columns.time_ms",
        (
            "tests/worker/audit/test_replay.py::test_of_a_record_whose_time_cannot_be_true_a_letter_gives_its_own_and_kafkas_record_that_of_the_replay",
        ),
    ),
    Mutation(
        "verify reports every line that was read at another time than now",
        "worker/audit/compare.py",
        "if is_far(expected.kafka_time, now_ms):",
        "if is_far(expected.kafka_time, now_ms) and not line.time:",
        ("tests/worker/audit/test_compare.py::test_a_line_of_a_record_whose_time_cannot_be_true_may_have_been_read_at_any_time",),
    ),
    Mutation(
        "an export asks for a later end than a query may name",
        "worker/querying/export.py",
        "(min(max(one, -MOST_MS), MOST_MS) for one in span)",
        "span",
        ("tests/worker/querying/test_export.py::test_a_stored_line_of_a_far_time_ends_no_export_whether_a_query_can_name_its_time_or_not",),
    ),
    Mutation(
        "one far line makes a single bucket of all others", _COUNTS, "return rows[0] if rows else total", "return total", (_FAR_IN_COUNTS,)
    ),
    Mutation(
        "a far line has a bucket of its own, years behind the last one",
        "sinks/reading/counting.py",
        "time_ms = np.clip(time_ms, *self._query.bucketed_ms)",
        "pass",
        (_FAR_IN_COUNTS,),
    ),
    Mutation(
        "a screen writes control characters as they are",
        _SCREEN,
        "((printable_lines(text), style) for text, style in parts)",
        "((text, style) for text, style in parts)",
        (f"{_TEST_TERMINAL}::test_a_screen_escapes_whatever_it_is_given",),
    ),
    Mutation(
        "a warning writes control characters as they are",
        _SCREEN,
        "{printable(line)}",
        "{line}",
        (f"{_TEST_TERMINAL}::test_a_warning_is_one_line",),
    ),
    Mutation(
        "JSON on a terminal has C1 and bidirectional marks as they are",
        _OUTPUT,
        '"".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)',
        "text",
        (f"{_TEST_TERMINAL}::test_json_is_escaped_as_json_is_and_reads_back_the_same",),
    ),
    Mutation(
        "settings on a terminal have C1 as they are",
        "worker/cli/toml.py",
        "one if one.isprintable() else",
        'one if one != "\\x7f" else',
        (f"{_TEST_TERMINAL}::test_settings_are_escaped_as_toml_is_and_read_back_the_same",),
    ),
    Mutation(
        "a commit past the end looks as if all were read",
        "worker/cli/lag.py",
        "beyond_end(now.positions)",
        "beyond_end(())",
        ("tests/worker/cli/test_offsets_screen.py::test_a_commit_past_the_end_is_said_as_the_doctor_says_it",),
    ),
    Mutation(
        "a head that comes whole has any length",
        "worker/http/request_checks.py",
        "for name, content in headers) > MAX_HEAD_BYTES",
        "for name, content in headers) > 16 * MAX_HEAD_BYTES",
        (f"{_TEST_REFUSALS}::test_a_head_at_the_limit_is_taken_and_one_byte_more_is_not",),
    ),
    Mutation(
        "an export takes UTF-16 and a BOM",
        "worker/http/responses.py",
        'json.loads(value.decode("utf-8"))',
        "json.loads(value)",
        (f"{_TEST_REFUSALS}::test_an_export_reads_a_query_no_more_leniently_than_a_search",),
    ),
    Mutation(
        "a signal while `run` is imported is a crash",
        "worker/__main__.py",
        'if sys.argv[1:2] == ["run"]:',
        'if sys.argv[1:2] == ["demo"]:',
        ("tests/worker/cli/test_start.py::test_a_signal_while_it_still_loads_its_libraries_is_a_drain",),
    ),
    Mutation(
        "inner blocks are deleted whether the outer one can be read or not",
        "worker/indexing/compaction.py",
        "for one, outer in outer_of.items() if fate[outer]]",
        "for one, outer in outer_of.items() if outer in fate]",
        ("tests/worker/indexing/test_compaction.py::test_inner_blocks_stay_while_the_one_that_stands_for_them_cannot_be_read",),
    ),
)
