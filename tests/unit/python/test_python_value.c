/* SPDX-License-Identifier: MIT */
/* Python values in another process, here this one: for any memory content, reading ends soon with a
 * valid text. Correct values of real objects are tested with each interpreter: test_dump.py. */
#include "python_value.h"

#include "python_runtime.h"
#include "test.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t versions[] = {0x0309, 0x030a, 0x030b, 0x030c};

enum { WORDS = 512 };

static uint64_t memory[WORDS];

/* Words that mostly point into the same memory, so that reading continues. */
static void fill(unsigned *seed)
{
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t inside = (uintptr_t)&memory[rand_r(seed) % WORDS];
        memory[i] = rand_r(seed) % 4 ? inside : (uint64_t)rand_r(seed) << (rand_r(seed) % 33);
    }
}

TEST(garbage_is_read_to_an_end)
{
    unsigned seed = 1;
    for (unsigned round = 0; round < 400; round++) {
        struct python_values values;
        struct python_local locals[64];
        char text[300], tight[8];
        CHECK(python_values_init(&values, getpid(), python_offsets_table(versions[round % 4])));
        fill(&seed);
        values.reads_left = 20000;
        uint64_t object = (uintptr_t)&memory[rand_r(&seed) % WORDS];
        size_t length = python_value_show(&values, object, text, sizeof(text));
        CHECK_INT(length, strlen(text));
        CHECK(utf8_is_text(text, length));
        CHECK(python_value_show(&values, object, tight, sizeof(tight)) < sizeof(tight));
        python_value_attribute(&values, object, "_name");
        uint32_t count = python_locals(&values, object, (uintptr_t)&memory[7], locals, 64);
        CHECK(count <= 64);
    }
}

TEST(nothing_is_read_without_leave)
{
    struct python_values values;
    char text[16];
    CHECK(python_values_init(&values, getpid(), python_offsets_table(0x030b)));
    values.reads_left = 0;
    python_value_show(&values, (uintptr_t)memory, text, sizeof(text));
    CHECK_STR(text, "?");
}

TEST(interpreters_that_are_not_known_are_not_read)
{
    struct python_values values;
    struct python_offsets offsets = *python_offsets_table(0x030c);
    offsets.version = 0x0310;
    CHECK(!python_values_init(&values, getpid(), &offsets));
    offsets.version = 0x030c;
    offsets.flags |= PYTHON_DEBUG_BUILD;
    CHECK(!python_values_init(&values, getpid(), &offsets));
    offsets.version = 0x030d;
    CHECK(python_values_init(&values, getpid(), &offsets) && values.head == 0);
    offsets.flags |= PYTHON_FREE_THREADED;
    CHECK(python_values_init(&values, getpid(), &offsets) && values.head == 16);
    offsets.version = 0x030f;
    CHECK(!python_values_init(&values, getpid(), &offsets));
}
