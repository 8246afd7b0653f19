/* SPDX-License-Identifier: MIT */
/* Compares containers with plain models; text, UTF-8, checksums and varints with known answers. */
#include "hash.h"
#include "hash_map.h"
#include "strtab.h"
#include "test.h"
#include "text.h"
#include "varint.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>

static uint64_t random_state = 2463534242u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

TEST(vec_keeps_what_is_pushed)
{
    VEC(uint32_t) numbers = {0};
    for (uint32_t i = 0; i < 10000; i++)
        CHECK_INT(vec_push(&numbers, i * 3), 0);
    for (uint32_t i = 0; i < 10000; i++)
        CHECK_INT(numbers.items[i], i * 3);
    CHECK_INT(vec_reserve(&numbers, SIZE_MAX / 4), -ENOMEM);
    CHECK_INT(numbers.count, 10000);
    vec_free(&numbers);
    CHECK_INT(numbers.capacity, 0);
}

/* Known answers of MurmurHash3 x64 128. */
TEST(hash128_is_murmur3)
{
    static const char fox[] = "The quick brown fox jumps over the lazy dog";
    const struct hash128 zero = {0};
    struct hash128 hash = hash128_bytes("hello", 5, zero);
    CHECK_INT(hash.low, (int64_t)UINT64_C(0xcbd8a7b341bd9b02));
    CHECK_INT(hash.high, (int64_t)UINT64_C(0x5b1e906a48ae1d19));
    hash = hash128_bytes(fox, sizeof(fox) - 1, zero);
    CHECK_INT(hash.low, (int64_t)UINT64_C(0xe34bbc7bbc071b6c));
    CHECK_INT(hash.high, (int64_t)UINT64_C(0x7a433ca9c49a9347));
    hash = hash128_bytes(NULL, 0, zero);
    CHECK(hash.low == 0 && hash.high == 0);
}

TEST(map64_agrees_with_an_array)
{
    enum { KEYS = 3000, STEPS = 400000 };

    static uint64_t values[KEYS]; /* 0: absent */
    struct map64 map = {0};
    size_t present = 0;
    for (int step = 0; step < STEPS; step++) {
        uint64_t key = next_random() % KEYS, value = next_random() | 1, taken = 0;
        uint64_t *found = map64_find(&map, key * 4096 + 1);
        CHECK_INT(found ? *found : 0, values[key]);
        present -= values[key] != 0;
        if (next_random() % 2) {
            CHECK_INT(map64_put(&map, key * 4096 + 1, value), 0);
            values[key] = value;
        } else {
            CHECK_INT(map64_take(&map, key * 4096 + 1, &taken), values[key] != 0);
            CHECK_INT(taken, values[key]);
            values[key] = 0;
        }
        present += values[key] != 0;
        CHECK_INT(map.count, present);
    }
    CHECK(map.capacity <= 4096 * 2); /* removal frees the slot */
    map64_free(&map);
}

TEST(to_replace_a_value_of_map64_takes_no_memory)
{
    struct map64 map = {0};
    for (uint64_t key = 1; map.count == 0 || (map.count + 1) * 4 <= map.capacity * 3; key++)
        CHECK_INT(map64_put(&map, key, key), 0);
    size_t capacity = map.capacity; /* the next new key would let it grow */
    for (uint64_t key = 1; key <= map.count; key++)
        CHECK_INT(map64_put(&map, key, key + 1), 0);
    CHECK_INT(map.capacity, capacity);
    CHECK_INT(*map64_find(&map, 1), 2);
    map64_free(&map);
}

/* Keys that are neighbours in every word, with equal sums, differences and exclusive ors. */
TEST(wide_map_agrees_with_an_array_and_keys_never_meet)
{
    enum { SIDE = 12, KEYS = SIDE * SIDE * SIDE, STEPS = 200000 };

    static uint64_t values[KEYS]; /* 0: absent */
    struct wide_map map = {0};
    size_t present = 0;
    for (int step = 0; step < STEPS; step++) {
        uint64_t at = next_random() % KEYS, value = next_random() | 1, taken = 0;
        const struct wide_key *key = WIDE_KEY(at / SIDE / SIDE, at / SIDE % SIDE, 0, at % SIDE);
        uint64_t *found = wide_map_find(&map, key);
        CHECK_INT(found ? *found : 0, values[at]);
        present -= values[at] != 0;
        if (next_random() % 2) {
            CHECK_INT(wide_map_put(&map, key, value), 0);
            values[at] = value;
        } else {
            CHECK_INT(wide_map_take(&map, key, &taken), values[at] != 0);
            CHECK_INT(taken, values[at]);
            values[at] = 0;
        }
        present += values[at] != 0;
        CHECK_INT(map.count, present);
    }
    CHECK(map.capacity <= 4096);
    wide_map_free(&map);
}

TEST(strtab_gives_each_text_one_ordinal)
{
    struct strtab table = {0};
    char bytes[24];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 50000; i++) {
            int length = snprintf(bytes, sizeof(bytes), "%d", i);
            CHECK_INT(strtab_add(&table, bytes, (size_t)length), i);
        }
    CHECK_INT(table.count, 50000);
    CHECK_STR(strtab_get(&table, 12345)->bytes, "12345");
    CHECK_INT(strtab_add(&table, "a\0b", 3), 50000);
    CHECK_INT(strtab_add(&table, "a\0c", 3), 50001);
    CHECK_INT(strtab_append(&table, "7", 1), 50002);
    CHECK_INT(strtab_add(&table, "7", 1), 7);
    strtab_free(&table);
}

TEST(crc32c_gives_the_answers_of_rfc_3720)
{
    uint8_t bytes[32] = {0};
    CHECK_INT(checksum_crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_INT(checksum_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    CHECK_INT(checksum_crc32c(0, bytes, 32), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    CHECK_INT(checksum_crc32c(0, bytes, 32), 0x46dd794e);
    CHECK_INT(checksum_crc32c_portable(0, bytes, 32), 0x46dd794e);
}

TEST(crc32c_is_one_however_computed_and_cut)
{
    static uint8_t bytes[4099];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)next_random();
    for (int round = 0; round < 2000; round++) {
        size_t begin = next_random() % sizeof(bytes);
        size_t size = next_random() % (sizeof(bytes) - begin + 1);
        size_t cut = size ? next_random() % size : 0;
        uint32_t whole = checksum_crc32c(0, bytes + begin, size);
        CHECK_INT(checksum_crc32c_portable(0, bytes + begin, size), whole);
        uint32_t part = checksum_crc32c(0, bytes + begin, cut);
        CHECK_INT(checksum_crc32c(part, bytes + begin + cut, size - cut), whole);
    }
}

TEST(utf8_follows_the_unicode_table)
{
    static const struct {
        const char *bytes;
        size_t length; /* of the first character; 0: ill-formed */
    } cases[] = {
        {"a", 1},
        {"\xc3\xa4", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xee\x80\x80", 3},
        {"\xc0\xaf", 0},         /* overlong */
        {"\xe0\x9f\xbf", 0},     /* overlong */
        {"\xf0\x8f\xbf\xbf", 0}, /* overlong */
        {"\xed\xa0\x80", 0},     /* surrogate */
        {"\xf4\x90\x80\x80", 0}, /* above U+10FFFF */
        {"\xf5\x80\x80\x80", 0},
        {"\x80", 0},
        {"\xc3", 0},
        {"\xe2\x82", 0},
        {"\xc3(", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_INT(utf8_character(cases[i].bytes, strlen(cases[i].bytes)), cases[i].length);
}

TEST(utf8_control_finds_what_terminals_obey)
{
    CHECK_INT(utf8_control("\x01"), 1);
    CHECK_INT(utf8_control("\x1f"), 1);
    CHECK_INT(utf8_control("\x7f"), 1);
    CHECK_INT(utf8_control("\xc2\x80"), 2);
    CHECK_INT(utf8_control("\xc2\x9f"), 2);
    CHECK_INT(utf8_control("\xc2\xa0"), 0);
    CHECK_INT(utf8_control("\xc3\x80"), 0);
    CHECK_INT(utf8_control("\xc2"), 0);
    CHECK_INT(utf8_control(" "), 0);
    CHECK_INT(utf8_control(""), 0);
}

TEST(utf8_repair_makes_text_of_any_bytes)
{
    char out[300], bytes[100];
    CHECK_INT(utf8_repair("ok \xc3\xa4", 5, out), 5);
    CHECK(memcmp(out, "ok \xc3\xa4", 5) == 0);
    size_t length = utf8_repair("a\0\xe2\x82z", 5, out);
    out[length] = '\0';
    CHECK_STR(out, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
    for (int round = 0; round < 20000; round++) {
        size_t size = next_random() % sizeof(bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)(next_random() >> (next_random() % 2 ? 0 : 56));
        length = utf8_repair(bytes, size, out);
        CHECK(length <= 3 * size && utf8_is_text(out, length));
        if (utf8_is_text(bytes, size))
            CHECK(length == size && memcmp(out, bytes, size) == 0);
    }
}

TEST(text_is_cut_between_characters)
{
    char buffer[6];
    struct text text = text_init(buffer, sizeof(buffer));
    text_add(&text, "abc", 3);
    text_add(&text, "\xe2\x82\xac", 3); /* three bytes, two are free */
    CHECK_STR(buffer, "abc");
    text_format(&text, "%d%s", 4, "\xc3\xa4");
    CHECK_STR(buffer, "abc4");
    text_format(&text, "%s", "xyz");
    CHECK_STR(buffer, "abc4x");
    text_format(&text, "y");
    CHECK_INT(text.length, 5);
}

TEST(names_and_digits_are_told_to_their_last_byte)
{
    char hex[9] = "????????";
    CHECK_STR(text_base_name("/usr/lib/libm.so.6"), "libm.so.6");
    CHECK_STR(text_base_name("libm.so.6"), "libm.so.6");
    CHECK_STR(text_base_name("/usr/lib/"), "/usr/lib/");
    CHECK_STR(text_base_name(""), "");
    CHECK(text_hex(hex, (const uint8_t[]){0, 0x7f, 0xe5}, 3) == hex + 6);
    CHECK_STR(hex, "007fe5");
    CHECK_INT(hex[7], '?');
    char longer[23];
    const uint8_t eleven[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xff, 0x00, 0x9a};
    CHECK(text_hex(longer, eleven, sizeof(eleven)) == longer + 22);
    CHECK_STR(longer, "0123456789abcdefff009a");
    CHECK(text_hex(hex, NULL, 0) == hex);
    CHECK_STR(hex, "");
}

TEST(half_a_character_at_the_end_is_dropped)
{
    CHECK_INT(utf8_whole("ab\xe2\x82", 4), 2);
    CHECK_INT(utf8_whole("ab\xe2\x82\xac", 5), 5);
    CHECK_INT(utf8_whole("ab\xc3", 3), 2);
    CHECK_INT(utf8_whole("abc", 3), 3);
    CHECK_INT(utf8_whole("", 0), 0);
}

TEST(varints_come_back_and_end_at_the_end)
{
    uint8_t bytes[VARINT_MAX];
    for (int round = 0; round < 100000; round++) {
        uint64_t value = next_random() >> next_random() % 64;
        uint8_t *end = varint_put(bytes, value);
        struct varint_reader reader = {bytes, end};
        CHECK(varint_get(&reader) == value && reader.at == end);
        reader = (struct varint_reader){bytes, end - 1};
        CHECK(varint_get(&reader) == 0 && !reader.at);
        CHECK(varint_get(&reader) == 0 && !reader.at);
        CHECK_INT(unzigzag(zigzag((int64_t)value)), (int64_t)value);
    }
    CHECK_INT(zigzag(-1), 1);
    CHECK_INT(unzigzag(zigzag(INT64_MIN)), INT64_MIN);
    memset(bytes, 0xff, sizeof(bytes)); /* unterminated */
    struct varint_reader reader = {bytes, bytes + sizeof(bytes)};
    CHECK(varint_get(&reader) == 0 && !reader.at);
}
