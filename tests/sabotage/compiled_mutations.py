"""The mutations of what ties a library to its C file.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

COMPILED_MUTATIONS: Changes = {
    "consumers/native.py: a library is compared with its C file by their times": (
        "if sha256(source.read_bytes()).hexdigest().encode() in library.read_bytes():",
        "if source.stat().st_mtime <= library.stat().st_mtime:",
        "test_compiled.py::a_library_of_another_source_is_refused_whatever_its_time_until_make_compiles_it_again",
    ),
    "Makefile: make goes by the times of a library and its C file": (
        "%.c.so: %.c FORCE",
        "%.c.so: %.c",
        "test_compiled.py::a_library_of_another_source_is_refused_whatever_its_time_until_make_compiles_it_again",
    ),
    "sinks/reading/literals.py: an array that C writes may be read-only": (
        "_LITERAL = (c_char_p, SIZE, output_of(np.int32))",
        "_LITERAL = (c_char_p, SIZE, PLACES)",
        "test_compiled.py::python_declares_every_function_as_its_c_file_does",
    ),
    "sinks/milvus/lite_texts.c: a C function takes an argument that Python does not give it": (
        "EXPORTED int64_t pack_bytes(const uint8_t *bytes, int64_t size, uint8_t *characters, int64_t capacity)",
        "EXPORTED int64_t pack_bytes(const uint8_t *bytes, int64_t size, uint8_t *characters, int64_t capacity, uint8_t *rest)",
        "test_compiled.py::python_declares_every_function_as_its_c_file_does",
    ),
    "worker/cli/app.py: a start without a compiled C file may be tried again": (
        "else USER_ERROR  # a part",
        "else 1  # a part",
        "test_compiled.py::a_verb_that_needs_what_is_not_compiled_ends_with_2_and_one_line",
    ),
    "worker/audit/doctor_versions.py: the doctor looks at one library": (
        "if any(faults):",
        "if faults and faults[0]:",
        "worker/audit/test_doctor_machine.py::a_library_of_another_c_file_is_a_problem",
    ),
}
