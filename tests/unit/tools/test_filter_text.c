/* SPDX-License-Identifier: MIT */
/* Rules added to a text must have the effect of all rules in sequence, although the text is kept
 * short. */
#include "record_options.h"
#include "test.h"

#include <annot_filter.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned seed = 1;

static unsigned below(unsigned limit)
{
    return (unsigned)rand_r(&seed) % limit;
}

static int level(const char *rules, const struct annot_filter_name *name)
{
    return annot_filter_level(rules, (uint32_t)strlen(rules), name);
}

/* From few patterns, so that many repeat. */
static void make_rule(char *rule, size_t size)
{
    static const char *const patterns[] = {"a",   "b", "*",   "a*",  "?",  "a/b",
                                           "*/b", "c", "a/*", "??*", "b/", "functions/*"};
    char tail[4] = "";
    bool on = below(2);
    if (on && below(3) == 0)
        snprintf(tail, sizeof(tail), ":%u", below(8));
    snprintf(rule, size, "%c%s%s", on ? '+' : '-', patterns[below(12)], tail);
}

static void compare(const char *text, const char *all)
{
    static const char *const names[] = {"a", "b", "c", "ab", "default", "functions"};
    for (int i = 0; i < 6 * 7; i++) {
        const char *domain = names[i % 6], *category = i / 6 < 6 ? names[i / 6] : NULL;
        const struct annot_filter_name name = {domain, category, (uint32_t)strlen(domain),
                                               category ? (uint32_t)strlen(category) : 0};
        if (level(text, &name) != level(all, &name))
            test_fail(__FILE__, __LINE__, "\"%s\" and \"%s\" differ on %s/%s", text, all, domain,
                      category ? category : "");
    }
}

TEST(a_short_text_judges_like_all_rules_in_a_row)
{
    for (int i = 0; i < 3000; i++) {
        char text[FILTER_TEXT_SIZE] = "", all[2048] = "";
        unsigned count = 1 + below(40);
        for (unsigned k = 0; k < count; k++) {
            char rule[32];
            make_rule(rule, sizeof(rule));
            CHECK_INT(filter_text_add(text, rule, strlen(rule)), 0);
            snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", rule);
            compare(text, all);
        }
    }
}

TEST(rules_that_come_again_take_no_room)
{
    char text[FILTER_TEXT_SIZE] = "";
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(filter_text_add(text, i % 2 ? "+noise" : "-noise", 6), 0);
        CHECK_INT(filter_text_add(text, i % 3 ? "+io:3" : "-io", i % 3 ? 5 : 3), 0);
    }
    CHECK(strlen(text) < 24);
    CHECK_INT(filter_text_add(text, "-*", 2), 0);
    CHECK_STR(text, "-*");
}

TEST(what_is_too_long_changes_nothing)
{
    char text[FILTER_TEXT_SIZE] = "", before[FILTER_TEXT_SIZE], rule[32];
    int error = 0;
    for (unsigned i = 0; error == 0; i++) {
        strcpy(before, text);
        snprintf(rule, sizeof(rule), "-domain%u", i);
        error = filter_text_add(text, rule, strlen(rule));
    }
    CHECK_INT(error, -E2BIG);
    CHECK_STR(text, before);
    CHECK(strlen(text) <= ANNOT_FILTER_MAX && strlen(text) > ANNOT_FILTER_MAX - 12);
}

TEST(what_nobody_typed_is_kept)
{
    char text[FILTER_TEXT_SIZE] = "  rubbish,+a:2\t-b\n";
    CHECK_INT(filter_text_add(text, "+c", 2), 0);
    CHECK_STR(text, "rubbish +a:2 -b +c");
}
