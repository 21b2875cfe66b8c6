"""The mutations of estimates and of suggested masks: figures that are off, and masks that do something else than they say.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_TESTS = "tests/worker/estimate"

ESTIMATE_MUTATIONS = (
    Mutation(
        "masks are suggested from a topic's oldest records too, however many there are",
        "worker/estimate/newest_records.py",
        "first_offset = max(found.first_offset, found.end_offset - share)",
        "first_offset = min(found.first_offset, found.end_offset - share)",
        ("tests/worker/cli/test_suggest_masks.py::test_of_a_topic_the_newest_records_are_read_and_no_group_is_left",),
    ),
    Mutation(
        "a rule for another topic drops lines of a sample",
        "worker/estimate/sample_texts.py",
        "[rule for rule in settings.drop if rule.topic is None or _fits(rule.topic, topic)]",
        "[rule for rule in settings.drop if rule.topic is None or rule.topic]",
        (f"{_TESTS}/test_sample_texts.py::test_entries_that_a_rule_of_the_topic_drops_are_left_out",),
    ),
    Mutation(
        "batches that the engine fails on are left out of an estimate silently",
        "worker/estimate/engine_measurement.py",
        "        except (RuntimeError, ValueError):\n            failed += 1\n            continue\n",
        "        except (RuntimeError, ValueError):\n            continue\n",
        (f"{_TESTS}/test_engine_measurement.py::test_a_batch_that_fails_is_not_counted_and_not_tried_again",),
    ),
    Mutation(
        "a component of a vector is taken for one byte",
        "worker/estimate/estimate.py",
        "(_TEMPLATE_ID_BYTES + 4 * inputs.dim)",
        "(_TEMPLATE_ID_BYTES + inputs.dim)",
        (f"{_TESTS}/test_estimate.py::test_a_sample_is_scaled_and_templates_grow_less_than_lines",),
    ),
    Mutation(
        "templates that new masks merge are shown as split",
        "worker/estimate/mask_difference.py",
        "return _regroupings(((new, old), lines) for (old, new), lines in self._pairs.items())",
        "return _regroupings(((old, new), lines) for (old, new), lines in self._pairs.items())",
        (f"{_TESTS}/test_mask_difference.py::test_old_templates_with_one_new_one_are_merged_and_those_with_several_are_split",),
    ),
    Mutation(
        "brackets and dots of a line act as regular expression in a suggested mask",
        "worker/estimate/suggested_pattern.py",
        r'return _DIGITS.sub(r"\\d+", _SPECIAL.sub(r"\\\g<0>", text))',
        r'return _DIGITS.sub(r"\\d+", text)',
        (f"{_TESTS}/test_mask_suggestions.py::test_hostile_words_are_escaped",),
    ),
    Mutation(
        "only the last lines of a sample count as undecodable",
        "worker/estimate/sample_tally.py",
        "self.undecodable_lines += len(decoded.rejected)",
        "self.undecodable_lines = len(decoded.rejected)",
        (f"{_TESTS}/test_sample_tally.py::test_what_is_not_indexed_of_several_lists_adds_up",),
    ),
    Mutation(
        "lines that fill a block are counted again in the next one",
        "worker/estimate/block_tally.py",
        "np.arange(size - size % _FULL, size)",
        "np.arange(size - _FULL, size)",
        (f"{_TESTS}/test_block_tally.py::test_each_line_is_in_one_block_whatever_lists_they_came_in",),
    ),
    Mutation(
        "a last line without a line end does not make a file too long to be read whole",
        "worker/estimate/sampling.py",
        '            lines -= last != b"\\n"\n',
        "",
        (f"{_TESTS}/test_sampling.py::test_a_last_line_without_an_end_is_a_line_of_each_file",),
    ),
)
