"""The mutations of the engines: threads, bounds, scaling, and what llama.cpp is given and gives back.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

ENGINE_MUTATIONS: Changes = {
    "worker/embedding/engine/cpu_count.py: a quota of processors that stands above the worker's own group does not count": (
        "for above in (own, *own.parents):",
        "for above in (own,):",
        "worker/embedding/engine/test_cpu_count.py::as_many_as_it_may_run_on_and_no_more_than_its_quota_pays_for",
    ),
    "worker/embedding/engine/engine.py: a text longer than the model's limit reaches native code if it fits into a batch": (
        "if (lengths > max_tokens).any():",
        "if (lengths > batch_tokens).any():",
        "worker/embedding/engine/test_engine_bounds.py::a_sequence_above_the_models_limit_is_named_by_its_length",
    ),
    "worker/embedding/engine/engine.py: vectors are scaled by the sum of their components": (
        "np.linalg.norm(vectors, axis=1, keepdims=True)",
        "np.linalg.norm(vectors, ord=1, axis=1, keepdims=True)",
        "worker/embedding/engine/test_engine_bounds.py::every_row_becomes_length_1_and_keeps_its_direction",
    ),
    "worker/embedding/engine/llama.py: of a batch of many short texts the first ones get the vectors of the last ones": (
        "self._context.encode(lengths[part], vectors[part])",
        "self._context.encode(lengths[part], vectors[: len(lengths[part])])",
        "worker/embedding/engine/test_llama.py::more_texts_than_go_into_one_native_call_get_their_own_vectors",
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
    "worker/embedding/engine/vllm_library.py: a text is blamed for lack of memory on a GPU": (
        "any(word in str(error).lower() for word in _MEMORY_WORDS)",
        "any(word in str(error) for word in _MEMORY_WORDS)",
        "worker/embedding/engine/test_vllm_faults.py::lack_of_memory_is_told_from_other_failures",
    ),
}
