"""The mutations of the engines: threads, bounds, scaling, and what llama.cpp is given and gives back.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_ENGINE = "worker/embedding/engine"
_TESTS = "tests/worker/embedding/engine"
_TEST_BOUNDS = f"{_TESTS}/test_engine_bounds.py"
_TEST_LLAMA = f"{_TESTS}/test_llama.py"

ENGINE_MUTATIONS = (
    Mutation(
        "a quota of processors that stands above the worker's own group does not count",
        f"{_ENGINE}/cpu_count.py",
        "for above in (own, *own.parents):",
        "for above in (own,):",
        (f"{_TESTS}/test_cpu_count.py::test_as_many_as_it_may_run_on_and_no_more_than_its_quota_pays_for",),
    ),
    Mutation(
        "a text longer than the model's limit reaches native code if it fits into a batch",
        f"{_ENGINE}/engine.py",
        "if (lengths > max_tokens).any():",
        "if (lengths > batch_tokens).any():",
        (f"{_TEST_BOUNDS}::test_exactly_what_breaks_a_bound_is_refused",),
    ),
    Mutation(
        "vectors are scaled by the sum of their components",
        f"{_ENGINE}/engine.py",
        "np.linalg.norm(vectors, axis=1, keepdims=True)",
        "np.linalg.norm(vectors, ord=1, axis=1, keepdims=True)",
        (f"{_TEST_BOUNDS}::test_every_row_becomes_length_1_and_keeps_its_direction",),
    ),
    Mutation(
        "of a batch of many short texts the first ones get the vectors of the last ones",
        f"{_ENGINE}/llama.py",
        "self._context.encode(lengths[part], vectors[part])",
        "self._context.encode(lengths[part], vectors[: len(lengths[part])])",
        ("tests/contracts/test_engine.py::test_many_short_texts_keep_their_order",),
    ),
    Mutation(
        "a prepared file with the weights of another model is used",
        f"{_ENGINE}/llama_native.py",
        "    if found != wanted:\n",
        "    if found[0] != wanted[0]:\n",
        (f"{_TEST_LLAMA}::test_a_gguf_of_another_model_is_refused",),
    ),
    Mutation(
        "the words of a text stand behind those of the texts before it in its batch",
        f"{_ENGINE}/llama_native.py",
        "np.arange(total) - np.repeat(starts, lengths)",
        "np.arange(total)",
        (f"{_TEST_LLAMA}::test_the_vectors_are_those_of_the_float32_reference",),
    ),
    Mutation(
        "a batch that llama.cpp refuses gets the vectors of the one before it",
        f"{_ENGINE}/llama_native.py",
        "if (code := binding.llama_encode(self._address, self._batch)) != 0:",
        "if (code := binding.llama_encode(self._address, self._batch)) < _ALLOCATION_FAILED:",
        (f"{_TEST_LLAMA}::test_an_id_outside_the_vocabulary_is_an_error_with_a_reason_and_the_engine_lives",),
    ),
    Mutation(
        "of vectors that are cut the last components are kept",
        f"{_ENGINE}/matryoshka.py",
        "vectors[:, :dims]",
        "vectors[:, -dims:]",
        (f"{_TESTS}/test_matryoshka.py::test_the_first_components_are_kept_and_scaled_to_length_1",),
    ),
    Mutation(
        "a text is blamed for lack of memory on a GPU",
        f"{_ENGINE}/vllm_library.py",
        "any(word in str(error).lower() for word in _MEMORY_WORDS)",
        "any(word in str(error) for word in _MEMORY_WORDS)",
        (f"{_TESTS}/test_vllm_faults.py::test_lack_of_memory_is_told_from_other_failures",),
    ),
)
