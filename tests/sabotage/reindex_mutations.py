"""Mutations of a change of the index's model: filling, judging, following, going over."""

from tests.sabotage.mutation import Changes

REINDEX_MUTATIONS: Changes = {
    "worker/reindex/reindexer.py: a view that fails a condition is asked all the same": (
        "        failed = [one for one in self.progress.findings if not one.is_met and one.name not in waived]\n",
        "        failed: list[GateFinding] = []\n",
        "worker/reindex/test_reindexer.py::a_view_that_fails_a_condition_is_not_asked_unless_that_is_accepted",
    ),
    "worker/reindex/gate.py: vectors of another model pass the gate": (
        'return GateFinding("vectors", worst >= LEAST_COSINE and not uneven, told)',
        'return GateFinding("vectors", not uneven, told)',
        "worker/reindex/test_reindexer.py::vectors_of_another_model_in_the_new_view_are_found",
    ),
    "worker/reindex/filling.py: a view is filled from the start by whoever takes over": (
        "    return ids - target.stored(ids)\n",
        "    return ids\n",
        "worker/reindex/test_reindexer.py::what_is_there_is_not_embedded_again_when_another_worker_goes_on",
    ),
    "worker/reindex/reindexer.py: what workers without the new model store never reaches it": (
        "if self._fill(view, preferred, model, other) and self._fill(preferred, view, other_model, other):",
        "if self._fill(preferred, view, other_model, other):",
        "worker/reindex/test_reindexer.py::a_worker_without_the_new_model_goes_on_and_its_templates_are_found_with_it",
    ),
    "worker/reindex/reindexer.py: the old view is not kept complete": (
        "if self._fill(view, preferred, model, other) and self._fill(preferred, view, other_model, other):",
        "if self._fill(view, preferred, model, other):",
        "worker/reindex/test_reindexer.py::going_back_asks_a_complete_view_at_once",
    ),
    "worker/reindex/reindexer.py: what only the old view has goes with it": (
        "            self._filler.fill(view, preferred, model, self.progress.tally, lambda: not self._is_stopping())\n",
        "            _ = (view, preferred, model)\n",
        "worker/reindex/test_reindexer.py::a_view_that_is_given_up_is_removed_when_nobody_can_wait_for_it_any_more",
    ),
    "worker/reindex/space_changes.py: a view is removed while questions wait for it": (
        "now_ms >= spaces.views[other].since_ms + DROP_AFTER_MS",
        "now_ms >= spaces.views[other].since_ms",
        "properties/test_index_spaces.py::whatever_steps_are_taken_the_view_that_is_asked_is_complete",
    ),
    "worker/reindex/reindexer.py: going back compares what was just filled": (
        "            self._note_compared(before, written, now)\n",
        "",
        "worker/reindex/test_reindexer.py::two_views_that_were_just_filled_are_not_compared_again_before_going_back",
    ),
    "worker/reindex/reindexer.py: what comes during a comparison is taken for compared": (
        "if sum(before) + self.progress.tally.written - written == sum(now):",
        "if before and now:",
        "worker/reindex/test_reindexer.py::what_is_stored_while_both_views_are_compared_is_found_by_the_next_look",
    ),
    "worker/embedding/device_router.py: a text that waits elsewhere is computed a second time": (
        "owner = next((own for one, own in waiting if one.has(text.key)), rest)",
        "owner = rest",
        "worker/embedding/test_device_router.py::a_text_that_waits_in_one_engine_is_not_computed_by_the_other",
    ),
    "worker/embedding/embedder.py: an engine that is away looks free": (
        "return abs(since_s + self.pace.seconds(tokens) - self._clock())",
        "return max(since_s + self.pace.seconds(tokens) - self._clock(), 0.0)",
        "worker/embedding/test_device_router.py::the_batch_in_an_engine_counts_and_one_that_is_late_is_thought_to_be_away",
    ),
    "worker/cli/verify_vectors.py: only the view that is asked is compared": (
        '        if space == own or stored.state == "dropping":\n',
        "        if space or own:\n",
        "worker/cli/test_verify_vectors.py::both_views_of_an_index_are_compared_each_with_its_own_model",
    ),
    "worker/reindex/space_changes.py: two workers fill at once": (
        "if lease is not None and lease.owner != owner and lease.until_ms > now_ms:",
        "if lease is not None and lease.owner != owner and lease.until_ms > now_ms + LEASE_MS:",
        "worker/reindex/test_reindexer.py::one_worker_fills_and_the_others_leave_it_alone",
    ),
    "worker/querying/answer.py: a question is compared with vectors of another model": (
        "        self._asked.meaning = ready.meaning\n\n",
        "        self._asked.meaning = None\n\n",
        "worker/querying/test_answer.py::a_question_is_answered_from_the_view_whose_model_embedded_it",
    ),
    "worker/indexing/store.py: a template goes to the view that is asked, whatever model made its vector": (
        "by_view.setdefault(id(one.view), (one.view, []))[1].append(",
        "by_view.setdefault(0, (self._sink.templates, []))[1].append(",
        "worker/indexing/test_store_views.py::a_template_goes_to_the_view_of_the_model_that_embedded_it",
    ),
    "sinks/milvus/views.py: a change of the views that somebody else has made is overwritten": (
        "            if spaces_of(client.described(name)) != before:\n                return False\n",
        "",
        "contracts/test_sink_views.py::spaces_change_at_once_and_only_if_nobody_was_faster",
    ),
    "worker/cli/reindex_verb.py: it is done before the worker asks the new model": (
        'document["asked"] == space and any(',
        "any(",
        "worker/cli/test_reindex_verb.py::it_shows_the_plan_waits_until_the_new_model_is_asked_and_says_what_to_do_next",
    ),
    "worker/cli/reindex_verb.py: what was found before a condition was accepted ends the wait": (
        '    if not error or error.startswith(tuple(f"not preferred: {name}:" for name in accepted)):',
        "    if not error:",
        "worker/cli/test_reindex_verb.py::what_was_found_before_a_condition_was_accepted_does_not_end_it",
    ),
    "worker/cli/reindex_verb.py: a path goes to the worker": (
        "model = to if folder is None else _prepared_name(settings, folder)",
        "model = to",
        "worker/cli/test_reindex_verb.py::a_folder_is_prepared_and_only_its_name_is_sent",
    ),
    "worker/cli/reindex_verb.py: a folder hides the model of its name": (
        "if to in names or (not folder.is_dir() and os.sep not in to):",
        "if not folder.is_dir() and os.sep not in to:",
        "worker/cli/test_reindex_verb.py::a_folder_with_the_name_of_a_known_model_does_not_hide_it",
    ),
    "worker/cli/reindex_verb.py: a prepared model that the worker cannot find is named to it": (
        "if prepared.folder.resolve().parent != cache.resolve():",
        "if not prepared.folder.is_dir():",
        "worker/cli/test_reindex_verb.py::a_folder_is_prepared_and_only_its_name_is_sent",
    ),
    "worker/cli/reindex_verb.py: a setting of the old model stays beside the new one": (
        '*(f"# remove {one}" for one in before)]',
        "]",
        "worker/cli/test_reindex_verb.py::the_settings_to_write_name_what_must_go",
    ),
    "worker/cli/reindex_verb.py: an index that is away counts as a refusal": (
        "answer.status == HTTPStatus.TOO_MANY_REQUESTS or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:",
        "answer.status == HTTPStatus.TOO_MANY_REQUESTS:",
        "worker/cli/test_reindex_verb.py::a_refusal_is_its_reason_in_one_line",
    ),
    "worker/cli/reindex_commands.py: a condition that is not met ends well": (
        "    if told.failure:\n        raise failure(told.failure)\n",
        "",
        "worker/cli/test_reindex_verb.py::a_condition_that_is_not_met_ends_it_with_1_and_says_how_to_go_on",
    ),
    "worker/service/status_document.py: the status of an index with two models says one": (
        "1 if spaces is None else len(spaces.views)",
        "1",
        "worker/service/test_model_change.py::the_status_says_how_many_models_the_index_has",
    ),
    "worker/serving/page/lag.js: the change of the model is asked for while the index has one": (
        'if (hasTwoModels()) await take("/api/reindex"',
        'await take("/api/reindex"',
        "page/test_operations.py::lag_tells_how_far_a_change_of_the_model_is_only_while_the_index_has_two",
    ),
    "worker/serving/page/model_change.js: a worker that goes on with the old model says nothing of it": (
        "change.asked === preferred.space ?",
        "change.asked ?",
        "page/test_operations.py::lag_tells_how_far_a_change_of_the_model_is_only_while_the_index_has_two",
    ),
    "worker/reindex/space_model.py: a worker that drains while it fills crashes": (
        "        except RuntimeError:  # the embedder is closed: the worker ends\n",
        "        except ZeroDivisionError:\n",
        "worker/reindex/test_space_model.py::an_embedder_that_has_ended_ends_it_without_a_crash",
    ),
    "worker/reindex/gate.py: one slow moment of the machine fails a view": (
        "_MORE_TRIES: Final = 2",
        "_MORE_TRIES: Final = 0",
        "worker/reindex/test_gate.py::a_view_that_is_slow_to_search_fails_and_one_that_was_slow_for_a_moment_does_not",
    ),
    "worker/reindex/gate.py: what comes while lines come in fails a view": (
        "        missing = old.stored(missing) - new.stored(missing)\n",
        "",
        "worker/reindex/test_reindexer.py::templates_that_keep_coming_hold_no_change_up",
    ),
    "worker/reindex/gate.py: what cannot be brought is complete": (
        "        missing = old.stored(missing) - new.stored(missing)\n",
        "        missing = set()\n",
        "worker/reindex/test_gate.py::what_came_after_the_filling_is_brought_and_what_cannot_be_brought_fails",
    ),
    "worker/reindex/gate.py: a view is complete only if it has as many templates as the one before": (
        'GateFinding("complete", not missing,',
        'GateFinding("complete", old.count() == new.count(),',
        "worker/reindex/test_reindexer.py::templates_that_expire_meanwhile_hold_no_change_up",
    ),
}
