/* Packs bytes into characters of seven bits, and unpacks them, for `sinks/milvus/lite_texts.py`, the only caller.
 *
 * Seven bytes are eight characters: 56 bits, the highest bit of the first byte first. What the last bytes lack to seven is zeros.
 *
 * Whatever is read or written lies within arrays of the sizes that the caller says. The time is linear in the bytes; there is no state
 * between calls.
 */
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { GROUP_BYTES = 7, GROUP_CHARACTERS = 8 };

static const uint64_t HIGHEST_BITS = 0x8080808080808080;

/* Returns the eight bytes from `at` on, the first one highest. */
static uint64_t eight_bytes(const uint8_t *at)
{
    return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 | (uint64_t)at[3] << 32 | (uint64_t)at[4] << 24 |
           (uint64_t)at[5] << 16 | (uint64_t)at[6] << 8 | at[7];
}

/* Writes eight bytes, the highest one first. */
static void write_eight_bytes(uint8_t *at, uint64_t eight)
{
    at[0] = (uint8_t)(eight >> 56);
    at[1] = (uint8_t)(eight >> 48);
    at[2] = (uint8_t)(eight >> 40);
    at[3] = (uint8_t)(eight >> 32);
    at[4] = (uint8_t)(eight >> 24);
    at[5] = (uint8_t)(eight >> 16);
    at[6] = (uint8_t)(eight >> 8);
    at[7] = (uint8_t)eight;
}

/* Writes the eight characters of the highest seven of these bytes: each half of 28 bits, then each of 14, then each of seven moves away from
 * the other. */
static void write_characters(uint8_t *characters, uint64_t bytes)
{
    uint64_t bits = bytes >> 8;
    bits = (bits & 0x00fffffff0000000) << 4 | (bits & 0x000000000fffffff);
    bits = (bits & 0x0fffc0000fffc000) << 2 | (bits & 0x00003fff00003fff);
    bits = (bits & 0x3f803f803f803f80) << 1 | (bits & 0x007f007f007f007f);
    write_eight_bytes(characters, bits);
}

/* Returns the seven bytes of eight characters, without their highest bits, and a zero below them. */
static uint64_t bytes_of(uint64_t characters)
{
    uint64_t bits = characters & ~HIGHEST_BITS;
    bits = (bits >> 1 & 0x3f803f803f803f80) | (bits & 0x007f007f007f007f);
    bits = (bits >> 2 & 0x0fffc0000fffc000) | (bits & 0x00003fff00003fff);
    bits = (bits >> 4 & 0x00fffffff0000000) | (bits & 0x000000000fffffff);
    return bits << 8;
}

/* Returns how many characters so many bytes take. */
static int64_t characters_of(int64_t size)
{
    return GROUP_CHARACTERS * (size / GROUP_BYTES + (size % GROUP_BYTES > 0));
}

/* Writes the characters of n bytes; returns how many, -1 if there is no room for them. */
EXPORTED int64_t pack_bytes(const uint8_t *bytes, int64_t size, uint8_t *characters, int64_t capacity)
{
    int64_t count = characters_of(size);
    if (capacity < count)
        return -1;
    for (; size > GROUP_BYTES; size -= GROUP_BYTES) { /* so there is an eighth byte */
        write_characters(characters, eight_bytes(bytes));
        bytes += GROUP_BYTES;
        characters += GROUP_CHARACTERS;
    }
    if (size > 0) {
        uint8_t last[8] = {0};
        memcpy(last, bytes, (size_t)size);
        write_characters(characters, eight_bytes(last));
    }
    return count;
}

/* Writes the n bytes of characters; returns how many, -1 if these are not as many as n bytes take, or one has eight bits. */
EXPORTED int64_t unpack_bytes(const uint8_t *characters, int64_t count, uint8_t *bytes, int64_t size)
{
    if (count != characters_of(size))
        return -1;
    uint64_t any = 0;
    int64_t left = size;
    for (; left > GROUP_BYTES; left -= GROUP_BYTES) { /* so there is room for an eighth byte, which the next ones replace */
        uint64_t eight = eight_bytes(characters);
        any |= eight;
        write_eight_bytes(bytes, bytes_of(eight));
        characters += GROUP_CHARACTERS;
        bytes += GROUP_BYTES;
    }
    if (left > 0) {
        uint8_t last[8];
        uint64_t eight = eight_bytes(characters);
        any |= eight;
        write_eight_bytes(last, bytes_of(eight));
        memcpy(bytes, last, (size_t)left);
    }
    return any & HIGHEST_BITS ? -1 : size;
}
