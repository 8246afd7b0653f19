/* SPDX-License-Identifier: MIT */
/* Rules as texts. What people type is checked here; whatever else stands in a session's text is
 * skipped by those who evaluate it, and kept. */
#include "filter_options.h"

#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ALL_FUNCTIONS "functions/*"

static const char separators[] = ", \t\n";

struct rule {
    const char *text;
    size_t length;  /* of all of it */
    size_t pattern; /* of its pattern, behind the sign */
};

static struct rule rule_of(const char *text, size_t length)
{
    struct rule rule = {text, length, length ? length - 1 : 0};
    if (length > 3 && text[0] == '+' && text[length - 2] == ':' && text[length - 1] >= '0' &&
        text[length - 1] <= '7')
        rule.pattern -= 2;
    return rule;
}

/* The next rule at or behind *at, which is moved behind it. length 0: there is none. */
static struct rule take_rule(const char **at)
{
    const char *begin = *at + strspn(*at, separators);
    size_t length = strcspn(begin, separators);
    *at = begin + length;
    return rule_of(begin, length);
}

static bool is_everything(const struct rule *rule)
{
    return rule->pattern == 1 && rule->text[1] == '*';
}

static bool same_pattern(const struct rule *a, const struct rule *b)
{
    return a->pattern == b->pattern && memcmp(a->text + 1, b->text + 1, a->pattern) == 0;
}

struct rules {
    char text[FILTER_TEXT_SIZE];
    size_t size;
    bool is_full;
};

static void append(struct rules *rules, const char *text, size_t length)
{
    size_t gap = rules->size > 0;
    if (rules->size + gap + length >= sizeof(rules->text)) {
        rules->is_full = true;
        return;
    }
    if (gap)
        rules->text[rules->size++] = ' ';
    memcpy(rules->text + rules->size, text, length);
    rules->size += length;
    rules->text[rules->size] = '\0';
}

/* The sign of the first rule says what becomes of all else. Where that rule goes, it is said. */
static void append_base(struct rules *rules, char before, char after)
{
    if (before != after)
        append(rules, before == '+' ? "-*" : "+*", 2);
}

int filter_text_add(char text[FILTER_TEXT_SIZE], const char *rule_text, size_t length)
{
    struct rule added = rule_of(rule_text, length);
    struct rules rules = {.size = 0};
    const char *at = text;
    const char *first = NULL;
    bool all = is_everything(&added), begun = all;
    for (struct rule rule = take_rule(&at); rule.length > 0 && !all; rule = take_rule(&at)) {
        first = first ? first : rule.text;
        if (same_pattern(&rule, &added))
            continue;
        if (!begun)
            append_base(&rules, *first, rule.text[0]);
        begun = true;
        append(&rules, rule.text, rule.length);
    }
    if (!begun && first)
        append_base(&rules, *first, added.text[0]);
    append(&rules, added.text, added.length);
    if (rules.is_full)
        return -E2BIG;
    memcpy(text, rules.text, rules.size + 1);
    return 0;
}

/* ---- What was typed -------------------------------------------------------------------------- */

/* Where a level begins, or NULL. */
static const char *find_level(const char *word, size_t length)
{
    size_t digits = 0;
    while (digits < length && word[length - 1 - digits] >= '0' && word[length - 1 - digits] <= '9')
        digits++;
    bool found = digits > 0 && digits + 1 < length && word[length - 1 - digits] == ':';
    return found ? word + length - digits : NULL;
}

static int check_word(const struct option_spec *spec, const char *word, size_t length, int status)
{
    const char *level = find_level(word, length);
    int shown = (int)(length < 64 ? length : 64);
    bool on = strcmp(spec->name, "enable") == 0;
    if (word[0] == ':')
        return cmd_fail(
            status, "option --%s: \"%.*s\" names nothing\n\"*\" is everything: --enable '*%.*s'",
            spec->name, shown, word, shown, word);
    if (!level)
        return 0;
    size_t digits = (size_t)(word + length - level);
    int name = (int)(level - 1 - word);
    if (on && (digits > 1 || *level > '7'))
        return cmd_fail(
            status,
            "option --enable: \"%.*s\": levels are 0 to 7\nof a name that ends so, write "
            "\"?\" for its colon",
            shown, word);
    if (!on)
        return cmd_fail(status,
                        "option --disable: \"%.*s\": it takes no level\n--enable '%.*s:%d' records "
                        "up to a level",
                        shown, word, name < 64 ? name : 64, word, *level > '0' ? *level - '1' : 0);
    return 0;
}

static int too_long(const struct option_spec *spec, int status)
{
    return cmd_fail(status,
                    "option --%s: all rules together are longer than %d bytes\nuse patterns: "
                    "'io*' matches io, io2 and io_uring",
                    spec->name, FILTER_TEXT_SIZE - 1);
}

/* Whether there is a rule about all functions. */
static bool knows_all_functions(const char *text)
{
    static const char all[] = "-" ALL_FUNCTIONS;
    const struct rule wanted = rule_of(all, sizeof(all) - 1);
    for (struct rule rule = take_rule(&text); rule.length > 0; rule = take_rule(&text))
        if (same_pattern(&rule, &wanted))
            return true;
    return false;
}

/* Each function is a category of the domain "functions": "parse*" is "+functions/parse*", and
 * others are not wanted then. */
static int add_functions(const struct option_spec *spec, const char *list, int status,
                         char text[FILTER_TEXT_SIZE])
{
    static const char others[] = "-" ALL_FUNCTIONS;
    unsigned count = 0;
    for (const char *at = list + strspn(list, separators); *at; count++) {
        char rule[FILTER_TEXT_SIZE + 1];
        bool is_out = *at == '-';
        size_t length = strcspn(at, separators) - is_out;
        int size = snprintf(rule, sizeof(rule), "%cfunctions/%.*s", is_out ? '-' : '+',
                            (int)(length < sizeof(rule) ? length : sizeof(rule)), at + is_out);
        bool is_full = !is_out && !knows_all_functions(text) &&
                       filter_text_add(text, others, sizeof(others) - 1) != 0;
        if (is_full || (size_t)size >= FILTER_TEXT_SIZE ||
            filter_text_add(text, rule, (size_t)size) != 0)
            return too_long(spec, status);
        at += is_out + length;
        at += strspn(at, separators);
    }
    if (count == 0)
        return cmd_fail(status, "option --functions: it names nothing\na name or a pattern: "
                                "'parse*,-parse_char'; \"?\" for blanks and commas");
    return 0;
}

static int add_words(const struct option_spec *spec, const char *list, int status,
                     char text[FILTER_TEXT_SIZE])
{
    unsigned count = 0;
    for (const char *at = list + strspn(list, separators); *at; count++) {
        char rule[FILTER_TEXT_SIZE + 1] = {strcmp(spec->name, "enable") == 0 ? '+' : '-'};
        size_t length = strcspn(at, separators);
        int error = check_word(spec, at, length, status);
        if (error != 0)
            return error;
        if (length + 1 < sizeof(rule))
            memcpy(rule + 1, at, length);
        if (length + 1 >= sizeof(rule) || filter_text_add(text, rule, length + 1) != 0)
            return too_long(spec, status);
        at += length + strspn(at + length, separators);
    }
    if (count == 0)
        return cmd_fail(status,
                        "option --%s: it names nothing\na domain (io), a category (io/disk), or a "
                        "pattern ('io*', '*/disk')",
                        spec->name);
    return 0;
}

int filter_options_add(const struct option_list *list, int status, char text[FILTER_TEXT_SIZE])
{
    int error = 0;
    for (uint32_t i = 0; i < list->count && error == 0; i++) {
        const struct option_spec *spec = list->items[i].spec;
        bool functions = strcmp(spec->name, "functions") == 0;
        error = (functions ? add_functions : add_words)(spec, list->items[i].text, status, text);
    }
    return error;
}
