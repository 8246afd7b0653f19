/* SPDX-License-Identifier: MIT */
/* The option parser of options.h, and numbers with units as people type them: times, sizes, counts.
 *
 * Operands may stand between options: argv is reordered stably, options to the front. Every text in
 * an error is cut by snprintf; user input is not trusted. Numbers are parsed here because strtod
 * follows the locale and accepts hexadecimal, "inf" and signs. Exact: integers throughout,
 * fractions cut below the unit's resolution. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers with units ---------------------------------------------------------------------- */

struct unit {
    const char *suffix;
    uint64_t factor;
};

static const struct unit time_units[] = {
    {"", 1000000000},   {"s", 1000000000},    {"ms", 1000000},      {"us", 1000}, {"ns", 1},
    {"m", 60000000000}, {"min", 60000000000}, {"h", 3600000000000}, {NULL, 0},
};

static const struct unit size_units[] = {
    {"", 1},           {"B", 1},
    {"K", 1ull << 10}, {"KiB", 1ull << 10},
    {"M", 1ull << 20}, {"MiB", 1ull << 20},
    {"G", 1ull << 30}, {"GiB", 1ull << 30},
    {"T", 1ull << 40}, {"TiB", 1ull << 40},
    {NULL, 0},
};

static const struct unit count_units[] = {{"", 1}, {NULL, 0}};

static int parse(const char *text, const struct unit *units, uint64_t limit, uint64_t *ret_value)
{
    const char *at = text;
    unsigned __int128 whole = 0, fraction = 0, fraction_scale = 1;
    for (; isdigit((unsigned char)*at); at++) {
        whole = whole * 10 + (unsigned)(*at - '0');
        if (whole > limit)
            return -ERANGE;
    }
    size_t digits = (size_t)(at - text);
    if (*at == '.') {
        for (at++; isdigit((unsigned char)*at); at++, digits++) {
            if (fraction_scale >= 1000000000000000000ull)
                continue;
            fraction = fraction * 10 + (unsigned)(*at - '0');
            fraction_scale *= 10;
        }
    }
    const struct unit *unit = units;
    while (unit->suffix && strcmp(unit->suffix, at) != 0)
        unit++;
    if (digits == 0 || !unit->suffix)
        return -EINVAL;
    if (unit->factor == 1 && strchr(text, '.'))
        return -EINVAL;
    unsigned __int128 value = whole * unit->factor + fraction * unit->factor / fraction_scale;
    if (value > limit)
        return -ERANGE;
    *ret_value = (uint64_t)value;
    return 0;
}

int options_parse_time(const char *text, int64_t *ret_ns)
{
    uint64_t value = 0;
    int rc = parse(text, time_units, INT64_MAX, &value);
    if (rc == 0)
        *ret_ns = (int64_t)value;
    return rc;
}

int options_parse_size(const char *text, uint64_t *ret_bytes)
{
    return parse(text, size_units, UINT64_MAX, ret_bytes);
}

int options_parse_count(const char *text, uint64_t *ret_count)
{
    return parse(text, count_units, UINT64_MAX, ret_count);
}

int options_parse_number(const char *text, double *ret_number)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || number <= 0)
        return -EINVAL;
    *ret_number = number;
    return 0;
}

/* ---- Options --------------------------------------------------------------------------------- */

enum { WORD_MAX = 32 };

unsigned options_distance(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > WORD_MAX || b_length > WORD_MAX)
        return UINT_MAX;
    unsigned rows[3][WORD_MAX + 1]; /* the row before the last, the last, the current one */
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = before[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        unsigned *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b_length];
}

unsigned options_near_limit(const char *word)
{
    return 1 + (unsigned)(strlen(word) / 3);
}

static int fail(struct options *options, const char *hint)
{
    snprintf(options->hint, sizeof(options->hint), "%s", hint);
    return -EINVAL;
}

static int fail_unknown(struct options *options, const char *word, size_t length)
{
    char name[WORD_MAX + 1];
    snprintf(name, sizeof(name), "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX), word);
    snprintf(options->unknown, sizeof(options->unknown), "--%s", name);
    snprintf(options->error, sizeof(options->error), "unknown option --%s", name);
    const char *best = NULL;
    unsigned best_distance = options_near_limit(name);
    for (const struct option_spec *spec = options->specs; spec && spec->name; spec++) {
        if (!spec->help) /* also a heading */
            continue;
        bool starts = length >= 2 && strncmp(spec->name, name, strlen(name)) == 0;
        unsigned distance = starts ? 0 : options_distance(name, spec->name);
        if (distance < best_distance || (distance == best_distance && !best)) {
            best = spec->name;
            best_distance = distance;
        }
    }
    if (!best)
        return fail(options, "--help lists the options");
    options->near = true;
    snprintf(options->hint, sizeof(options->hint), "did you mean --%s?", best);
    return -EINVAL;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *word = choices; *word;) {
        size_t word_length = strcspn(word, "|");
        if (word_length == length && memcmp(word, text, length) == 0)
            return true;
        word += word_length + (word[word_length] == '|');
    }
    return false;
}

static const char *form_hint(enum option_kind kind)
{
    switch (kind) {
    case OPTION_COUNT:
        return "a whole number, for example 20";
    case OPTION_TIME:
        return "a time is a number with a unit: 300ms, 12.5s, 2min";
    case OPTION_SIZE:
        return "a size is a number with a unit: 64K, 16M, 1.5G";
    case OPTION_NUMBER:
        return "a number above 0, for example 0.1 or 2";
    default:
        return "--help lists the options";
    }
}

/* Finds the choice with the most similar spelling. Returns its length, or 0. */
static size_t near_choice(const char *choices, const char *text, const char **ret_choice)
{
    unsigned best = options_near_limit(text) - 1; /* most choices are short */
    size_t found = 0;
    best = best > 0 ? best : 1;
    for (size_t length; *choices; choices += length + (choices[length] == '|')) {
        char word[WORD_MAX + 1];
        length = strcspn(choices, "|");
        snprintf(word, sizeof(word), "%.*s", (int)length, choices);
        unsigned distance = options_distance(word, text);
        if (distance < best || (distance == best && found == 0)) {
            best = distance;
            found = length;
            *ret_choice = choices;
        }
    }
    return found;
}

static int fail_value(struct options *options, const struct option_spec *spec, const char *text)
{
    snprintf(options->error, sizeof(options->error), "option --%s: cannot understand \"%.64s\"",
             spec->name, text);
    if (spec->kind != OPTION_CHOICE)
        return fail(options, form_hint(spec->kind));
    const char *near;
    size_t length = near_choice(spec->value_name, text, &near);
    snprintf(options->choice, sizeof(options->choice), "%s=%.30s", spec->name, text);
    if (length > 0)
        snprintf(options->hint, sizeof(options->hint), "did you mean %.*s? one of %s", (int)length,
                 near, spec->value_name);
    else
        snprintf(options->hint, sizeof(options->hint), "one of %s", spec->value_name);
    return -EINVAL;
}

static int add_to_list(const struct option_spec *spec, const char *text, struct option_list *list)
{
    if (list->count == OPTION_LIST_MAX)
        return -E2BIG;
    list->items[list->count].spec = spec;
    list->items[list->count++].text = text;
    return 0;
}

static int store_choice(const struct option_spec *spec, const char *text, const char **ret_word)
{
    *ret_word = text;
    return is_choice(spec->value_name, text) ? 0 : -EINVAL;
}

static int store_value(struct options *options, const struct option_spec *spec, const char *text)
{
    char *slot = (char *)options->values + spec->offset;
    int rc = 0;
    switch (spec->kind) {
    case OPTION_FLAG:
        *(bool *)slot = true;
        break;
    case OPTION_COUNT:
        rc = options_parse_count(text, (uint64_t *)slot);
        break;
    case OPTION_TIME:
        rc = options_parse_time(text, (int64_t *)slot);
        break;
    case OPTION_SIZE:
        rc = options_parse_size(text, (uint64_t *)slot);
        break;
    case OPTION_CHOICE:
        rc = store_choice(spec, text, (const char **)slot);
        break;
    case OPTION_NUMBER:
        rc = options_parse_number(text, (double *)slot);
        break;
    case OPTION_TEXT:
    case OPTION_PARTS:
        *(const char **)slot = text;
        break;
    case OPTION_LIST:
        rc = add_to_list(spec, text, (struct option_list *)slot);
        break;
    case OPTION_COMMAND:
    case OPTION_GROUP:
        break;
    }
    if (rc == -E2BIG) {
        snprintf(options->error, sizeof(options->error), "option --%s was given too often",
                 spec->name);
        return fail(options, "one option takes several names: NAME,NAME");
    }
    if (rc == -ERANGE) {
        snprintf(options->error, sizeof(options->error), "option --%s: \"%.64s\" is too large",
                 spec->name, text);
        return fail(options, form_hint(spec->kind));
    }
    return rc == 0 ? 0 : fail_value(options, spec, text);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

const char *option_part_name(const struct option_spec *spec)
{
    const char *equals = spec->kind == OPTION_GROUP ? NULL : strchr(spec->name, '=');
    return equals ? equals + 1 : NULL;
}

bool option_is_part(const struct option_spec *spec, const struct option_spec *family)
{
    const char *name = option_part_name(spec);
    size_t length = strlen(family->name);
    return name && spec->name + length + 1 == name && memcmp(spec->name, family->name, length) == 0;
}

/* NULL: the family has no such part. */
static const struct option_spec *find_part(const struct options *options,
                                           const struct option_spec *family, const char *part)
{
    for (const struct option_spec *spec = options->specs; spec->name; spec++)
        if (option_is_part(spec, family) && strcmp(option_part_name(spec), part) == 0)
            return spec;
    return NULL;
}

/* Suggests the part with the most similar spelling, or lists all. */
static int fail_part(struct options *options, const struct option_spec *family, const char *part)
{
    char names[256] = "";
    size_t used = 0;
    const char *best = NULL;
    unsigned best_distance = options_near_limit(part);
    for (const struct option_spec *spec = options->specs; spec->name; spec++) {
        if (!option_is_part(spec, family))
            continue;
        const char *name = option_part_name(spec);
        unsigned distance = options_distance(name, part);
        best = distance < best_distance ? name : best;
        best_distance = distance < best_distance ? distance : best_distance;
        if (used + strlen(name) + 3 < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                     name);
    }
    snprintf(options->error, sizeof(options->error), "option --%s: no part is called \"%.64s\"",
             family->name, part);
    snprintf(options->hint, sizeof(options->hint), "%s%s%sthe parts are %s",
             best ? "did you mean " : "", best ? best : "", best ? "? " : "", names);
    return -EINVAL;
}

/* `part`: "nodes", "-nodes" or "period=8". */
static int store_part(struct options *options, const struct option_spec *family, char *part)
{
    char other[WORD_MAX + 2];
    char *value = strchr(part, '=');
    if (value)
        *value++ = '\0';
    const struct option_spec *spec = find_part(options, family, part);
    snprintf(other, sizeof(other), "%s%.*s", part[0] == '-' ? "" : "-", WORD_MAX,
             part[0] == '-' ? part + 1 : part);
    bool on = spec != NULL;
    if (!on)
        spec = find_part(options, family, other);
    if (!spec || (!on && spec->kind != OPTION_FLAG))
        return fail_part(options, family, part);
    if ((value != NULL) == (spec->kind == OPTION_FLAG)) {
        snprintf(options->error, sizeof(options->error),
                 value ? "option --%s takes no value" : "option --%s needs a value", spec->name);
        return fail(options, value ? "the part alone switches it on" : form_hint(spec->kind));
    }
    int rc = store_value(options, spec, value);
    if (rc == 0 && !on)
        *((bool *)((char *)options->values + spec->offset)) = false;
    return rc;
}

static int store_parts(struct options *options, const struct option_spec *family, const char *text)
{
    int rc = 0;
    while (*text && rc == 0) {
        char part[80];
        size_t length = strcspn(text, ",");
        snprintf(part, sizeof(part), "%.*s", (int)(length < sizeof(part) ? length : 79), text);
        rc = length > 0 ? store_part(options, family, part) : 0;
        text += length + (text[length] == ',');
    }
    return rc;
}

/* Stores the value of an option and marks it as given. */
static int take_value(struct options *options, const struct option_spec *spec, const char *text)
{
    size_t index = (size_t)(spec - options->specs);
    if (index < OPTIONS_MAX)
        options->given[index / 64] |= UINT64_C(1) << index % 64;
    if (spec->kind != OPTION_PARTS)
        return store_value(options, spec, text);
    int rc = store_value(options, spec, text ? text : "");
    return rc == 0 && text ? store_parts(options, spec, text) : rc;
}

bool options_given(const struct options *options, const char *name)
{
    for (size_t i = 0; i < OPTIONS_MAX && options->specs[i].name; i++)
        if (strcmp(options->specs[i].name, name) == 0)
            return options->given[i / 64] >> i % 64 & 1;
    return false;
}

static int fail_missing(struct options *options, const struct option_spec *spec)
{
    snprintf(options->error, sizeof(options->error), "option --%s needs a value", spec->name);
    snprintf(options->hint, sizeof(options->hint), "--%s %s", spec->name, spec->value_name);
    return -EINVAL;
}

static int fail_joined(struct options *options, const struct option_spec *spec)
{
    snprintf(options->error, sizeof(options->error), "option -%c cannot be joined to others",
             spec->letter);
    snprintf(options->hint, sizeof(options->hint), "put it in a word of its own: -%c %s",
             spec->letter, spec->value_name);
    return -EINVAL;
}

static bool is_named(const struct option_spec *spec, const char *name, size_t length)
{
    return spec->kind != OPTION_GROUP && strlen(spec->name) == length &&
           memcmp(spec->name, name, length) == 0;
}

/* Returns the words of argv that the option takes: 1 or 2; 0: it is the first operand; or
 * -EINVAL. */
static int take_long(struct options *options, const char *word, const char *next)
{
    size_t length = strcspn(word, "=");
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    bool all = strcmp(word, "help-all") == 0;
    if (all || strcmp(word, "help") == 0 || strncmp(word, "help=", 5) == 0) {
        options->help = true;
        options->help_all = all;
        return 1;
    }
    const struct option_spec *spec = options->specs;
    while (spec && spec->name && !is_named(spec, word, length))
        spec++;
    if (!spec || !spec->name)
        return fail_unknown(options, word, length);
    if (spec->kind == OPTION_FLAG && value) {
        snprintf(options->error, sizeof(options->error), "option --%s takes no value", spec->name);
        snprintf(options->hint, sizeof(options->hint), "--%s alone switches it on", spec->name);
        return -EINVAL;
    }
    bool is_alone = spec->kind == OPTION_FLAG || spec->kind == OPTION_PARTS;
    int words = is_alone || value ? 1 : 2;
    if (words == 2 && !next)
        return fail_missing(options, spec);
    if (spec->kind == OPTION_COMMAND)
        return 0;
    int rc = take_value(options, spec, value || is_alone ? value : next);
    return rc < 0 ? rc : words;
}

static int take_short(struct options *options, const char *letters, const char *next)
{
    for (const char *letter = letters; *letter; letter++) {
        const struct option_spec *spec = options->specs;
        while (spec && spec->name && spec->letter != *letter)
            spec++;
        if (*letter == 'h' && (!spec || !spec->name)) {
            options->help = true;
            return 1;
        }
        if (!spec || !spec->name) {
            snprintf(options->unknown, sizeof(options->unknown), "-%c", *letter);
            snprintf(options->error, sizeof(options->error), "unknown option -%c", *letter);
            return fail(options, "--help lists the options");
        }
        const char *value = letter[1] ? letter + 1 : next;
        if (spec->kind != OPTION_FLAG && !value)
            return fail_missing(options, spec);
        if (spec->kind == OPTION_COMMAND)
            return letter == letters ? 0 : fail_joined(options, spec);
        int rc = take_value(options, spec, value);
        if (rc < 0)
            return rc;
        if (spec->kind != OPTION_FLAG)
            return letter[1] ? 1 : 2;
    }
    return 1;
}

static int store_fallbacks(struct options *options)
{
    for (const struct option_spec *spec = options->specs; spec && spec->name; spec++) {
        int rc = spec->fallback ? store_value(options, spec, spec->fallback) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Moves argv[at .. at + count) down to argv[to ..), keeping the order of the words between. */
static void move_down(char **argv, int to, int at, int count)
{
    for (int i = 0; i < count; i++) {
        char *word = argv[at + i];
        memmove(argv + to + i + 1, argv + to + i, (size_t)(at - to) * sizeof(*argv));
        argv[to + i] = word;
    }
}

int options_parse(struct options *options, int argc, char **argv)
{
    int rc = store_fallbacks(options);
    if (rc < 0)
        return rc;
    int first_operand = 0, at = 0;
    while (at < argc && !options->help) {
        const char *word = argv[at];
        bool is_option = word[0] == '-' && word[1];
        if (!is_option && options->command_follows)
            break;
        if (!is_option) {
            at++;
            continue;
        }
        const char *next = at + 1 < argc ? argv[at + 1] : NULL;
        int words = 1;
        if (word[1] != '-')
            words = take_short(options, word + 1, next);
        else if (word[2])
            words = take_long(options, word + 2, next);
        if (words < 0)
            return words;
        if (words == 0)
            break;
        move_down(argv, first_operand, at, words);
        first_operand += words;
        at += words;
        if (strcmp(word, "--") == 0)
            break;
    }
    options->operands = argv + first_operand;
    options->operand_count = argc - first_operand;
    return 0;
}
