"""The mutations of C files, which a run of the tests compiles.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_TOKENS = "sinks/tokens.c"
_LITERALS = "sinks/reading/literals.c"
_TEST_LITERALS = "tests/sinks/reading/test_literals.py"
_FORM_TABLE = "consumers/text/form_table.c"
_LINE_TIMES = "consumers/decode/line_times.c"
_LITE_TEXTS = "sinks/milvus/lite_texts.c"

NATIVE_MUTATIONS = (
    Mutation(
        "a block lists the words of its templates with those of its lines",
        _TOKENS,
        "if (has_hash(of_template, hash) || came_before(found, token, hash))",
        "if (has_hash((hash_set){0}, hash) || came_before(found, token, hash))",
        ("tests/sinks/test_words.py::test_a_token_of_the_template_is_no_word_but_a_part_of_one_is",),
    ),
    Mutation(
        "a token hides another one that has its hash",
        _TOKENS,
        "return (last & UINT32_MAX) == bytes && memcmp(found->data + (last >> 32), token.start, bytes) == 0;",
        "return (last & UINT32_MAX) == bytes && hash_of((span){found->data + (last >> 32), found->data + (last >> 32) + bytes}) == hash;",
        ("tests/sinks/test_words.py::test_a_token_with_the_hash_of_another_one_does_not_hide_it",),
    ),
    Mutation(
        "a literal that begins in one text and ends in the next is in the first one",
        _LITERALS,
        "if (end > text_end || found->held[found->row] == WHOLE)",
        "if (found->held[found->row] == WHOLE)",
        (f"{_TEST_LITERALS}::test_a_literal_that_begins_in_one_text_and_ends_in_the_next_is_in_neither",),
    ),
    Mutation(
        "every byte that nearly is a long literal is compared again and again",
        _LITERALS,
        "if (patience < 0)",
        "if (false)",
        (f"{_TEST_LITERALS}::test_texts_that_nearly_hold_a_long_literal_everywhere_cost_no_more_than_others",),
    ),
    Mutation(
        "an identifier inside a longer one is whole",
        _LITERALS,
        "? WHOLE : IN_A_WORD;",
        "? WHOLE : WHOLE;",
        ("tests/worker/querying/test_words.py::test_an_identifier_is_there_only_as_a_whole_in_whatever_letters",),
    ),
    Mutation(
        "a form is taken for another one of its length",
        _FORM_TABLE,
        "return slot->hash == key->hash[0] && slot->form_bytes == key->form_bytes &&\n"
        "           memcmp(table->keys + slot->key_begin, key->begin, key->bytes) == 0;",
        "return slot->form_bytes == key->form_bytes;",
        ("tests/consumers/text/test_known_forms.py",),
    ),
    Mutation(
        "a time in the middle of a message is that of the line",
        _LINE_TIMES,
        "return stands_behind_prefix((struct text){text.bytes, begin}, time->kind);",
        "return true;",
        ("tests/consumers/decode/test_line_times.py::test_a_time_behind_anything_else_is_part_of_the_message",),
    ),
    Mutation(
        "what the last bytes of a folder's column lack to seven stands before them",
        _LITE_TEXTS,
        "memcpy(last, bytes, (size_t)size);",
        "memcpy(last + GROUP_BYTES - size, bytes, (size_t)size);",
        ("tests/sinks/test_lite_texts.py::test_what_is_stored_never_changes",),
    ),
    Mutation(
        "a folder's column with a character of eight bits is taken for another one",
        _LITE_TEXTS,
        "return any & HIGHEST_BITS ? -1 : size;",
        "return size;",
        ("tests/sinks/test_lite_texts.py::test_what_is_damaged_is_seen_when_it_is_decoded",),
    ),
)
