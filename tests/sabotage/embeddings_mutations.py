"""Mutations of the embedding API: what clients send, what they get, and why they are refused."""

from tests.sabotage.mutation import Changes

_ROOM = "worker/serving/embeddings"

EMBEDDINGS_MUTATIONS: Changes = {
    f"{_ROOM}/embedding_bodies.py: a text with half of an emoji fails the whole request": (
        "        if _HALF_ESCAPED.search(body) is None:\n            raise\n",
        "        raise\n",
        f"{_ROOM}/test_embedding_request.py::a_body_of_openai_is_read",
        "properties/test_embedding_bodies.py::texts_are_read_as_they_were_but_for_halves_of_pairs",
    ),
    f"{_ROOM}/embedding_bodies.py: a body that is nested without end is an error of the server": (
        "    except RecursionError:\n",
        "    except ZeroDivisionError:\n",
        f"{_ROOM}/test_embedding_request.py::bytes_that_are_no_text_and_nesting_without_end_are_refused",
    ),
    f"{_ROOM}/embedding_request.py: true is a token id": (
        "if set(map(type, found)) != {int} or",
        "if not all(isinstance(one, int) for one in found) or",
        f"{_ROOM}/test_embedding_request.py::what_is_wrong_in_a_body_of_openai_is_named",
    ),
    f"{_ROOM}/embedding_request.py: a token id beyond int32 is an error of the server": (
        " or max(found) > LARGEST_ID",
        "",
        f"{_ROOM}/test_embedding_request.py::what_is_wrong_in_a_body_of_openai_is_named",
    ),
    f"{_ROOM}/embedding_request.py: a list of token ids is as many texts": (
        "return TokenLists((_token_ids(found, param),))",
        "return TokenLists(tuple(_token_ids([one], param) for one in found))",
        f"{_ROOM}/test_embedding_request.py::a_list_of_ids_is_one_text_and_a_list_of_lists_several",
    ),
    f"{_ROOM}/embedding_request.py: a request may have one text more than openai allows": (
        "if len(found) > MOST_INPUTS:",
        "if len(found) > MOST_INPUTS + 1:",
        f"{_ROOM}/test_embedding_request.py::a_request_has_as_many_texts_as_openai_allows_and_no_more",
    ),
    f"{_ROOM}/embedding_request.py: whoever knows users' names knows their digests": (
        "digest_size=_USER_DIGEST_BYTES, key=_USER_KEY)",
        "digest_size=_USER_DIGEST_BYTES)",
        f"{_ROOM}/test_embedding_request.py::a_user_is_known_again_and_not_by_name",
    ),
    f"{_ROOM}/embedding_request.py: a model whose name ends in -query is another model's queries": (
        "    if model in known:\n",
        "    if model in known and _SUFFIX.fullmatch(model) is None:\n",
        f"{_ROOM}/test_embedding_request.py::a_name_may_say_the_type_of_its_texts_unless_a_model_has_that_name",
        "properties/test_embedding_bodies.py::a_known_name_is_itself_and_any_other_a_known_one_with_a_type",
    ),
    f"{_ROOM}/embedding_request.py: vectors that a client wants unscaled are scaled": (
        "    if read.normalize is False:\n",
        "    if read.normalize is None:\n",
        f"{_ROOM}/test_embedding_request.py::what_is_wrong_in_a_body_of_tei_is_named",
    ),
    f"{_ROOM}/token_lists.py: token ids of another tokenizer are embedded if the vocabulary has them": (
        "if not (is_framed and allowed",
        "if not (allowed",
        f"{_ROOM}/test_token_lists.py::any_other_list_is_of_another_tokenizer",
    ),
    f"{_ROOM}/token_lists.py: a padded list of token ids is embedded": (
        "allowed[[*self.special, -1]] = False",
        "allowed[-1] = False",
        f"{_ROOM}/test_token_lists.py::any_other_list_is_of_another_tokenizer",
    ),
    f"{_ROOM}/token_lists.py: a list with an unknown word is of another tokenizer": (
        "special=frozenset({*added, *frame} - {unknown_id}),",
        "special=frozenset({*added, *frame}),",
        f"{_ROOM}/test_token_lists.py::the_rules_are_those_of_the_models_files",
    ),
    f"{_ROOM}/token_lists.py: a text that was cut has no closing special token": (
        "fitted[place] = np.concatenate([kept, np.array(self.after, dtype=np.int32)])",
        "fitted[place] = texts[place][: self.max_tokens]",
        f"{_ROOM}/test_token_lists.py::a_text_that_is_cut_ends_as_every_text_does",
    ),
    f"{_ROOM}/openai_tokens.py: the ranks of another tokenizer give another text": (
        "    if hashlib.sha256(content).hexdigest() != sha256:\n",
        "    if not content:\n",
        f"{_ROOM}/test_openai_tokens.py::a_file_that_is_missing_or_another_is_named_in_one_line",
    ),
    f"{_ROOM}/openai_tokens.py: a character in two tokens is lost": (
        'return b"".join([self._tokens[one] for one in ids.tolist()]).decode("utf-8", "replace")',
        'return "".join([self._tokens[one].decode("utf-8", "replace") for one in ids.tolist()])',
        f"{_ROOM}/test_openai_tokens.py::a_character_may_be_in_several_tokens_and_cut_at_the_ends",
    ),
    f"{_ROOM}/embedding_answer.py: vectors in base64 have the wrong byte order": (
        'else "<f4")',
        'else ">f4")',
        f"{_ROOM}/test_embedding_answer.py::base64_is_what_openais_client_reads",
        "properties/test_embedding_bodies.py::vectors_are_the_same_in_every_form",
    ),
    f"{_ROOM}/embedding_answer.py: a vector that is cut is shorter than 1": (
        "else truncated(vectors, dimensions)",
        "else vectors[:, :dimensions]",
        f"{_ROOM}/test_embedding_answer.py::a_vector_that_is_cut_has_length_1_again",
    ),
    f"{_ROOM}/embedding_answer.py: any model is cut to any dimensions": (
        "(allow_cut and 1 <= asked < dim)",
        "1 <= asked < dim",
        f"{_ROOM}/test_embedding_answer.py::other_dimensions_are_refused_with_those_there_are",
    ),
    f"{_ROOM}/embedding_errors.py: a client is told to wait longer than it does": (
        "min(float(MOST_RETRY_S), max(1.0, self.retry_after_s))",
        "max(1.0, self.retry_after_s)",
        f"{_ROOM}/test_embedding_errors.py::a_client_is_told_to_wait_whole_seconds_that_it_accepts",
    ),
    f"{_ROOM}/embedding_errors.py: a text that is too long is not told in the words that clients look for": (
        "maximum context length is {max_tokens} tokens",
        "limit is {max_tokens} tokens",
        f"{_ROOM}/test_embedding_errors.py::a_text_that_is_too_long_is_told_with_openais_sentence",
    ),
    "worker/serving/embeddings/embedding_api.py: any key opens the API": (
        'if tokens and not (scheme.lower() == "bearer" and any(is_known)):',
        'if tokens and scheme.lower() != "bearer":',
        "worker/serving/embeddings/test_embedding_api.py::without_a_token_any_key_is_accepted_and_with_one_only_that",
    ),
    "worker/serving/embeddings/embedding_api.py: a client that has gone is computed for": (
        "            work.hang_up()\n",
        "",
        "worker/serving/embeddings/test_embedding_api.py::a_client_that_hangs_up_costs_the_engine_nothing_more",
    ),
    "worker/serving/embeddings/embedding_api.py: requests are queued after the intake has stopped": (
        "        if self._is_stopped:\n",
        "        if False:\n",
        "worker/serving/embeddings/test_embedding_api.py::whoever_waits_when_the_service_ends_is_answered",
    ),
    "worker/serving/embeddings/served_model.py: the vector of a text's beginning is kept as that of the text": (
        "is_text = isinstance(given, str) and place not in cut",
        "is_text = isinstance(given, str)",
        "worker/serving/embeddings/test_embedding_api.py::the_vector_of_a_text_s_beginning_is_never_kept_as_that_of_the_text",
    ),
    "worker/serving/embeddings/served_model.py: a request whose deadline passes while it is tokenised is never answered": (
        "            work.refuse_late()\n            return\n",
        "            return\n",
        f"{_ROOM}/test_embedding_api.py::a_request_is_answered_wherever_its_deadline_passes",
    ),
    f"{_ROOM}/embedding_api.py: an answer that nobody reads is forgotten as soon as it is written": (
        '            await send({"type": "http.response.start"',
        '            self._on_end()\n            await send({"type": "http.response.start"',
        f"{_ROOM}/test_embedding_api.py::answers_that_nobody_reads_are_bounded_and_cost_others_nothing",
    ),
    f"{_ROOM}/embedding_api.py: an answer goes out at once, whoever reads it": (
        "_PIECE_BYTES: Final = 256 * 1024",
        "_PIECE_BYTES: Final = 1 << 30",
        f"{_ROOM}/test_embedding_api.py::answers_that_nobody_reads_are_bounded_and_cost_others_nothing",
    ),
    "worker/serving/embeddings/served_model.py: a slice of a request answers for its first inputs": (
        "for place, (key, text_ids) in enumerate(zip(keys, fitted.ids, strict=True), one.first):",
        "for place, (key, text_ids) in enumerate(zip(keys, fitted.ids, strict=True), one.first % 256):",
        "worker/serving/embeddings/test_embedding_api.py::each_text_gets_its_own_vector_and_the_tokens_are_those_of_the_model",
    ),
    "worker/embedding/batcher.py: a small request is refused because of what another client has waiting": (
        "others = sum(min(theirs, own + tokens) for",
        "others = sum(max(theirs, own + tokens) for",
        "worker/serving/embeddings/test_embedding_api.py::a_small_request_is_taken_however_much_another_client_has_waiting_and_a_second_large_one_is_not",
    ),
    "worker/embedding/engine/remote.py: a service that stops is taken for one that refuses the texts": (
        "_AWAY: Final = frozenset({408, 429, 500, 502, 503, 504})",
        "_AWAY: Final = frozenset({408, 429, 500, 502, 504})",
        "worker/embedding/engine/test_remote.py::a_busy_service_says_when_it_may_be_asked_again",
    ),
    "worker/embedding/engine/remote.py: any model of the service will do": (
        'if model.get("vectail", {}).get("space") == space or',
        "if True or",
        "worker/embedding/engine/test_remote.py::a_service_without_the_model_s_space_is_refused_by_name",
    ),
    "worker/embedding/guarded_engine.py: an engine that is away ends the worker": (
        "                self._wait(away)",
        "                raise EngineFailed(str(away)) from away",
        "worker/embedding/engine/test_remote.py::a_service_that_goes_away_is_waited_for_and_nothing_is_rejected",
    ),
}
