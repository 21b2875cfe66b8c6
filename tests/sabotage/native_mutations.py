"""The mutations of C files, which a run of the tests compiles.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

NATIVE_MUTATIONS: Changes = {
    "sinks/tokens.c: a block lists the words of its templates with those of its lines": (
        "if (has_hash(of_template, hash) || came_before(found, token, hash))",
        "if (has_hash((hash_set){0}, hash) || came_before(found, token, hash))",
        "sinks/test_words.py::a_token_of_the_template_is_no_word_but_a_part_of_one_is",
    ),
    "sinks/tokens.c: a token hides another one that has its hash": (
        "return (last & UINT32_MAX) == bytes && memcmp(found->data + (last >> 32), token.start, bytes) == 0;",
        "return (last & UINT32_MAX) == bytes && hash_of((span){found->data + (last >> 32), found->data + (last >> 32) + bytes}) == hash;",
        "sinks/test_words.py::a_token_with_the_hash_of_another_one_does_not_hide_it",
    ),
    "sinks/reading/literals.c: a literal that begins in one text and ends in the next is in the first one": (
        "if (end > text_end || found->held[found->row] == WHOLE)",
        "if (found->held[found->row] == WHOLE)",
        "sinks/reading/test_literals.py::a_literal_that_begins_in_one_text_and_ends_in_the_next_is_in_neither",
    ),
    "sinks/reading/literals.c: every byte that nearly is a long literal is compared again and again": (
        "if (patience < 0)",
        "if (false)",
        "sinks/reading/test_literals.py::texts_that_nearly_hold_a_long_literal_everywhere_cost_no_more_than_others",
    ),
    "sinks/reading/literals.c: an identifier inside a longer one is whole": (
        "? WHOLE : IN_A_WORD;",
        "? WHOLE : WHOLE;",
        "worker/querying/test_words.py::an_identifier_is_there_only_as_a_whole_in_whatever_letters",
    ),
    "consumers/text/form_table.c: a form is taken for another one of its length": (
        (
            "return slot->hash == key->hash[0] && slot->form_bytes == key->form_bytes &&\n"
            "           memcmp(table->keys + slot->key_begin, key->begin, key->bytes) == 0;"
        ),
        "return slot->form_bytes == key->form_bytes;",
        "consumers/text/test_known_forms.py",
    ),
    "consumers/decode/line_times.c: a time in the middle of a message is that of the line": (
        "return stands_behind_prefix((struct text){text.bytes, begin}, time->kind);",
        "return true;",
        "consumers/decode/test_line_times.py::a_time_behind_anything_else_is_part_of_the_message",
    ),
    "sinks/milvus/lite_texts.c: what the last bytes of a folder's column lack to seven stands before them": (
        "memcpy(last, bytes, (size_t)size);",
        "memcpy(last + GROUP_BYTES - size, bytes, (size_t)size);",
        "sinks/test_lite_texts.py::what_is_stored_never_changes",
    ),
    "sinks/milvus/lite_texts.c: a folder's column with a character of eight bits is taken for another one": (
        "return any & HIGHEST_BITS ? -1 : size;",
        "return size;",
        "sinks/test_lite_texts.py::what_is_damaged_is_seen_when_it_is_decoded",
    ),
}
