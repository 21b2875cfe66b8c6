/* Writes the forms of texts, for `consumers/text/text_forms.py`, which says what a form is: every digit becomes `8`, but not the `0` of `0x`.

   A form has as many bytes as its text, so n texts and their forms share one array of ends: text i is `data[ends[i]]` to before
   `data[ends[i + 1]]`. A byte of a form depends on its own text alone. Nothing is kept between calls. */

#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

static inline uint8_t digit_to_8(uint8_t byte)
{
    return (uint8_t)(byte - '0') < 10 ? '8' : byte;
}

/* The last byte has no byte after it, so it is not the `0` of `0x`. The loop has no branch, so that it becomes vector instructions. */
static void write_form(const uint8_t *restrict text, int64_t size, uint8_t *restrict form)
{
    for (int64_t i = 0; i < size - 1; i++) {
        uint8_t begins_hex = (text[i] == '0') & (text[i + 1] == 'x');
        form[i] = begins_hex ? '0' : digit_to_8(text[i]);
    }
    if (size > 0)
        form[size - 1] = digit_to_8(text[size - 1]);
}

/* Write the forms of n texts into `forms`, which has room for as many bytes as the texts. */
EXPORTED void write_forms(const uint8_t *restrict data, const int32_t *restrict ends, int64_t texts, uint8_t *restrict forms)
{
    for (int64_t i = 0; i < texts; i++)
        write_form(data + ends[i], ends[i + 1] - ends[i], forms + ends[i]);
}
