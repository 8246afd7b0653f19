/* SPDX-License-Identifier: MIT */
/* Compares rules with cases written by hand, and with a slow evaluator that tries everything. */
#include "test.h"

#include <annot_filter.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALL = ANNOT_LEVELS - 1, OFF = ANNOT_FILTER_OFF };

static int level(const char *rules, const char *domain, const char *category)
{
    const struct annot_filter_name name = {
        .domain = domain,
        .domain_length = (uint32_t)strlen(domain),
        .category = category,
        .category_length = category ? (uint32_t)strlen(category) : 0,
    };
    return annot_filter_level(rules, (uint32_t)strlen(rules), &name);
}

TEST(without_rules_everything_is_wanted)
{
    CHECK_INT(level("", "io", NULL), ALL);
    CHECK_INT(level(" , ,", "default", "x"), ALL);
    CHECK_INT(level("io + - +:3", "io", NULL), ALL); /* these are not rules */
}

TEST(the_first_rule_says_what_becomes_of_the_rest)
{
    CHECK_INT(level("+io", "io", NULL), ALL);
    CHECK_INT(level("+io", "net", NULL), OFF);
    CHECK_INT(level("-io", "io", NULL), OFF);
    CHECK_INT(level("-io", "net", NULL), ALL);
    CHECK_INT(level("-io +db:2", "net", NULL), ALL);
}

TEST(the_last_rule_that_fits_wins)
{
    CHECK_INT(level("+io,-io,+io:3", "io", NULL), 3);
    CHECK_INT(level("+* -io* +io2", "io", NULL), OFF);
    CHECK_INT(level("+* -io* +io2", "io2", NULL), ALL);
    CHECK_INT(level("+* -io* +io2", "net", NULL), ALL);
}

TEST(levels_are_digits_behind_the_last_colon)
{
    CHECK_INT(level("+io:0", "io", NULL), 0);
    CHECK_INT(level("+io:7", "io", NULL), 7);
    CHECK_INT(level("+io:8", "io:8", NULL), ALL);
    CHECK_INT(level("+lib::io", "lib::io", NULL), ALL);
    CHECK_INT(level("+lib::io:2", "lib::io", NULL), 2);
    CHECK_INT(level("-io:2", "io:2", NULL), OFF); /* an exclusion has no level */
    CHECK_INT(level("-io:2", "io", NULL), ALL);
}

TEST(a_pattern_without_slash_is_about_a_domain_and_all_in_it)
{
    CHECK_INT(level("+io", "io", "disk"), ALL);
    CHECK_INT(level("+disk", "io", "disk"), OFF);
    CHECK_INT(level("+io*", "io", "disk"), ALL);
    CHECK_INT(level("+*sk", "io", "disk"), OFF);
}

TEST(a_pattern_with_slash_is_about_categories)
{
    CHECK_INT(level("+io/disk", "io", "disk"), ALL);
    CHECK_INT(level("+io/disk", "io", "tape"), OFF);
    CHECK_INT(level("+io/disk", "io", NULL), OFF);
    CHECK_INT(level("+io/*", "io", "tape"), ALL);
    CHECK_INT(level("+io/*", "io", NULL), OFF);
    CHECK_INT(level("+*/disk", "tape", "disk"), ALL);
    CHECK_INT(level("+a/b", "a/b", NULL), ALL); /* a possible domain name */
    CHECK_INT(level("-default/noise", "default", "noise"), OFF);
}

TEST(a_question_mark_is_one_character_of_any_length)
{
    CHECK_INT(level("+?", "\xe2\x82\xac", NULL), ALL);
    CHECK_INT(level("+??", "\xe2\x82\xac", NULL), OFF);
    CHECK_INT(level("+*??", "\xc3\xa4\xe2\x82\xac", NULL), ALL);
    CHECK_INT(level("+*???", "\xc3\xa4\xe2\x82\xac", NULL), OFF);
    CHECK_INT(level("+a?b", "a b", NULL), ALL);
    CHECK_INT(level("+a?b", "a,b", NULL), ALL);
}

TEST(numbers_that_share_a_bit_are_wanted_together)
{
    struct annot_filter_masks masks = {0};
    annot_filter_add(&masks, 3, OFF);
    annot_filter_add(&masks, 4, 2);
    CHECK(annot_filter_mask(&masks, 0) == ~UINT64_C(8));
    CHECK(annot_filter_mask(&masks, 3) == ~UINT64_C(24));
    annot_filter_add(&masks, 64 + 3, 0);
    CHECK(annot_filter_mask(&masks, 0) == UINT64_MAX);
    CHECK(annot_filter_mask(&masks, 1) == ~UINT64_C(8));
    annot_filter_add(&masks, 65535, OFF);
    CHECK(annot_filter_mask(&masks, 7) == ~(UINT64_C(24) | UINT64_C(1) << 63));
}

/* ---- A slow evaluator, from the description only ---- */

static unsigned seed;

static unsigned below(unsigned limit)
{
    return (unsigned)rand_r(&seed) % limit;
}

static bool slow_match(const char *pattern, const char *text)
{
    if (*pattern == 0)
        return *text == 0;
    if (*pattern == '*')
        return slow_match(pattern + 1, text) || (*text && slow_match(pattern, text + 1));
    return *text && (*pattern == '?' || *pattern == *text) && slow_match(pattern + 1, text + 1);
}

struct slow_rule {
    char sign, pattern[16];
    int level; /* -1: unset */
};

static int slow_level(const struct slow_rule *rules, unsigned count, const char *domain,
                      const char *category)
{
    char whole[64];
    int result = count > 0 && rules[0].sign == '+' ? OFF : ALL;
    snprintf(whole, sizeof(whole), "%s%s%s", domain, category ? "/" : "", category ? category : "");
    for (unsigned i = 0; i < count; i++) {
        const char *text = strchr(rules[i].pattern, '/') ? whole : domain;
        if (slow_match(rules[i].pattern, text))
            result = rules[i].sign == '-' ? OFF : rules[i].level < 0 ? ALL : rules[i].level;
    }
    return result;
}

/* Makes a text of few letters, so that matches are frequent. */
static void make_text(char *text, const char *letters, unsigned least, unsigned most)
{
    unsigned length = least + below(most - least + 1);
    for (unsigned i = 0; i < length; i++)
        text[i] = letters[below((unsigned)strlen(letters))];
    text[length] = 0;
}

static unsigned make_rules(struct slow_rule *rules, unsigned most, char *text, size_t size)
{
    unsigned count = below(most + 1);
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i < count; i++) {
        rules[i].sign = below(2) ? '+' : '-';
        rules[i].level = rules[i].sign == '+' && below(3) == 0 ? (int)below(8) : -1;
        make_text(rules[i].pattern, below(2) ? "ab*?" : "ab*?/*", 1, 8);
        used += (size_t)snprintf(text + used, size - used, "%s%c%s",
                                 i ? (below(2) ? " " : ",") : "", rules[i].sign, rules[i].pattern);
        if (rules[i].level >= 0)
            used += (size_t)snprintf(text + used, size - used, ":%d", rules[i].level);
    }
    return count;
}

TEST(random_rules_are_evaluated_as_described)
{
    unsigned wanted = 0, not_wanted = 0;
    seed = getenv("ANNOT_TEST_SEED") ? (unsigned)atoi(getenv("ANNOT_TEST_SEED")) : 1;
    for (int i = 0; i < 200000; i++) {
        struct slow_rule rules[6];
        char text[256], domain[16], category[16];
        unsigned count = make_rules(rules, 6, text, sizeof(text));
        make_text(domain, below(8) ? "ab" : "ab/", 1, 6);
        make_text(category, "ab", 0, 4);
        const char *given = below(2) ? category : NULL;
        int expected = slow_level(rules, count, domain, given), got = level(text, domain, given);
        if (got != expected)
            test_fail(__FILE__, __LINE__, "\"%s\" of \"%s\", \"%s\": %d, not %d", text, domain,
                      given ? given : "(none)", got, expected);
        wanted += got == ALL;
        not_wanted += got == OFF;
    }
    CHECK(wanted > 20000 && not_wanted > 20000);
}

/* For arbitrary bytes, reads stay within them (checked by AddressSanitizer), and so do the
 * results. */
TEST(bytes_that_are_no_rules_are_skipped)
{
    seed = 7;
    for (int i = 0; i < 50000; i++) {
        uint32_t size = below(40);
        char *text = malloc(size + (size_t)1), *name = malloc(size + (size_t)1);
        CHECK(text && name);
        for (uint32_t at = 0; at < size; at++) {
            text[at] = below(3) ? "+-*?/:7 ,"[below(9)] : (char)below(256);
            name[at] = (char)below(256);
        }
        const char *at = text, *end = text + size;
        struct annot_filter_rule rule;
        const struct annot_filter_name given = {name, name, size, size};
        while (annot_filter_next(&at, end, &rule)) {
            CHECK(rule.length > 0 && rule.pattern > text && rule.pattern + rule.length <= at);
            CHECK(rule.level >= OFF && rule.level <= ALL);
        }
        CHECK(at == end);
        int found = annot_filter_level(text, size, &given);
        CHECK(found >= OFF && found <= ALL);
        free(text);
        free(name);
    }
}

/* Stars do not multiply the work: the longest filter and name take some hundred thousand steps. */
TEST(patterns_of_many_stars_end_soon)
{
    char rules[ANNOT_FILTER_MAX], name[ANNOT_STRING_MAX + 1];
    for (int i = 0; i < ANNOT_FILTER_MAX; i++)
        rules[i] = i == 0 ? '+' : i % 2 ? '*' : 'a';
    rules[ANNOT_FILTER_MAX - 1] = 'b';
    memset(name, 'a', ANNOT_STRING_MAX);
    name[ANNOT_STRING_MAX] = 0;
    const struct annot_filter_name given = {name, name, ANNOT_STRING_MAX, ANNOT_STRING_MAX};
    for (int i = 0; i < 100; i++)
        CHECK_INT(annot_filter_level(rules, sizeof(rules), &given), OFF);
}
