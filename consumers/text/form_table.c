/* A table of known forms: the number that was stored with each. For `consumers/text/known_forms.py`, which says what the numbers mean and
   owns the memory of the table; nothing is kept here between calls, and a table belongs to one call at a time.

   Theory of operation
   1. A form is in the first slot, counted from where its hash points, that holds it; an unused slot ends the search (open addressing,
      linear probing). Forms are never removed one by one.
   2. Forms come from lines that anybody may write, so the hash is SipHash-1-3 with a secret: nobody can choose forms that meet in one
      slot.
   3. The key of a form is the form itself, compared byte by byte; that of a form longer than LONGEST_KEY bytes is its 128-bit hash, so
      that memory does not grow with its length. Two of them have the same one by chance, once in 2^128 pairs.
   4. A search visits a slot at most once, an addition leaves a quarter of the slots unused, and keys are not written beyond their array:
      a form for which there is no room is not added. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { SLOTS = 1 << 17, MOST_FORMS = SLOTS / 4 * 3, KEYS_BYTES = 16 << 20, LONGEST_KEY = 256, DIGEST_BYTES = 16, NEW = -1 };

typedef struct {
    uint64_t hash;
    uint32_t key_begin;
    uint32_t form_bytes;
    int32_t number;
    uint32_t is_used;
} Slot;

/* An empty table is all 0 but for the secret, so that the system gives it memory only as it fills. */
typedef struct {
    uint64_t secret[2];
    uint32_t forms;
    uint32_t key_bytes;
    Slot slots[SLOTS];
    uint8_t keys[KEYS_BYTES];
} Table;

typedef struct {
    uint64_t hash[2];
    uint32_t form_bytes;
    uint32_t bytes;
    const uint8_t *begin;
} Key;

static inline uint64_t rotated(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[0] = rotated(v[0], 32);
    v[2] += v[3];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[2] = rotated(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

static inline uint64_t sip_end(uint64_t v[4])
{
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* SipHash-1-3 with 128 bits (Aumasson and Bernstein, 2012; the reference code at https://github.com/veorq/SipHash). */
static void sip_hash(const uint64_t *secret, const uint8_t *bytes, int64_t size, uint64_t hash[2])
{
    uint64_t v[4] = {
        secret[0] ^ UINT64_C(0x736f6d6570736575),
        secret[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
        secret[0] ^ UINT64_C(0x6c7967656e657261),
        secret[1] ^ UINT64_C(0x7465646279746573),
    };
    uint64_t word;
    int64_t i = 0;
    for (; size - i >= 8; i += 8) {
        memcpy(&word, bytes + i, 8);
        sip_word(v, word);
    }
    word = (uint64_t)size << 56;
    for (int shift = 0; i < size; i++, shift += 8)
        word |= (uint64_t)bytes[i] << shift;
    sip_word(v, word);
    v[2] ^= 0xee;
    hash[0] = sip_end(v);
    v[1] ^= 0xdd;
    hash[1] = sip_end(v);
}

/* What a form is found by. A long one's key is the hash, so it lies in `key`. */
static void set_key(Key *key, const Table *table, const uint8_t *form, int64_t form_bytes)
{
    sip_hash(table->secret, form, form_bytes, key->hash);
    key->form_bytes = (uint32_t)form_bytes;
    key->begin = form_bytes <= LONGEST_KEY ? form : (const uint8_t *)key->hash;
    key->bytes = form_bytes <= LONGEST_KEY ? (uint32_t)form_bytes : DIGEST_BYTES;
}

static inline bool holds(const Table *table, const Slot *slot, const Key *key)
{
    return slot->hash == key->hash[0] && slot->form_bytes == key->form_bytes &&
           memcmp(table->keys + slot->key_begin, key->begin, key->bytes) == 0;
}

/* The place of the slot that holds the form, or else of the unused one where it belongs. A quarter of the slots is unused. */
static size_t find_slot(const Table *table, const Key *key)
{
    size_t place = key->hash[0] % SLOTS;
    while (table->slots[place].is_used && !holds(table, &table->slots[place], key))
        place = (place + 1) % SLOTS;
    return place;
}

static void add_form(Table *table, const Key *key, int32_t number)
{
    Slot *slot = &table->slots[find_slot(table, key)];
    if (!slot->is_used) {
        if (table->forms >= MOST_FORMS || key->bytes > KEYS_BYTES - table->key_bytes)
            return;
        memcpy(table->keys + table->key_bytes, key->begin, key->bytes);
        *slot = (Slot){key->hash[0], table->key_bytes, key->form_bytes, number, 1};
        table->key_bytes += key->bytes;
        table->forms++;
    }
    slot->number = number;
}

/* How many bytes a table needs. The caller sets the first 16, the secret, to random ones, and all others to 0. */
EXPORTED int64_t table_bytes(void)
{
    return sizeof(Table);
}

/* Add n forms with their numbers; form i is `data[ends[i]]` to before `data[ends[i + 1]]`. */
EXPORTED void add_forms(Table *table, const uint8_t *data, const int32_t *ends, int64_t forms, const int32_t *numbers)
{
    for (int64_t i = 0; i < forms; i++) {
        Key key;
        set_key(&key, table, data + ends[i], ends[i + 1] - ends[i]);
        add_form(table, &key, numbers[i]);
    }
}

/* Write the number of each of n forms to `numbers`; NEW for one that is not in the table. */
EXPORTED void find_forms(const Table *table, const uint8_t *data, const int32_t *ends, int64_t forms, int32_t *numbers)
{
    for (int64_t i = 0; i < forms; i++) {
        Key key;
        set_key(&key, table, data + ends[i], ends[i + 1] - ends[i]);
        const Slot *slot = &table->slots[find_slot(table, &key)];
        numbers[i] = slot->is_used ? slot->number : NEW;
    }
}

/* Replace the numbers of n rows by codes, which are places in `used`, and write there each number once, in the order of first use.
   Negative numbers stay. `places` has an element, 0, for each of the numbers, and `used` has one for each row. Returns how many are
   used. */
EXPORTED int64_t code_numbers(int32_t *rows, int64_t size, int32_t *places, int64_t numbers, int32_t *used)
{
    int32_t count = 0;
    for (int64_t i = 0; i < size; i++) {
        int32_t number = rows[i];
        if (number < 0 || number >= numbers)
            continue;
        if (places[number] == 0) {
            used[count++] = number;
            places[number] = count;
        }
        rows[i] = places[number] - 1;
    }
    return count;
}
