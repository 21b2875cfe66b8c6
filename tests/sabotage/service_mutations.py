"""Mutations of a worker as a whole, and of what deploys and watches it: settings, ends, metrics, images, rules, dashboards."""

from tests.sabotage.mutation import Changes

SERVICE_MUTATIONS: Changes = {
    "worker/indexing/store.py: blocks are dated by the wall clock, whatever the clock of the index says": (
        "self._sink.date_ms()",
        "int(self._surroundings.wall_ms())",
        "worker/service/test_pipeline.py::blocks_bear_the_date_that_the_sink_gives_them",
    ),
    "worker/watching/lag_history.py: after a clock was set back, the history of lag waits until it is as late again": (
        "            while points and points[-1].at_ms - at_ms > _SET_BACK_MS:\n                points.pop()\n",
        "",
        "worker/watching/test_group_lag.py::a_clock_that_was_set_back_stops_no_history",
    ),
    "deploy/compile_c.py: what is compiled goes by the times of a library and its C file": (
        "if library.exists() and digest.encode() in library.read_bytes():",
        "if library.exists() and library.stat().st_mtime >= source.stat().st_mtime:",
        "test_compiled.py::a_library_of_another_source_is_refused_whatever_its_time_until_make_compiles_it_again",
    ),
    "deploy/images.py: an image is pinned by a digest that is not its manifest's": (
        "if found != digest:",
        'if not found.startswith("sha256:"):',
        "deploy/test_images.py::what_a_registry_does_not_vouch_for_is_not_written",
    ),
    "deploy/supply/sbom.py: a known licence hides an unknown one beside it": (
        'all(word in LICENCES or word in ("AND", "OR") for word in words)',
        "any(word in LICENCES for word in words)",
        "deploy/test_sbom.py::a_licence_is_known_or_unknown",
    ),
    "deploy/Dockerfile: a worker is killed while its index is away": (
        "http://127.0.0.1:8790/healthz",
        "http://127.0.0.1:8790/readyz",
        "test_compose_image.py::the_health_check_asks_the_worker_s_own_port_and_no_proxy",
    ),
    "docker-compose.yml: whoever reaches the machine reaches Prometheus": (
        '"127.0.0.1:9090:9090"',
        '"9090:9090"',
        "test_compose.py::published_ports_are_on_loopback",
    ),
    "docker-compose.yml: dead letters are gone after Kafka's usual week": (
        "--config retention.ms=-1 --config cleanup.policy=delete",
        "--config cleanup.policy=delete",
        "test_compose.py::the_topics_that_are_made_are_those_that_the_worker_uses",
    ),
    "deploy/vllm/install.sh: vLLM is installed whatever its files hold": (
        "pip install --no-deps --require-hashes --only-binary",
        "pip install --no-deps --only-binary",
        "test_vllm_install.py::with_a_gpu_its_build_is_installed_with_every_hash_checked",
    ),
    "deploy/prometheus/rules/vectail.yml: while every worker hangs no alert says that none answers": (
        'absent(up{job="vectail"} == 1)',
        'absent(up{job="vectail"})',
        "deploy/test_rules.py::each_alert_fires_when_a_worker_or_none_says_so_and_after_its_time_and_says_what_to_do",
    ),
    "deploy/prometheus/prometheus.yml: workers are scraped at a port on which they do not listen": (
        "port: 8790",
        "port: 8970",
        "test_compose_monitoring.py::what_is_scraped_is_a_service_that_listens_there",
    ),
    "deploy/grafana/dashboards/consumer-lag.json: whoever chooses kafka_exporter sees kminion's count of members": (
        'kminion_kafka_consumer_group_members{group_id=~\\"$group\\"}) and on () (vector($source) == 3)',
        'kminion_kafka_consumer_group_members{group_id=~\\"$group\\"}) and on () (vector($source) == 2)',
        "deploy/test_dashboards.py::the_source_of_the_lag_can_be_chosen",
    ),
    "worker/runtime/limits.py: dead letters have no limit": (
        "if self._in_a_row > self._most:",
        "if self._in_a_row > 1_000_000:",
        "worker/runtime/test_limits.py::so_many_faults_in_a_row_are_allowed_and_one_more_is_not_and_a_good_outcome_begins_the_count_anew",
    ),
    "worker/service/shutdown.py: a drain that lost a partition before its last commit was accepted reports success": (
        " or any(poller.commits.given_up for poller in pollers)",
        "",
        "worker/service/test_shutdown.py::where_a_partition_was_given_up_it_is_not_called_drained",
    ),
    "worker/watching/canary.py: a canary is found as soon as any canary is": (
        'any(number in hit["text"] for hit in',
        'any("vectail canary" in hit["text"] for hit in',
        "worker/watching/test_canary.py::it_asks_until_its_own_line_is_there_and_counts_all_of_that_time",
    ),
    "worker/watching/probe.py: a dependency that fails without words counts as one that answers": (
        'self._error = str(error) or "no reason given"',
        "self._error = str(error)",
        "worker/watching/test_probe.py::a_fault_without_words_is_a_fault",
    ),
    "worker/watching/lag_watch.py: a Kafka that refuses to say the lag counts as one that answers": (
        "            self.close()\n            raise ProbeFailed(str(error)) from None\n",
        "            self.close()\n            return\n",
        "worker/watching/test_lag_watch.py::while_kafka_does_not_answer_the_last_look_stays_and_its_age_tells",
    ),
    "worker/watching/index_counts.py: the index of a worker seems empty while its server is busy": (
        "        except (SinkBusy, SinkBroken):\n            return\n",
        "        except (SinkBusy, SinkBroken):\n            self._counts = SinkCounts(0, 0)\n",
        "worker/watching/test_index_counts.py::an_index_that_does_not_answer_keeps_its_last_count",
    ),
    "worker/watching/lag_history.py: a look at one group forgets the history of the other": (
        "if key[0] == group and key[1] not in partitions]",
        "if key[1] not in partitions]",
        "worker/watching/test_group_lag.py::the_history_is_bounded_in_order_and_has_what_the_worker_saw_before_somebody_looked",
    ),
    "worker/inspecting/letters_document.py: a password whose name is written in JSON's numbers is shown with its dead letter": (
        "return _JSON_ESCAPE.sub(lambda found: _character(found[1]), text)",
        "return text",
        "worker/watching/test_documents.py::dead_letters_are_shown_with_reason_place_and_a_redacted_beginning",
    ),
    "worker/service/samples.py: the age of the lag is negative, so no alert on it fires": (
        "Sample(m.LAG_AGE_SECONDS, now_s - lag.read_s)",
        "Sample(m.LAG_AGE_SECONDS, lag.read_s - now_s)",
        "worker/service/test_pages.py::the_lag_and_what_is_committed_are_kafkas_own",
    ),
    "worker/service/pages.py: /readyz answers 200 whatever is wrong": (
        "_JSON, verdict.is_good)",
        "_JSON)",
        "worker/service/test_pages.py::a_worker_that_waits_for_its_index_is_alive_and_says_what_it_waits_for",
    ),
    "worker/service/status_document.py: since when something is away is off, because seconds count as milliseconds": (
        "round(now_ms - 1000 * (now_s - at_s))",
        "round(now_ms - (now_s - at_s))",
        "worker/watching/test_documents.py::a_dependency_that_is_away_is_named_alike_everywhere_and_since_when",
    ),
    "worker/runtime/fair_share.py: a topic that was away has saved up its share": (
        "turn = self._turns[topic] = max(self._turns.get(topic, 0), self._now)",
        "turn = self._turns[topic] = self._turns.get(topic, 0)",
        "worker/runtime/test_fair_share.py::a_topic_that_waited_alone_owes_nothing_and_one_that_was_away_gains_nothing",
    ),
    "worker/runtime/fair_share.py: topics share by entries and not by their sizes": (
        "self._now + self._size_of(entry) * self._stride_of(topic)",
        "self._now + self._stride_of(topic)",
        "worker/runtime/test_fair_share.py::shares_are_of_sizes_and_not_of_entries",
    ),
    "worker/settings/service_tables.py: without a setting, other machines reach the API": (
        'host: str = Field(default="127.0.0.1", min_length=1)',
        'host: str = Field(default="0.0.0.0", min_length=1)',
        "worker/settings/test_settings.py::without_anything_only_this_machine_reaches_the_api",
    ),
    "worker/settings/settings.py: the environment does not override the file": (
        "_merged(document, _read_environment(), levels=3)",
        "_merged(_read_environment(), document, levels=3)",
        "worker/settings/test_settings.py::flags_stand_over_the_environment_and_the_environment_over_the_file",
    ),
    "worker/settings/settings.py: an empty file for a token switches the protection off": (
        '    if not secret:\n        raise SettingsError(f"environment variable {variable}: {file} is empty")\n',
        "",
        "worker/settings/test_settings.py::a_secret_s_file_that_cannot_be_used_is_named_and_its_content_is_not",
    ),
    "worker/settings/tables.py: a producer may be told not to wait for the broker": (
        "KafkaSourceSettings.protected_properties | _PRODUCER_PROTECTED",
        "KafkaSourceSettings.protected_properties",
        "worker/settings/test_settings.py::client_properties_that_would_break_the_promise_are_refused",
    ),
    "worker/settings/secrets.py: a password with a slash is printed where it stands in an address": (
        'quote(secret, safe=""),',
        "quote(secret),",
        "worker/settings/test_secrets.py::it_is_found_as_addresses_and_json_write_it",
    ),
    "worker/settings/topic_tables.py: topics that a table excludes get its settings": (
        "TopicPattern(include=self.pattern, exclude=self.exclude)",
        "TopicPattern(include=self.pattern)",
        "worker/settings/test_settings.py::the_first_table_that_fits_a_topic_holds_for_it",
    ),
    "worker/settings/topic_tables.py: the field that is named for the level is read as the service": (
        "                level=fields.level,\n                service=fields.service,\n",
        "                level=fields.service,\n                service=fields.level,\n",
        "worker/settings/test_settings.py::each_setting_of_a_topic_reaches_its_rule_of_decoding",
    ),
    "worker/settings/rule_tables.py: a rule without any condition drops every line": (
        "if self.service == () and self.level == () and",
        "if self.service is self.level is None and",
        "worker/settings/test_settings.py::a_wrong_file_is_refused_in_one_line_that_names_the_setting",
    ),
    "worker/settings/settings.py: blocks of a topic with masks of its own bear the version of the general ones": (
        "return self.mask if own is None else own",
        "return self.mask or own",
        "worker/settings/test_settings.py::a_topic_with_masks_of_its_own_has_their_version",
    ),
    "worker/querying/forms.py: a search passes over a BOM": (
        'Query.model_validate_json(value or b"")',
        'Query.model_validate_json((value or b"").removeprefix(b"\\xef\\xbb\\xbf"))',
        "worker/serving/test_refusals.py::an_export_reads_a_query_no_more_leniently_than_a_search",
    ),
    "worker/__main__.py: Ctrl-C while `run` is imported is a crash": (
        "for number in (signal.SIGTERM, signal.SIGINT):",
        "for number in (signal.SIGTERM,):",
        "worker/cli/test_start.py::a_signal_while_it_still_loads_its_libraries_is_a_drain",
    ),
    "worker/__main__.py: a signal while `run` with an option is imported is a crash": (
        'if sys.argv[1:2] == ["run"]:  # importing',
        'if sys.argv[1:] == ["run"]:  # importing',
        "worker/cli/test_start.py::a_signal_while_it_still_loads_its_libraries_is_a_drain",
    ),
    "worker/watching/lag_history.py: after a clock was set back only the last point of the history goes": (
        "            while points and points[-1].at_ms - at_ms > _SET_BACK_MS:",
        "            if points and points[-1].at_ms - at_ms > _SET_BACK_MS:",
        "worker/watching/test_group_lag.py::a_clock_that_was_set_back_stops_no_history",
    ),
    "worker/watching/outlook.py: a feed that has just stopped counts as one that goes on": (
        "elif not is_told or _has_turned(at_s, lines, gain):",
        "elif not is_told:",
        "worker/watching/test_outlook.py::a_feed_that_has_stopped_is_noticed_by_the_second_look",
    ),
    "worker/watching/outlook.py: a rate counts although commits came in steps that are larger": (
        "wobble <= _WOBBLE * abs(gain) * length_s",
        "wobble <= abs(gain) * length_s",
        "worker/watching/test_outlook.py::while_rates_are_steady_what_is_said_is_right_within_30_percent",
    ),
    "worker/watching/outlook.py: what has just come is a lag if it names an old time": (
        "min(math.inf if age_s is None else age_s, now.at_s - seen_after(course)) < KEEPS_UP_S",
        "(math.inf if age_s is None else age_s) < KEEPS_UP_S",
        "worker/watching/test_outlook.py::records_that_name_an_old_time_and_have_just_come_are_no_lag",
    ),
    "worker/watching/lag_history.py: a look that ends late takes newer points out of the history": (
        "points[-1].at_ms - at_ms > _SET_BACK_MS:",
        "points[-1].at_ms > at_ms:",
        "worker/watching/test_group_lag.py::of_points_of_one_moment_the_first_stays_and_an_older_one_changes_nothing",
    ),
    "worker/asking/requests.py: a query with an unknown part keeps its sender waiting past the deadline": (
        "deadline_ms = _Deadline.model_validate_json(value).deadline_ms",
        "deadline_ms = Query.model_validate_json(value).deadline_ms",
        "worker/asking/test_question.py::a_sender_waits_as_long_as_its_request_says_however_wrong_the_rest_is",
    ),
    "worker/__main__.py: a library that aborts at the end changes a worker's exit code": (
        "        exit_at_once(exit_code)\n    sys.exit(exit_code)",
        "    sys.exit(exit_code)",
        "worker/test_main.py::what_a_library_does_at_the_very_end_does_not_change_the_exit_code_of_a_worker",
    ),
    "worker/__main__.py: a signal while `run` is imported is a crash": (
        'if sys.argv[1:2] == ["run"]:  # importing',
        'if sys.argv[1:2] == ["demo"]:  # importing',
        "worker/cli/test_start.py::a_signal_while_it_still_loads_its_libraries_is_a_drain",
    ),
    "worker/watching/index_reach.py: a look that is old counts as knowing": (
        '        if look.at_s < late_s:\n            said["behind"] = []\n',
        "",
        "worker/watching/test_index_reach.py::before_the_first_look_and_long_after_the_last_nothing_is_known",
    ),
    "worker/watching/index_reach.py: a topic is as late as its newest partition": (
        "return min((one.arrived_s for one in ones if one.records), default=math.inf)",
        "return max((one.arrived_s for one in ones if one.records), default=math.inf)",
        "worker/watching/test_index_reach.py::a_topic_is_as_late_as_its_slowest_partition",
    ),
    "worker/watching/index_reach.py: what the worker has committed since the look waits still": (
        "_since_committed(one, committed.get(one.partition, -1))",
        "_since_committed(one, -1)",
        "worker/watching/test_index_reach.py::what_the_worker_has_committed_counts_before_the_next_look",
    ),
    "worker/watching/lag_watch.py: what other workers own counts as read": (
        "for one in now.positions if reads.reads(one.partition.topic)]",
        "for one in now.positions if one.partition in owned]",
        "worker/watching/test_index_reach.py::of_what_others_own_the_time_is_that_of_the_last_look_before_it_came",
    ),
    "worker/service/embedding_service.py: what waits for a model of the pool is not told": (
        "opened[name].served.backlog_s() if name in opened else 0.0",
        "0.0",
        "worker/serving/embeddings/test_served_figures.py::what_waits_for_a_model_of_the_pool_is_told_as_that_of_the_default_one_is",
    ),
    "worker/service/pipeline.py: an engine that is away elsewhere holds the machine's cores": (
        "slot=self.slot if model.engine.on_cpu else None,",
        "slot=self.slot,",
        "worker/service/test_pipeline.py::only_an_engine_of_this_machine_s_cores_waits_for_the_models_beside_it",
    ),
    "worker/watching/judges.py: a moment in which much waits for vectors is an alert": (
        "sum(seconds for _, seconds in points) / len(points) for labels",
        "points[-1][1] for labels",
        "worker/watching/test_judges.py::a_condition_holds_beyond_its_limit_and_not_at_it",
    ),
    "worker/serving/page/served_models.js: where there is no embedding service, an empty table stands": (
        "made.node.hidden = models.length === 0;",
        "",
        "page/test_operations.py::lag_shows_the_models_of_the_embedding_service_only_where_it_is_on",
    ),
    "worker/service/embedding_process.py: what vectail serve judges of itself reaches no alert": (
        "        yield from self._conditions.samples()\n",
        "",
        "worker/service/test_embedding_process.py::a_model_that_cannot_be_loaded_is_an_alert_of_vectail_serve",
    ),
    "worker/inspecting/doctor_serve.py: pinned models leave all of the memory to the others": (
        "left_bytes = budget_bytes - pinned_bytes",
        "left_bytes = budget_bytes",
        "worker/inspecting/test_doctor_serve.py::models_have_room_in_turns_beside_the_pinned_ones_or_never",
    ),
    "worker/inspecting/doctor_serve.py: logs that stand open beside guarded vectors are no matter": (
        "(is_reached and own and not all_of_it,",
        "(is_reached and own and all_of_it,",
        "worker/inspecting/test_doctor_serve.py::a_token_that_guards_vectors_but_not_the_logs_is_said",
    ),
    "worker/service/doctor_document.py: the doctor of a worker does not say which model cannot be loaded": (
        "        failures=lambda: failed_loads(service),\n",
        "        failures=dict,\n",
        "worker/service/test_doctor_document.py::a_worker_tells_which_model_of_its_embedding_service_cannot_be_loaded",
    ),
    "worker/service/service.py: a worker that only answers joins the log group": (
        "KafkaSource(kafka, settings.subscription, say=say) if kafka.index else None",
        "KafkaSource(kafka, settings.subscription, say=say)",
        "worker/service/test_query_role.py::it_answers_from_what_others_have_indexed_and_reads_no_log_topic",
    ),
    "worker/service/service.py: a worker that only answers creates the index and sets its lifetime": (
        "create=kafka.index, adopt=adopt",
        "adopt=adopt",
        "worker/service/test_query_role.py::an_index_that_is_not_there_is_refused_and_not_created",
    ),
    "worker/service/indexing_pipeline.py: a worker that only answers does the upkeep of the index": (
        "writers = settings.index.writers if settings.kafka.index else 0",
        "writers = settings.index.writers",
        "worker/service/test_query_role.py::it_changes_nothing_in_the_index_and_runs_no_stage_that_would",
    ),
    "worker/watching/lag_watch.py: a worker that only answers calls an answer complete while topics of a pattern wait": (
        "            known.update(self._listed)\n",
        "",
        "worker/watching/test_lag_watch.py::a_worker_that_indexes_nothing_knows_how_far_the_topics_of_a_pattern_are_and_lists_them_once_a_minute",
    ),
    "worker/inspecting/vector_audit.py: a stored vector that cannot be used has no cosine": (
        "_cosine(vector, outcome) if (vector := stored.get(template)) is not None else 0.0",
        "_cosine(vector, outcome) if (vector := stored.get(template)) is not None else 1.0",
        "worker/inspecting/test_vector_audit.py::a_vector_that_cannot_be_read_is_wrong_and_one_whose_template_is_gone_is_not",
    ),
    "worker/inspecting/vector_watch.py: an index that is away for a moment is asked again only tomorrow": (
        "            return AGAIN_S\n",
        "            return EVERY_S\n",
        "worker/inspecting/test_vector_watch.py::an_index_that_does_not_answer_leaves_the_last_figure_and_is_asked_again_in_an_hour",
    ),
    "worker/inspecting/vector_watch.py: a busy worker never looks at its vectors": (
        "while not self._is_idle() and self._clock() < until_s:",
        "while not self._is_idle():",
        "worker/inspecting/test_vector_watch.py::a_worker_that_is_never_idle_is_looked_at_after_an_hour",
    ),
    "worker/watching/judges.py: vectors that no engine gives are no alert": (
        "if worst < LEAST_COSINE",
        "if worst < LEAST_COSINE - 0.01",
        "worker/watching/test_judges.py::a_condition_holds_beyond_its_limit_and_not_at_it",
    ),
    "worker/asking/lane_question.py: the canary's questions count as people's": (
        "time.monotonic(), is_own=True)",
        "time.monotonic())",
        "worker/querying/test_found_tally.py::what_the_worker_asks_itself_does_not_count",
    ),
    "worker/querying/found_tally.py: a score by words counts as a cosine": (
        'if scores and document["mode"] != "words":',
        "if scores:",
        "worker/querying/test_found_tally.py::a_score_by_words_is_no_cosine",
    ),
}
