"""Mutations of the packed engine on ONNX Runtime, and of choosing between the engines for a CPU."""

from tests.sabotage.mutation import Changes

ENGINE_MUTATIONS: Changes = {
    "worker/embedding/model/onnx_graph.py: a text attends to the texts beside it": (
        'add("Where", add("Equal", as_column, as_row), always, never)',
        'add("Where", add("Equal", as_column, as_row), always, always)',
        "properties/test_packed_batch.py::a_text_has_the_same_vector_alone_and_in_any_batch",
    ),
    "worker/embedding/model/onnx_graph.py: every activation is computed in its tanh form": (
        '"none" if self._shape.activation == "gelu" else "tanh"',
        '"tanh"',
        "worker/embedding/engine/test_onnx.py::the_vectors_are_those_of_the_float32_reference_at_every_length",
    ),
    "worker/embedding/model/onnx_graph.py: a block of zeros spoils its row": (
        "np.where(scales > 0, scales, 1)",
        "scales",
        "worker/embedding/engine/test_onnx.py::a_block_is_rounded_to_254_steps_of_its_own_largest_number",
    ),
    "worker/embedding/model/onnx_graph.py: a scale spans a whole row": (
        "scales = np.abs(filled).max(axis=2, keepdims=True) / np.float32(_MOST)",
        "scales = np.broadcast_to(np.abs(filled).max(axis=(1, 2), keepdims=True), (*filled.shape[:2], 1)) / np.float32(_MOST)",
        "worker/embedding/engine/test_onnx.py::a_block_is_rounded_to_254_steps_of_its_own_largest_number",
    ),
    "worker/embedding/engine/packed_batch.py: positions go on from text to text": (
        "positions = all_tokens - np.repeat(starts, lengths)",
        "positions = all_tokens - 0 * np.repeat(starts, lengths)",
        "properties/test_packed_batch.py::every_token_has_one_place_and_shares_its_row_with_its_whole_text",
    ),
    "worker/embedding/engine/packed_batch.py: every text has a row of its own, however short it is": (
        "if used + length > width:",
        "if used > 0:",
        "properties/test_packed_batch.py::every_token_has_one_place_and_shares_its_row_with_its_whole_text",
    ),
    "worker/embedding/engine/packed_batch.py: short texts weigh less than long ones": (
        "1 / np.repeat(lengths, lengths)",
        "1 / width",
        "properties/test_packed_batch.py::every_token_has_one_place_and_shares_its_row_with_its_whole_text",
    ),
    "worker/embedding/engine/onnx.py: idle threads spin": (
        '("session.intra_op.allow_spinning", "0")',
        '("session.intra_op.allow_spinning", "1")',
        "worker/embedding/engine/test_onnx.py::its_threads_are_as_many_as_asked_for_and_do_not_spin",
    ),
    "worker/embedding/engine/onnx.py: a negative id is a token from the end of the vocabulary": (
        '(inputs["ids"] < 0) | (inputs["ids"] >= self._vocabulary_size)',
        'inputs["ids"] >= self._vocabulary_size',
        "worker/embedding/engine/test_onnx.py::an_id_outside_the_vocabulary_is_an_error_with_a_reason_and_the_engine_lives",
    ),
    "worker/embedding/engine/onnx.py: lack of memory is blamed on a text": (
        "OutOfMemory if is_lack_of_memory(error) else RuntimeError",
        "RuntimeError",
        "worker/embedding/engine/test_onnx.py::a_failure_is_one_line_and_lack_of_memory_is_told_from_the_rest",
    ),
    "worker/embedding/model/weights.py: the header of a file that is no safetensors file decides how much is read": (
        'with safe_open(file, framework="np"), file.open("rb") as stream:',
        'with file.open("rb") as stream:',
        "worker/embedding/engine/test_onnx.py::damaged_files_are_named_in_one_line",
    ),
    "worker/embedding/fastest_engine.py: an engine with wrong vectors is chosen because it is fast": (
        "worst >= WORST_ALLOWED_COSINE else None",
        "worst >= -1 else None",
        "worker/embedding/test_fastest_engine.py::an_engine_that_cannot_be_used_is_passed_over_and_tried_again_next_time",
    ),
    "worker/embedding/fastest_engine.py: an engine that failed once is out for ever": (
        "        if all(rates.values()):\n",
        "        if rates:\n",
        "worker/embedding/test_fastest_engine.py::an_engine_that_cannot_be_used_is_passed_over_and_tried_again_next_time",
    ),
    "worker/embedding/fastest_engine.py: a turn that other work disturbs decides": (
        "rates[name] = max(rates[name], 0.0 if seconds is None else len(golden.ids) / max(seconds, 1e-9))",
        "rates[name] = 0.0 if seconds is None else len(golden.ids) / max(seconds, 1e-9)",
        "worker/embedding/test_fastest_engine.py::a_slow_first_batch_and_a_turn_that_other_work_disturbs_do_not_count",
    ),
    "worker/embedding/fastest_engine.py: a cache that cannot be written ends the start": (
        "        with suppress(OSError):\n            self.file.parent",
        "        with suppress(KeyError):\n            self.file.parent",
        "worker/embedding/test_fastest_engine.py::a_cache_that_cannot_be_written_costs_a_measurement_and_no_start",
    ),
    "worker/embedding/fastest_engine.py: what was measured with all threads counts for one": (
        '"threads": threads,',
        '"threads": 0,',
        "worker/embedding/test_fastest_engine.py::another_processor_number_of_threads_or_model_has_a_record_of_its_own",
    ),
    "worker/embedding/fastest_engine.py: the slower engine is taken": (
        "    return max(engines, key=rates.__getitem__)",
        "    return min(engines, key=rates.__getitem__)",
        "worker/embedding/test_fastest_engine.py::the_faster_one_is_measured_once_said_once_and_remembered",
    ),
    "worker/embedding/loaded.py: vLLM that is installed is not taken by itself": (
        '(table.name == "auto" and _is_installed("vllm"))',
        "False",
        "worker/embedding/test_loaded.py::where_vllm_is_installed_it_is_chosen_without_a_name_and_without_an_import",
    ),
}
