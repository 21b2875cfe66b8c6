"""The mutations of the model: its folder, its weights and tokenizer, what is prepared from it, and the keys of its vectors.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_MODEL = "worker/embedding/model"
_TESTS = "tests/worker/embedding/model"

MODEL_MUTATIONS = (
    Mutation(
        "a model without a list of modules is pooled by its first token",
        f"{_MODEL}/folder.py",
        'return pooling or "mean"',
        'return pooling or "cls"',
        (f"{_TESTS}/test_folder.py::test_without_modules_the_vector_is_the_mean",),
    ),
    Mutation(
        "the installed model may be another than the released one",
        f"{_MODEL}/released.py",
        "if found != wanted:",
        "if len(found) != len(wanted):",
        (f"{_TESTS}/test_released.py::test_a_file_that_was_changed_or_is_missing_is_named",),
    ),
    Mutation(
        "every weight in bfloat16 has the numbers of the file's first one",
        f"{_MODEL}/weights.py",
        "offset=_LENGTH_BYTES + header_bytes + first)",
        "offset=_LENGTH_BYTES + header_bytes)",
        (f"{_TESTS}/test_weights.py::test_a_bfloat16_is_the_upper_half_of_a_float32",),
    ),
    Mutation(
        "another text with another prefix has the cached vector of the text without one",
        f"{_MODEL}/space.py",
        'text = (self._prefix + masked).encode("utf-8")',
        'text = masked.encode("utf-8")',
        (f"{_TESTS}/test_space.py::test_the_prefix_is_part_of_the_text_that_is_embedded",),
    ),
    Mutation(
        "a changed pooling of the model's folder is not noticed",
        f"{_MODEL}/stamp.py",
        '"*.json", "*/config.json", "*.txt"',
        '"*.json", "*.txt"',
        (f"{_TESTS}/test_prepared.py::test_every_file_that_is_read_is_in_the_stamp",),
    ),
    Mutation(
        "a prepared model that was cut short is loaded",
        f"{_MODEL}/prepared.py",
        "    if damaged:\n",
        "    if len(damaged) > 1:\n",
        (f"{_TESTS}/test_prepared.py::test_a_damaged_model_is_made_again",),
    ),
    Mutation(
        "a word one character too long is tokenized unlike the model does",
        f"{_MODEL}/fallback_texts.py",
        "word_bytes > self._longest_word_bytes]",
        "word_bytes > self._longest_word_bytes + 1]",
        ("tests/worker/embedding/test_tokenizer.py::test_a_fallback_text_goes_to_the_models_own_tokenizer",),
    ),
    Mutation(
        "a process that prepares a model removes what another is writing",
        f"{_MODEL}/staging.py",
        "    except BlockingIOError:\n        return False\n",
        "    except BlockingIOError:\n        return True\n",
        (f"{_TESTS}/test_staging.py::test_what_a_living_process_makes_stays_and_what_a_killed_one_left_goes",),
    ),
    Mutation(
        "accents stay in the words of a model that writes all in lower case",
        f"{_MODEL}/wordpiece.py",
        'bool(normalizer["lowercase"] if strip_accents is None else strip_accents)',
        "bool(strip_accents)",
        (f"{_TESTS}/test_wordpiece.py::test_accents_go_with_the_case_unless_said_otherwise",),
    ),
)
