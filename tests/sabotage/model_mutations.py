"""The mutations of the model: its folder, its weights and tokenizer, what is prepared from it, and the keys of its vectors.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

MODEL_MUTATIONS: Changes = {
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
        "offset=_LENGTH_BYTES + header_bytes + first)",
        "offset=_LENGTH_BYTES + header_bytes)",
        "worker/embedding/model/test_weights.py::a_bfloat16_is_the_upper_half_of_a_float32",
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
}
