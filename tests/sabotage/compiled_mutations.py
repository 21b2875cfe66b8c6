"""The mutations of what ties a library to its C file.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_TESTS = "tests/test_compiled.py"

COMPILED_MUTATIONS = (
    Mutation(
        "a library is compared with its C file by their times",
        "consumers/native.py",
        "if sha256(source.read_bytes()).hexdigest().encode() in library.read_bytes():",
        "if source.stat().st_mtime <= library.stat().st_mtime:",
        (f"{_TESTS}::test_a_library_of_another_source_is_refused_whatever_its_time_until_make_compiles_it_again",),
    ),
    Mutation(
        "make goes by the times of a library and its C file",
        "Makefile",
        "%.c.so: %.c FORCE",
        "%.c.so: %.c",
        (f"{_TESTS}::test_a_library_of_another_source_is_refused_whatever_its_time_until_make_compiles_it_again",),
    ),
    Mutation(
        "an array that C writes may be read-only",
        "sinks/reading/literals.py",
        "_LITERAL = (c_char_p, SIZE, output_of(np.int32))",
        "_LITERAL = (c_char_p, SIZE, PLACES)",
        (f"{_TESTS}::test_python_declares_every_function_as_its_c_file_does",),
    ),
    Mutation(
        "a C function takes an argument that Python does not give it",
        "sinks/milvus/lite_texts.c",
        "EXPORTED int64_t pack_bytes(const uint8_t *bytes, int64_t size, uint8_t *characters, int64_t capacity)",
        "EXPORTED int64_t pack_bytes(const uint8_t *bytes, int64_t size, uint8_t *characters, int64_t capacity, uint8_t *rest)",
        (f"{_TESTS}::test_python_declares_every_function_as_its_c_file_does",),
    ),
    Mutation(
        "a start without a compiled C file may be tried again",
        "worker/cli/app.py",
        "else USER_ERROR  # a part",
        "else 1  # a part",
        (f"{_TESTS}::test_a_verb_that_needs_what_is_not_compiled_ends_with_2_and_one_line",),
    ),
    Mutation(
        "the doctor looks at one library",
        "worker/audit/doctor_versions.py",
        "if any(faults):",
        "if faults and faults[0]:",
        ("tests/worker/audit/test_doctor_machine.py::test_a_library_of_another_c_file_is_a_problem",),
    ),
)
