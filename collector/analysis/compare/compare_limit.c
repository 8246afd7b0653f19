/* SPDX-License-Identifier: MIT */
/* Limits of a comparison: their grammar, their judgement, and its table.
 *
 *     limit  = [kind ":"] name [metric] ("<" | ">") value
 *     name   = words, patterns of names as in a shell, or any text in quotes
 *     value  = ["+" | "-"] number [unit]
 *
 * A value in percent, or with a sign, is the difference between the sides; other values are B's
 * own. Several rows of one pattern are judged together: each at a level at which all of them are
 * right in 95 of 100 comparisons. */
#include "compare_limit.h"

#include "compare.h"
#include "compare_kinds.h"
#include "compare_state.h"
#include "compare_stats.h"
#include "compare_tables.h"
#include "compare_test.h"
#include "table.h"
#include "vec.h"

#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.95

/* Assumed maximum factor between single runs. */
#define RUN_FACTOR 2

/* ---- The grammar ----------------------------------------------------------------------------- */

/* A part of the text. */
struct span {
    const char *from, *to;
};

static struct span trim(struct span span)
{
    while (span.from < span.to && isspace((unsigned char)*span.from))
        span.from++;
    while (span.to > span.from && isspace((unsigned char)span.to[-1]))
        span.to--;
    return span;
}

static size_t size_of(struct span span)
{
    return (size_t)(span.to - span.from);
}

/* Returns the last "<" or ">" outside of quotes; NULL: not found. */
static const char *find_sign(const char *text)
{
    const char *found = NULL;
    bool quoted = false;
    for (const char *at = text; *at; at++) {
        quoted = quoted != (*at == '"');
        if (!quoted && (*at == '<' || *at == '>'))
            found = at;
    }
    return found;
}

static const struct {
    const char *name;
    double size;
    uint8_t unit;
} units[] = {
    {"ns", 1, COLUMN_TIME},        {"us", 1e3, COLUMN_TIME},      {"ms", 1e6, COLUMN_TIME},
    {"s", 1e9, COLUMN_TIME},       {"min", 60e9, COLUMN_TIME},    {"h", 3600e9, COLUMN_TIME},
    {"B", 1, COLUMN_BYTES},        {"KiB", 0x1p10, COLUMN_BYTES}, {"MiB", 0x1p20, COLUMN_BYTES},
    {"GiB", 0x1p30, COLUMN_BYTES}, {"kB", 1e3, COLUMN_BYTES},     {"MB", 1e6, COLUMN_BYTES},
    {"GB", 1e9, COLUMN_BYTES},     {"", 1, COLUMN_COUNT},
};

static bool set_unit(struct compare_limit *limit, struct span unit)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strlen(units[i].name) != size_of(unit) ||
            memcmp(units[i].name, unit.from, size_of(unit)) != 0)
            continue;
        limit->unit = units[i].unit;
        limit->value *= units[i].size;
        return true;
    }
    return false;
}

/* Returns decimal digits and at most one point; strtod would accept more. */
static struct span number_of(struct span value)
{
    struct span digits = value;
    bool point = false;
    if (digits.from < digits.to && (*digits.from == '+' || *digits.from == '-'))
        digits.from++;
    for (digits.to = digits.from; digits.to < value.to; digits.to++) {
        if (*digits.to == '.' && !point)
            point = true;
        else if (!isdigit((unsigned char)*digits.to))
            break;
    }
    return digits;
}

static int fail(char error[COMPARE_ERROR_SIZE], const char *what, struct span span)
{
    snprintf(error, COMPARE_ERROR_SIZE, "%s: \"%.*s\"", what, (int)size_of(span), span.from);
    return -EINVAL;
}

static int take_value(struct compare_limit *limit, struct span value,
                      char error[COMPARE_ERROR_SIZE])
{
    char copy[64];
    struct span digits = number_of(value), unit = trim((struct span){digits.to, value.to});
    bool sign = digits.from > value.from;
    if (size_of(digits) == 0 || size_of(digits) >= sizeof(copy) || *digits.from == '.' ||
        digits.to[-1] == '.')
        return fail(error, "no number after < or >", value);
    snprintf(copy, sizeof(copy), "%.*s", (int)size_of(digits), digits.from);
    limit->value = strtod(copy, NULL);
    limit->relative = size_of(unit) == 1 && *unit.from == '%';
    limit->difference = sign && !limit->relative;
    if (limit->relative && !sign)
        return fail(error, "a part in percent needs a sign, as in +5%", value);
    if (limit->relative)
        limit->value /= 100;
    else if (!set_unit(limit, unit))
        return fail(error, "unknown unit (%, ns, us, ms, s, min, h, B, KiB, MiB, GiB)", unit);
    if (sign && *value.from == '-')
        limit->value = -limit->value;
    return 0;
}

/* Returns the metric of any kind with that word: constant text, or NULL. */
static const char *metric_of(const struct compare_kind *kind, struct span word)
{
    char copy[32];
    if (size_of(word) >= sizeof(copy))
        return NULL;
    snprintf(copy, sizeof(copy), "%.*s", (int)size_of(word), word.from);
    for (size_t i = 1; i < compare_kind_count; i++) {
        const struct compare_kind *other = &compare_kinds[i];
        int at = !kind || kind == other ? compare_metric_find(other, copy) : -1;
        if (at >= 0)
            return other->metrics[at].word;
    }
    return NULL;
}

/* Takes "function:" from the front of the name; other text before a colon is a domain, and
 * stays. */
static const struct compare_kind *take_kind(struct span *name)
{
    const char *colon = memchr(name->from, ':', size_of(*name));
    const struct compare_kind *kind =
        colon ? compare_kind_find(name->from, (size_t)(colon - name->from)) : NULL;
    if (kind)
        name->from = colon + 1;
    *name = trim(*name);
    return kind;
}

static int take_name(struct compare_limit *limit, struct span name, char error[COMPARE_ERROR_SIZE])
{
    const struct compare_kind *kind = take_kind(&name);
    const char *end = size_of(name) > 0 && *name.from == '"'
                          ? memchr(name.from + 1, '"', size_of(name) - 1)
                          : NULL;
    const char *word = name.to;
    while (word > name.from && !isspace((unsigned char)word[-1]))
        word--;
    struct span last = end ? trim((struct span){end + 1, name.to}) : (struct span){word, name.to};
    bool several = end || word > name.from;
    limit->kind = kind ? kind->word : NULL;
    limit->metric = several && size_of(last) > 0 ? metric_of(kind, last) : NULL;
    if (end && size_of(last) > 0 && !limit->metric)
        return fail(error, "there is no number of that name", last);
    if (end)
        name = (struct span){name.from + 1, end};
    else if (limit->metric)
        name = trim((struct span){name.from, word});
    if (size_of(name) == 0)
        return fail(error, "no name before < or >", name);
    if (size_of(name) >= COMPARE_NAME_SIZE)
        return fail(error, "the name is too long", (struct span){name.from, name.from + 40});
    snprintf(limit->name, sizeof(limit->name), "%.*s", (int)size_of(name), name.from);
    return 0;
}

int compare_limit_parse(const char *text, struct compare_limit *ret_limit,
                        char error[COMPARE_ERROR_SIZE])
{
    struct compare_limit limit = {.text = text};
    const char *sign = find_sign(text);
    if (!sign)
        return fail(error, "neither < nor > in", (struct span){text, text + strlen(text)});
    limit.below = *sign == '<';
    struct span value = trim((struct span){sign + 1, sign + strlen(sign)});
    int rc = take_value(&limit, value, error);
    if (rc == 0)
        rc = take_name(&limit, trim((struct span){text, sign}), error);
    if (rc == 0)
        *ret_limit = limit;
    return rc;
}

/* ---- Rows of a limit ------------------------------------------------------------------------- */

/* Matches the whole name, or the last part of a path; of a renamed function, either name. */
static bool is_meant(const struct compare_limit *limit, const char *name)
{
    if (!name)
        return false;
    const char *leaf = strrchr(name, '/');
    return text_matches(limit->name, name) || (leaf && text_matches(limit->name, leaf + 1));
}

/* Without a kind, a number of the run with that name comes first, then memory, ranges and
 * functions. */
static bool is_kind(const struct compare_limit *limit, size_t kind, bool found)
{
    static const char *const plain[] = {"run",   "heap", "range",   "overlapping",
                                        "track", "call", "function"};
    if (limit->kind)
        return strcmp(limit->kind, compare_kinds[kind].word) == 0;
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain) && !found; i++)
        if (strcmp(plain[i], compare_kinds[kind].word) == 0)
            return true;
    return false;
}

static int metric_in(const struct compare_limit *limit, size_t kind)
{
    return limit->metric ? compare_metric_find(&compare_kinds[kind], limit->metric) : 0;
}

/* ---- Judgement ------------------------------------------------------------------------------- */

/* Judges B's own number, or A's without a B. A single run has no interval. */
static void judge_own(const struct compare *compare, const struct compare_cell *cell, double level,
                      struct compare_judgement *judgement)
{
    struct compare_sample values;
    compare_gather(compare, cell, &values);
    enum compare_side side = compare->counts[COMPARE_B] > 0 ? COMPARE_B : COMPARE_A;
    size_t count = values.counts[side];
    judgement->value = judgement->low = judgement->high = NAN;
    if (count == 0)
        return;
    struct compare_middle middle = compare_middle(values.of[side], count, level);
    judgement->value = middle.median;
    judgement->low = count > 1 ? middle.low : middle.median;
    judgement->high = count > 1 ? middle.high : middle.median;
}

/* If one run a side gives no measure of noise, B may be half or twice as much. */
static void judge_difference(const struct compare *compare, struct compare_judgement *judgement)
{
    const struct compare_result *result = &judgement->result;
    double scale = judgement->limit->relative ? fabs(result->a) : 1;
    bool rough = compare_is_single(compare) && isnan(result->p);
    if (!(fabs(result->a) > 0) && !(fabs(result->b) > 0) && !isnan(result->shift))
        scale = 1; /* 0 on both sides is no change */
    judgement->value = result->shift / scale;
    judgement->low = (rough ? result->b / RUN_FACTOR - result->a : result->low) / scale;
    judgement->high = (rough ? result->b * RUN_FACTOR - result->a : result->high) / scale;
}

static enum compare_state state_of(const struct compare_judgement *judgement)
{
    const struct compare_limit *limit = judgement->limit;
    double low = limit->below ? -judgement->high : judgement->low;
    double high = limit->below ? -judgement->low : judgement->high;
    double most = limit->below ? -limit->value : limit->value;
    if (isnan(low) || isnan(high))
        return COMPARE_UNDECIDED;
    return low > most ? COMPARE_FAILS : high <= most ? COMPARE_HOLDS : COMPARE_UNDECIDED;
}

/* A number of another unit is not limited. */
static bool has_unit(const struct compare_limit *limit, const struct compare_result *result)
{
    return limit->relative || limit->unit == result->unit || result->unit == COLUMN_VALUE;
}

struct found {
    VEC(struct compare_judgement) items;
    double level;
};

static int judge_rows(const struct compare *compare, const struct compare_limit *limit, size_t kind,
                      struct found *found)
{
    const struct compare_list *list = &compare->lists[kind];
    int metric = metric_in(limit, kind);
    for (size_t i = 0; i < list->rows.count && metric >= 0; i++) {
        const struct compare_cell cell = {kind, &list->rows.items[i], (unsigned)metric};
        struct compare_judgement judgement = {.limit = limit, .variant = ""};
        if (!is_meant(limit, cell.row->name) && !is_meant(limit, cell.row->old_name))
            continue;
        int rc = compare_measure(compare, &cell, found->level, &judgement.result);
        if (rc < 0)
            return rc;
        if (judgement.result.a_count + judgement.result.b_count == 0 ||
            !has_unit(limit, &judgement.result))
            continue;
        if (limit->relative || limit->difference)
            judge_difference(compare, &judgement);
        else
            judge_own(compare, &cell, found->level, &judgement);
        judgement.state = state_of(&judgement);
        if (vec_push(&found->items, judgement) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int judge_all(const struct compare *compare, const struct compare_limit *limit,
                     struct found *found)
{
    int rc = 0;
    found->items.count = 0;
    for (size_t kind = 0; kind < compare_kind_count && rc == 0; kind++)
        if (is_kind(limit, kind, found->items.count > 0))
            rc = judge_rows(compare, limit, kind, found);
    return rc;
}

int64_t compare_judge(const struct compare *compare, const struct compare_limit *limit,
                      struct compare_judgement **ret_judgements)
{
    struct found found = {.level = LEVEL};
    int rc = judge_all(compare, limit, &found);
    if (rc == 0 && found.items.count > 1) {
        found.level = 1 - (1 - LEVEL) / (double)found.items.count;
        rc = judge_all(compare, limit, &found);
    }
    if (rc < 0) {
        vec_free(&found.items);
        return rc;
    }
    *ret_judgements = found.items.items;
    return (int64_t)found.items.count;
}

/* ---- The table of judgements ------------------------------------------------------------------
 */

enum {
    LIMIT,
    LIMIT_VARIANT,
    LIMIT_KIND,
    LIMIT_NAME,
    LIMIT_METRIC,
    LIMIT_VALUE,
    LIMIT_LOW,
    LIMIT_HIGH,
    STATE
};

/* "fails", "undecided", "holds" */
static const char *state_text(enum compare_state state)
{
    return state == COMPARE_FAILS ? "fails" : state == COMPARE_HOLDS ? "holds" : "undecided";
}

static void fill_limit(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct compare_judgement *judgement =
        (const struct compare_judgement *)table->context + index;
    row_text(row, LIMIT, judgement->limit->text);
    row_text(row, LIMIT_VARIANT, judgement->variant);
    row_text(row, LIMIT_KIND, judgement->result.kind);
    row_text(row, LIMIT_NAME, judgement->result.name);
    row_text(row, LIMIT_METRIC, judgement->result.metric);
    compare_put_value(row, LIMIT_VALUE, judgement->value);
    compare_put_value(row, LIMIT_LOW, judgement->low);
    compare_put_value(row, LIMIT_HIGH, judgement->high);
    row_text(row, STATE, state_text(judgement->state));
}

void compare_limits_table(const struct compare_judgement *judgements, size_t count,
                          struct table *ret_table)
{
    static const struct table_column columns[] = {
        [LIMIT] = {.name = "limit", .type = COLUMN_TEXT},
        [LIMIT_VARIANT] = {.name = "variant", .type = COLUMN_TEXT},
        [LIMIT_KIND] = {.name = "kind", .type = COLUMN_TEXT},
        [LIMIT_NAME] = {.name = "name", .type = COLUMN_TEXT},
        [LIMIT_METRIC] = {.name = "metric", .type = COLUMN_TEXT},
        [LIMIT_VALUE] = {.name = "value", .type = COLUMN_VALUE},
        [LIMIT_LOW] = {.name = "low", .type = COLUMN_VALUE},
        [LIMIT_HIGH] = {.name = "high", .type = COLUMN_VALUE},
        [STATE] = {.name = "state", .type = COLUMN_TEXT},
    };

    *ret_table = (struct table){.name = "limits", .fill = fill_limit, .context = judgements};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(ret_table, columns[i]);
    ret_table->row_count = count;
}
