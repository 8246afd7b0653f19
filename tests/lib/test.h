/* SPDX-License-Identifier: MIT */
/* A small runner: tests register themselves, each runs in a forked child with a time limit, and
 * a child that leaves descriptors open fails.
 *
 *     TEST(block_survives_sigkill_mid_commit) { CHECK_INT(block_claim(...), 0); }
 *
 * The program prints one line per test and exits 0, 1, or 77 if every test was skipped. Options:
 * -l lists, NAME... selects, -n runs without fork (for debuggers). */
#ifndef ANNOT_TEST_H
#define ANNOT_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct test {
    const char *name;
    void (*run)(void);
    unsigned timeout_seconds; /* 0 = 60 */
};

#define TEST_TIMEOUT(test_name, seconds)                                                           \
    static void test_##test_name(void);                                                            \
    static const struct test test_entry_##test_name = {#test_name, test_##test_name, seconds};     \
    __attribute__((                                                                                \
        used, section("test_table"))) static const struct test *const test_pointer_##test_name =   \
        &test_entry_##test_name;                                                                   \
    static void test_##test_name(void)
#define TEST(name) TEST_TIMEOUT(name, 0)

__attribute__((noreturn, format(printf, 3, 4))) void test_fail(const char *file, int line,
                                                               const char *format, ...);
/* Ends the test as skipped; the summary counts and shows the reason. */
__attribute__((noreturn, format(printf, 1, 2))) void test_skip(const char *format, ...);

/* A fresh private directory, removed (with contents) when the test ends. */
const char *test_directory(void);

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "not true: %s", #condition))
#define CHECK_INT(actual, expected)                                                                \
    do {                                                                                           \
        long long test_a = (long long)(actual), test_e = (long long)(expected);                    \
        if (test_a != test_e)                                                                      \
            test_fail(__FILE__, __LINE__, "%s is %lld, not %lld", #actual, test_a, test_e);        \
    } while (0)
#define CHECK_STR(actual, expected)                                                                \
    do {                                                                                           \
        const char *test_a = (actual), *test_e = (expected);                                       \
        if (!test_a || strcmp(test_a, test_e) != 0)                                                \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #actual,                     \
                      test_a ? test_a : "(null)", test_e);                                         \
    } while (0)

#endif
