"""The mutations of estimates and of suggested masks: figures that are off, and masks that do something else than they say.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

ESTIMATE_MUTATIONS: Changes = {
    "worker/estimate/newest_records.py: masks are suggested from a topic's oldest records too, however many there are": (
        "first_offset = max(found.first_offset, found.end_offset - share)",
        "first_offset = min(found.first_offset, found.end_offset - share)",
        "worker/cli/test_suggest_masks.py::of_a_topic_the_newest_records_are_read_and_no_group_is_left",
    ),
    "worker/estimate/sample_texts.py: a rule for another topic drops lines of a sample": (
        "[rule for rule in settings.drop if rule.topic is None or _fits(rule.topic, topic)]",
        "[rule for rule in settings.drop if rule.topic is None or rule.topic]",
        "worker/estimate/test_sample_texts.py::entries_that_a_rule_of_the_topic_drops_are_left_out",
    ),
    "worker/estimate/engine_measurement.py: batches that the engine fails on are left out of an estimate silently": (
        "        except (RuntimeError, ValueError):\n            failed += 1\n            continue\n",
        "        except (RuntimeError, ValueError):\n            continue\n",
        "worker/estimate/test_engine_measurement.py::a_batch_that_fails_is_not_counted_and_not_tried_again",
    ),
    "worker/estimate/estimate.py: a component of a vector is taken for one byte": (
        "(_TEMPLATE_ID_BYTES + 4 * inputs.dim)",
        "(_TEMPLATE_ID_BYTES + inputs.dim)",
        "worker/estimate/test_estimate.py::a_sample_is_scaled_and_templates_grow_less_than_lines",
    ),
    "worker/estimate/mask_difference.py: templates that new masks merge are shown as split": (
        "return _regroupings(((new, old), lines) for (old, new), lines in self._pairs.items())",
        "return _regroupings(((old, new), lines) for (old, new), lines in self._pairs.items())",
        "worker/estimate/test_mask_difference.py::old_templates_with_one_new_one_are_merged_and_those_with_several_are_split",
    ),
    "worker/estimate/suggested_pattern.py: brackets and dots of a line act as regular expression in a suggested mask": (
        r'return _DIGITS.sub(r"\\d+", _SPECIAL.sub(r"\\\g<0>", text))',
        r'return _DIGITS.sub(r"\\d+", text)',
        "worker/estimate/test_mask_suggestions.py::hostile_words_are_escaped",
    ),
    "worker/estimate/sample_tally.py: only the last lines of a sample count as undecodable": (
        "self.undecodable_lines += len(decoded.rejected)",
        "self.undecodable_lines = len(decoded.rejected)",
        "worker/estimate/test_sample_tally.py::what_is_not_indexed_of_several_lists_adds_up",
    ),
    "worker/estimate/block_tally.py: lines that fill a block are counted again in the next one": (
        "np.arange(size - size % _FULL, size)",
        "np.arange(size - _FULL, size)",
        "worker/estimate/test_block_tally.py::each_line_is_in_one_block_whatever_lists_they_came_in",
    ),
    "worker/estimate/sampling.py: a last line without a line end does not make a file too long to be read whole": (
        '            lines -= last != b"\\n"\n',
        "",
        "worker/estimate/test_sampling.py::a_last_line_without_an_end_is_a_line_of_each_file",
    ),
}
