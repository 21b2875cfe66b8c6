"""The mutations of what a worker says of itself: it looks well while something is wrong, or a figure is off.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_TESTS = "tests/worker/observability"

OBSERVABILITY_MUTATIONS = (
    Mutation(
        "a canary is found as soon as any canary is",
        "worker/observability/canary.py",
        'any(number in hit["text"] for hit in',
        'any("vectail canary" in hit["text"] for hit in',
        (f"{_TESTS}/test_canary.py::test_it_asks_until_its_own_line_is_there_and_counts_all_of_that_time",),
    ),
    Mutation(
        "a dependency that fails without words counts as one that answers",
        "worker/observability/probe.py",
        'self._error = str(error) or "no reason given"',
        "self._error = str(error)",
        (f"{_TESTS}/test_probe.py::test_a_fault_without_words_is_a_fault",),
    ),
    Mutation(
        "a Kafka that refuses to say the lag counts as one that answers",
        "worker/observability/lag_watch.py",
        "            self.close()\n            raise ProbeFailed(str(error)) from None\n",
        "            self.close()\n            return\n",
        (f"{_TESTS}/test_lag_watch.py::test_while_kafka_does_not_answer_the_last_look_stays_and_its_age_tells",),
    ),
    Mutation(
        "the index of a worker seems empty while its server is busy",
        "worker/observability/index_counts.py",
        "        except (SinkBusy, SinkBroken):\n            return\n",
        "        except (SinkBusy, SinkBroken):\n            self._counts = SinkCounts(0, 0)\n",
        (f"{_TESTS}/test_index_counts.py::test_an_index_that_does_not_answer_keeps_its_last_count",),
    ),
    Mutation(
        "a look at one group forgets the history of the other",
        "worker/observability/lag_history.py",
        "if key[0] == group and key[1] not in partitions]",
        "if key[1] not in partitions]",
        (f"{_TESTS}/test_group_lag.py::test_the_history_is_bounded_in_order_and_has_what_the_worker_saw_before_somebody_looked",),
    ),
    Mutation(
        "a password whose name is written in JSON's numbers is shown with its dead letter",
        "worker/observability/dead_letter_document.py",
        "return _JSON_ESCAPE.sub(lambda found: _character(found[1]), text)",
        "return text",
        (f"{_TESTS}/test_documents.py::test_dead_letters_are_shown_with_reason_place_and_a_redacted_beginning",),
    ),
    Mutation(
        "the age of the lag is negative, so no alert on it fires",
        "worker/observability/samples.py",
        "Sample(m.LAG_AGE_SECONDS, now_s - lag.read_s)",
        "Sample(m.LAG_AGE_SECONDS, lag.read_s - now_s)",
        (f"{_TESTS}/test_pages.py::test_the_lag_and_what_is_committed_are_kafkas_own",),
    ),
    Mutation(
        "/readyz answers 200 whatever is wrong",
        "worker/observability/pages.py",
        "PageResponse(200 if verdict.is_good else 503,",
        "PageResponse(200,",
        (f"{_TESTS}/test_pages.py::test_a_worker_that_waits_for_its_index_is_alive_and_says_what_it_waits_for",),
    ),
    Mutation(
        "since when something is away is off, because seconds count as milliseconds",
        "worker/observability/status_document.py",
        "round(now_ms - 1000 * (now_s - at_s))",
        "round(now_ms - (now_s - at_s))",
        (f"{_TESTS}/test_documents.py::test_a_dependency_that_is_away_is_named_alike_everywhere_and_since_when",),
    ),
)
