"""Mutations of vectors: tokenizers, engines, models, batches, caches."""

from tests.sabotage.mutation import Changes

VECTOR_MUTATIONS: Changes = {
    "worker/embedding/tokenizer.py: tokenizers that give other ids of the same number pass the check of a start": (
        "if not np.array_equal(encoded.text(index), wanted):",
        "if len(encoded.text(index)) != len(wanted):",
        "worker/embedding/test_tokenizer.py::the_start_check_names_the_first_text_that_differs",
    ),
    "worker/embedding/loaded.py: an engine with wrong vectors passes the check of a start": (
        "    if worst < WORST_ALLOWED_COSINE:\n",
        "    if worst < 0:\n",
        "worker/embedding/test_loaded.py::an_engine_that_fails_the_golden_texts_is_refused_and_closed",
    ),
    "worker/embedding/model/nearness.py: a question helps to make the bearing by which it is judged": (
        "return np.asarray((rows.sum(axis=0) - rows) / (len(rows) - 1), np.float64)",
        "return np.asarray(np.broadcast_to(rows.mean(axis=0), rows.shape), np.float64)",
        "worker/embedding/model/test_nearness.py::a_model_that_knows_nothing_has_no_cut_even_if_each_text_is_like_itself",
    ),
    "worker/embedding/guarded_engine.py: one sound vector vouches for all others of its batch": (
        "<= _UNIT_TOLERANCE).all())",
        "<= _UNIT_TOLERANCE).any())",
        "worker/embedding/test_guarded_engine.py::texts_that_fail_alone_are_blamed_and_every_other_has_its_own_vector",
    ),
    "worker/embedding/embedder.py: a query gets the vector of a log line of its batch": (
        "outcomes = self._engine.embed([one.ids for one in texts]) if texts else []",
        "outcomes = self._engine.embed([one.ids for one in reversed(texts)]) if texts else []",
        "worker/embedding/test_embedder.py::queries_and_lines_of_one_batch_get_their_own_vectors",
    ),
    "worker/embedding/embedder.py: a query that came too late is computed": (
        "            if all(waiter.text.is_late(now_s) for waiter in self._flights.waiters(key, one)):",
        "            if False:",
        "worker/embedding/test_embedder.py::a_query_past_its_deadline_is_answered_but_not_computed",
    ),
    "worker/embedding/embedder.py: queries wait behind lines": (
        "self.batcher.add([one], one.text.urgency)",
        "self.batcher.add([one], 'bulk')",
        "worker/embedding/test_embedder.py::a_query_is_in_the_very_next_call_though_lines_came_before_it",
    ),
    "worker/embedding/embedder.py: one who hung up takes the vector from those who wait for the same text": (
        "all(waiter.text.is_late(now_s) for waiter",
        "any(waiter.text.is_late(now_s) for waiter",
        "properties/test_single_flight.py",
    ),
    "worker/embedding/embedder.py: a text that came into the cache while it waited is computed again": (
        "if one.text.key is not None and one.text.key in found:",
        "if False:",
        "properties/test_single_flight.py",
    ),
    "worker/embedding/single_flight.py: a text that is being computed is computed again": (
        "if flight is None or flight.has_begun:",
        "if flight is None:",
        "properties/test_single_flight.py",
    ),
    "worker/embedding/single_flight.py: a query waits for the line with which it shares its text": (
        "is_raised = rank < flight.rank and not flight.has_begun",
        "is_raised = False",
        "properties/test_single_flight.py::an_urgent_text_takes_along_those_who_wait_for_the_same_in_a_less_urgent_class",
    ),
    "worker/embedding/batcher.py: bulk has no floor while clients wait": (
        "floor = sum(self._floors[urgency] for urgency in _OTHERS if self._others.waiting(urgency))",
        "floor = max(self._floors[urgency] * bool(self._others.waiting(urgency)) for urgency in _OTHERS)",
        "worker/embedding/test_batcher.py::beside_saturating_queries_online_and_bulk_have_a_floor_each",
    ),
    "worker/embedding/embedder.py: what the engine holds at the end of a drain is not delivered": (
        "(self._is_closed and self._begun is None and not len(self.batcher))",
        "(self._is_closed and not len(self.batcher))",
        "worker/embedding/test_embedder.py::what_the_engine_holds_when_it_is_closed_is_delivered",
    ),
    "worker/embedding/batcher.py: a long query that was passed over is passed over again": (
        "self._passed_over = bool(self._queries) and not queries",
        "self._passed_over = False",
        "worker/embedding/test_batcher.py::a_query_too_long_for_the_room_beside_the_floor_is_passed_over_once",
    ),
    "worker/embedding/batch_cap.py: batches stay short for ten batches after a query and not for ten seconds": (
        "self._since_query_s += seconds",
        "self._since_query_s += 1",
        "worker/embedding/test_batch_cap.py::it_holds_while_queries_arrive_and_ten_seconds_of_work_longer",
    ),
    "worker/embedding/engine/cpu_count.py: a quota of processors that stands above the worker's own group does not count": (
        "for above in (own, *own.parents):",
        "for above in (own,):",
        "worker/embedding/engine/test_cpu_count.py::as_many_as_it_may_run_on_and_no_more_than_its_quota_pays_for",
    ),
    "worker/embedding/engine/engine.py: a text longer than the model's limit reaches native code if it fits into a batch": (
        "if (lengths > max_tokens).any():",
        "if (lengths > batch_tokens).any():",
        "worker/embedding/engine/test_engine_bounds.py::exactly_what_breaks_a_bound_is_refused",
    ),
    "worker/embedding/engine/engine.py: vectors are scaled by the sum of their components": (
        "np.linalg.norm(vectors, axis=1, keepdims=True)",
        "np.linalg.norm(vectors, ord=1, axis=1, keepdims=True)",
        "worker/embedding/engine/test_engine_bounds.py::every_row_becomes_length_1_and_keeps_its_direction",
    ),
    "worker/embedding/engine/llama.py: of a batch of many short texts the first ones get the vectors of the last ones": (
        "self._context.encode(lengths[part], vectors[part])",
        "self._context.encode(lengths[part], vectors[: len(lengths[part])])",
        "contracts/test_engine.py::many_short_texts_keep_their_order",
    ),
    "worker/embedding/engine/llama_native.py: a prepared file with the weights of another model is used": (
        "    if found != wanted:\n",
        "    if found[0] != wanted[0]:\n",
        "worker/embedding/engine/test_llama.py::a_gguf_of_another_model_is_refused",
    ),
    "worker/embedding/engine/llama_native.py: the words of a text stand behind those of the texts before it in its batch": (
        "np.arange(total) - np.repeat(starts, lengths)",
        "np.arange(total)",
        "worker/embedding/engine/test_llama.py::the_vectors_are_those_of_the_float32_reference",
    ),
    "worker/embedding/engine/llama_native.py: a batch that llama.cpp refuses gets the vectors of the one before it": (
        "if (code := binding.llama_encode(self._address, self._batch)) != 0:",
        "if (code := binding.llama_encode(self._address, self._batch)) < _ALLOCATION_FAILED:",
        "worker/embedding/engine/test_llama.py::an_id_outside_the_vocabulary_is_an_error_with_a_reason_and_the_engine_lives",
    ),
    "worker/embedding/engine/matryoshka.py: of vectors that are cut the last components are kept": (
        "vectors[:, :dims]",
        "vectors[:, -dims:]",
        "worker/embedding/engine/test_matryoshka.py::the_first_components_are_kept_and_scaled_to_length_1",
    ),
    "worker/embedding/engine/engine.py: a text is blamed for lack of memory on a GPU": (
        "any(word in str(error).lower() for word in _MEMORY_WORDS)",
        "any(word in str(error) for word in _MEMORY_WORDS)",
        "worker/embedding/engine/test_engine_bounds.py::lack_of_memory_is_told_from_other_failures",
    ),
    "worker/embedding/model/folder.py: a model without a list of modules is pooled by its first token": (
        'return pooling or "mean"',
        'return pooling or "cls"',
        "worker/embedding/model/test_folder.py::without_modules_the_vector_is_the_mean",
    ),
    "worker/embedding/model/released.py: the installed model may be another than the released one": (
        "if found != wanted:",
        "if len(found) != len(wanted):",
        "worker/embedding/model/test_released.py::a_file_that_was_changed_or_is_missing_is_named",
    ),
    "worker/embedding/model/weights.py: every weight in bfloat16 has the numbers of the file's first one": (
        "first + begin, end - begin)",
        "first, end - begin)",
        "worker/embedding/model/test_weights.py::a_bfloat16_is_the_upper_half_of_a_float32",
    ),
    "worker/embedding/model/split_words.py: plurals and units are split like names of two words": (
        "(?<=[A-Z])(?=[A-Z][a-z]{2})",
        "(?<=[A-Z])(?=[A-Z][a-z])",
        "worker/embedding/model/test_split_words.py::names_are_split_where_a_word_ends",
    ),
    "worker/embedding/model/space.py: vectors of split and of whole names share one cache": (
        '**({"words": "split"} if self.splits_words else {})',
        "**{}",
        "worker/embedding/model/test_space.py::a_space_of_whole_names_has_the_id_that_it_had_before_names_were_split",
    ),
    "worker/embedding/model/prepared.py: the model that knows logs has the weights of the plain one": (
        "weights = add_difference(weights, difference)",
        "add_difference(weights, difference)",
        "worker/embedding/model/test_prepared.py::engines_get_the_weights_with_the_difference_added_and_another_one_is_another_model",
    ),
    "worker/embedding/model/space.py: another text with another prefix has the cached vector of the text without one": (
        'text = (self._prefix + masked).encode("utf-8")',
        'text = masked.encode("utf-8")',
        "worker/embedding/model/test_space.py::the_prefix_is_part_of_the_text_that_is_embedded",
    ),
    "worker/embedding/model/stamp.py: a changed pooling of the model's folder is not noticed": (
        '"*.json", "*/config.json", "*.txt"',
        '"*.json", "*.txt"',
        "worker/embedding/model/test_prepared.py::every_file_that_is_read_is_in_the_stamp",
    ),
    "worker/embedding/model/prepared.py: a prepared model that was cut short is loaded": (
        "    if damaged:\n",
        "    if len(damaged) > 1:\n",
        "worker/embedding/model/test_prepared.py::a_damaged_model_is_made_again",
    ),
    "worker/embedding/model/fallback_texts.py: a word one character too long is tokenized unlike the model does": (
        "word_bytes > self._longest_word_bytes]",
        "word_bytes > self._longest_word_bytes + 1]",
        "worker/embedding/test_tokenizer.py::a_fallback_text_goes_to_the_models_own_tokenizer",
    ),
    "worker/embedding/model/staging.py: a process that prepares a model removes what another is writing": (
        "    except BlockingIOError:\n        return False\n",
        "    except BlockingIOError:\n        return True\n",
        "worker/embedding/model/test_staging.py::what_a_living_process_makes_stays_and_what_a_killed_one_left_goes",
    ),
    "worker/embedding/model/wordpiece.py: accents stay in the words of a model that writes all in lower case": (
        'bool(normalizer["lowercase"] if strip_accents is None else strip_accents)',
        "bool(strip_accents)",
        "worker/embedding/model/test_wordpiece.py::accents_go_with_the_case_unless_said_otherwise",
    ),
    "worker/embedding/cache/redis_reader.py: the next fetch from Redis waits for the answer to one that was abandoned": (
        "if (current is fetch and current.is_sent) or time.monotonic()",
        "if time.monotonic()",
        "faults/test_redis.py::a_server_that_answers_a_part_in_time_is_not_given_up",
    ),
    "worker/embedding/cache/redis_address.py: Redis's sentinels get the servers' login": (
        "sentinel_login=in_url |",
        "sentinel_login=given |",
        "worker/embedding/cache/test_redis_address.py::settings_go_before_what_the_url_says_and_a_url_of_sentinels_has_their_login",
    ),
    "worker/embedding/cache/frame.py: a frame from Redis is not checked": (
        "return hmac.compare_digest(self._hash(key, value[:-_HASH_BYTES]), value[-_HASH_BYTES:])",
        "return True",
        "properties/test_cache_frames.py::flipped_bits_are_no_vector",
    ),
    "worker/embedding/cache/frame.py: a frame from Redis is valid under any key": (
        "return hashlib.blake2b(key + front,",
        "return hashlib.blake2b(front,",
        "properties/test_cache_frames.py::swapped_frames_are_no_vectors",
    ),
    "worker/embedding/guarded_engine.py: a text is blamed while the engine is broken": (
        "        self.check_engine()\n        return [EmbeddingFailed(reason)]",
        "        return [EmbeddingFailed(reason)]",
        "worker/embedding/test_guarded_engine.py::nobody_is_blamed_while_the_golden_texts_fail_too",
    ),
}
