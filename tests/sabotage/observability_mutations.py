"""The mutations of what a worker says of itself: it looks well while something is wrong, or a figure is off.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

OBSERVABILITY_MUTATIONS: Changes = {
    "worker/observability/canary.py: a canary is found as soon as any canary is": (
        'any(number in hit["text"] for hit in',
        'any("vectail canary" in hit["text"] for hit in',
        "worker/observability/test_canary.py::it_asks_until_its_own_line_is_there_and_counts_all_of_that_time",
    ),
    "worker/observability/probe.py: a dependency that fails without words counts as one that answers": (
        'self._error = str(error) or "no reason given"',
        "self._error = str(error)",
        "worker/observability/test_probe.py::a_fault_without_words_is_a_fault",
    ),
    "worker/observability/lag_watch.py: a Kafka that refuses to say the lag counts as one that answers": (
        "            self.close()\n            raise ProbeFailed(str(error)) from None\n",
        "            self.close()\n            return\n",
        "worker/observability/test_lag_watch.py::while_kafka_does_not_answer_the_last_look_stays_and_its_age_tells",
    ),
    "worker/observability/index_counts.py: the index of a worker seems empty while its server is busy": (
        "        except (SinkBusy, SinkBroken):\n            return\n",
        "        except (SinkBusy, SinkBroken):\n            self._counts = SinkCounts(0, 0)\n",
        "worker/observability/test_index_counts.py::an_index_that_does_not_answer_keeps_its_last_count",
    ),
    "worker/observability/lag_history.py: a look at one group forgets the history of the other": (
        "if key[0] == group and key[1] not in partitions]",
        "if key[1] not in partitions]",
        "worker/observability/test_group_lag.py::the_history_is_bounded_in_order_and_has_what_the_worker_saw_before_somebody_looked",
    ),
    "worker/observability/dead_letter_document.py: a password whose name is written in JSON's numbers is shown with its dead letter": (
        "return _JSON_ESCAPE.sub(lambda found: _character(found[1]), text)",
        "return text",
        "worker/observability/test_documents.py::dead_letters_are_shown_with_reason_place_and_a_redacted_beginning",
    ),
    "worker/observability/samples.py: the age of the lag is negative, so no alert on it fires": (
        "Sample(m.LAG_AGE_SECONDS, now_s - lag.read_s)",
        "Sample(m.LAG_AGE_SECONDS, lag.read_s - now_s)",
        "worker/observability/test_pages.py::the_lag_and_what_is_committed_are_kafkas_own",
    ),
    "worker/observability/pages.py: /readyz answers 200 whatever is wrong": (
        "PageResponse(200 if verdict.is_good else 503,",
        "PageResponse(200,",
        "worker/observability/test_pages.py::a_worker_that_waits_for_its_index_is_alive_and_says_what_it_waits_for",
    ),
    "worker/observability/status_document.py: since when something is away is off, because seconds count as milliseconds": (
        "round(now_ms - 1000 * (now_s - at_s))",
        "round(now_ms - (now_s - at_s))",
        "worker/observability/test_documents.py::a_dependency_that_is_away_is_named_alike_everywhere_and_since_when",
    ),
}
