/* SPDX-License-Identifier: MIT */
/* Implements record_options.h. Only the user's filter rules are checked here; unknown parts of a
 * session's text are kept, and skipped by its readers. */
#include "record_options.h"

#include "cmd.h"
#include "missing.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Policy ---------------------------------------------------------------------------------- */

enum collector_policy policy_of(const char *word)
{
    if (word && strcmp(word, "overwrite") == 0)
        return COLLECTOR_OVERWRITE;
    if (word && strcmp(word, "wait") == 0)
        return COLLECTOR_WAIT;
    return COLLECTOR_DROP;
}

/* ---- Sampling -------------------------------------------------------------------------------- */

enum {
    FREQUENCY_MAX = 10000, /* a sample interrupts its thread for some microseconds */
    FREQUENCY_SENSIBLE = 1000,
    RATE_MAX = 100000000,
};

#define THRESHOLD_DEFAULT_NS INT64_C(1000000) /* equals the default in the option table */

/* Each volume begins with all definitions. */
enum { VOLUME_BYTES_MIN = 1 << 20 };

int volume_check(uint64_t bytes, int status)
{
    if (bytes == 0 || bytes >= VOLUME_BYTES_MIN)
        return 0;
    return cmd_fail(status, "option --volume-size: at least 1M");
}

static bool is_every_wait(const struct sampling_values *values)
{
    return values->all_waits || (values->waits && !*values->waits);
}

int sampling_check(const struct sampling_values *values, int status)
{
    if (values->frequency_hz == 0)
        return cmd_fail(status,
                        "option --rate: 0 samples a second are none\n"
                        "a number from 1 to %d; the default is 99",
                        FREQUENCY_MAX);
    if (values->frequency_hz > FREQUENCY_MAX)
        return cmd_fail(status,
                        "option --rate: at most %d samples a second\n--rate 999 shows what "
                        "takes milliseconds; for shorter work, annotate it",
                        FREQUENCY_MAX);
    if (values->waits_hz == 0 || values->waits_hz > RATE_MAX)
        return cmd_fail(status,
                        "option --off-cpu=rate: a number from 1 to %d\nthe default is "
                        "500000 waits a second",
                        RATE_MAX);
    if (is_every_wait(values) && values->no_waits)
        return cmd_fail(status, "option --off-cpu: all and none: use only one\nwithout them, "
                                "waits of 1ms and more are recorded");
    if (is_every_wait(values) && is_unsampled(values))
        return cmd_fail(status,
                        "options --off-cpu and --sampling none: use only one\nwaits are sampled "
                        "as well");
    if (values->frequency_hz > FREQUENCY_SENSIBLE && !is_unsampled(values))
        cmd_note("%u samples a second slow busy threads down and distort the recording\n"
                 "--rate 999 costs about 2 %%",
                 (unsigned)values->frequency_hz);
    return 0;
}

/* 0, all waits, unless a threshold is also given. */
static int64_t threshold_of(const struct sampling_values *values)
{
    bool given = values->threshold_ns != THRESHOLD_DEFAULT_NS;
    return is_every_wait(values) && !given ? 0 : values->threshold_ns;
}

void sampling_apply(const struct sampling_values *values, struct collector_options *options)
{
    bool none = is_unsampled(values);
    options->sample_hz = none ? 0 : (uint32_t)values->frequency_hz;
    options->off_cpu = !values->no_waits && !none;
    options->off_cpu_threshold_ns = threshold_of(values);
    options->off_cpu_rate_max = (uint32_t)values->waits_hz;
    options->rung_max = none ? SAMPLING_BPF : sampling_rung_max(values->rung); /* for ranges */
    options->no_source = values->no_source;
}

bool is_unsampled(const struct sampling_values *values)
{
    return strcmp(values->rung, "none") == 0;
}

enum sampling_rung sampling_rung_max(const char *word)
{
    if (strcmp(word, "remote") == 0)
        return SAMPLING_REMOTE;
    return strcmp(word, "none") == 0 ? SAMPLING_NONE : SAMPLING_BPF;
}

/* ---- Python ---------------------------------------------------------------------------------- */

/* Must equal the lists in pyannot.observe; a test compares them. */
static const char *const part_names[] = {"names", "pools",   "asyncio",    "greenlets",
                                         "gc",    "imports", "subprocess", NULL};
static const char *const option_names[] = {"asyncio-steps", "asyncio-slow", NULL};

static bool is_one_of(const char *const *names, const char *word, size_t length)
{
    for (; *names; names++)
        if (strlen(*names) == length && memcmp(*names, word, length) == 0)
            return true;
    return false;
}

static bool is_known(const char *word, size_t length)
{
    const char *value = memchr(word, '=', length);
    if (is_one_of(option_names, word, value ? (size_t)(value - word) : length))
        return true;
    if (is_one_of((const char *const[]){"default", "none", "", NULL}, word, length))
        return true;
    bool without = length > 0 && word[0] == '-';
    return is_one_of(part_names, word + without, length - without);
}

int python_check(const struct python_values *values, int status)
{
    for (const char *word = values->parts ? values->parts : ""; *word;) {
        size_t length = strcspn(word, ",");
        if (!is_known(word, length))
            return cmd_fail(status,
                            "option --python: \"%.*s\" is not something that pyannot observes\n"
                            "names, pools, asyncio, greenlets, gc, imports, subprocess; "
                            "asyncio-steps, asyncio-slow=TIME; -NAME takes one off; none",
                            (int)length, word);
        word += length + (word[length] == ',');
    }
    return 0;
}

/* ---- Filters --------------------------------------------------------------------------------- */

#define ALL_FUNCTIONS "functions/*"

static const char separators[] = ", \t\n";

struct rule {
    const char *text;
    size_t length;  /* of the whole rule */
    size_t pattern; /* of the pattern, without the sign */
};

static struct rule rule_of(const char *text, size_t length)
{
    struct rule rule = {text, length, length ? length - 1 : 0};
    if (length > 3 && text[0] == '+' && text[length - 2] == ':' && text[length - 1] >= '0' &&
        text[length - 1] <= '7')
        rule.pattern -= 2;
    return rule;
}

/* Returns the next rule at or after *at and moves *at past it. length 0: at the end. */
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

/* The sign of the first rule decides about events without a match. If that rule is removed, a base
 * rule states it explicitly. */
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

/* ---- Rules from the command line ------------------------------------------------------------- */

/* Returns the start of the level, or NULL. */
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
            "option --enable: \"%.*s\": levels are 0 to 7\nin a name that ends like this, write "
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

/* Returns true if a rule covers all functions. */
static bool knows_all_functions(const char *text)
{
    static const char all[] = "-" ALL_FUNCTIONS;
    const struct rule wanted = rule_of(all, sizeof(all) - 1);
    for (struct rule rule = take_rule(&text); rule.length > 0; rule = take_rule(&text))
        if (same_pattern(&rule, &wanted))
            return true;
    return false;
}

/* Each function is a category of the domain "functions": "parse*" becomes "+functions/parse*" and
 * excludes the others. */
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

/* ---- Capture ranges -------------------------------------------------------------------------- */

int capture_parse(const char *word, int status, char text[CAPTURE_TEXT_SIZE])
{
    const char *at = word ? strrchr(word, '@') : NULL;
    text[0] = 0;
    if (!word)
        return 0;
    if (!*word || at == word || (at && !at[1]))
        return cmd_fail(status, "option --capture-range: it names no range\n"
                                "NAME, or NAME@DOMAIN: 'step', 'train*@torch', 'me@home@*'");
    if (strstr(word, " +") || strstr(word, " -"))
        return cmd_fail(status, "option --capture-range: it looks like a rule of --enable\n"
                                "write ? for the blank");
    if (strchr(word, '\x1f'))
        return cmd_fail(status, "option --capture-range: no range has such a name");
    if (snprintf(text, CAPTURE_TEXT_SIZE, "%s", word) >= CAPTURE_TEXT_SIZE)
        return cmd_fail(status,
                        "option --capture-range: longer than %d bytes\na pattern is shorter: "
                        "'begin of the name*'",
                        CAPTURE_TEXT_SIZE - 1);
    if (at)
        text[at - word] = '\x1f';
    return 0;
}
