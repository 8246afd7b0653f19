/* SPDX-License-Identifier: MIT */
/* See compare_print.h. */
#include "compare_print.h"

#include "cmd.h"
#include "recording.h"
#include "report_print.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUTLIERS_MAX = 256 };

int compare_check(const struct compare_values *values, struct compare_limits *ret_limits)
{
    char error[COMPARE_ERROR_SIZE];
    if (values->json && values->csv)
        return cmd_fail(CMD_MISUSE, "options --json and --csv: use only one\neach has all tables");
    ret_limits->count = 0;
    for (uint32_t i = 0; i < values->limits.count; i++) {
        const char *text = values->limits.items[i].text;
        if (compare_limit_parse(text, &ret_limits->items[i], error) < 0)
            return cmd_fail(CMD_MISUSE,
                            "--fail-if \"%s\": %s\nas in --fail-if 'load > +5%%', 'function:parse "
                            "self > 3ms', 'wall < 2s'",
                            text, error);
        ret_limits->count++;
    }
    return CMD_OK;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* All that limits say. */
struct judged {
    struct compare_judgement *items;
    size_t count;
};

static int fail_unknown(const struct compare_limit *limit)
{
    return cmd_fail(CMD_MISUSE,
                    "--fail-if \"%s\": neither side has a %s called \"%s\"%s%s\n--all lists the "
                    "names; *, ? and [] stand for letters; \"KIND:NAME\" asks for other rows",
                    limit->text, limit->kind ? limit->kind : "range, function or number of runs",
                    limit->name, limit->metric ? ", with such a number: " : "",
                    limit->metric ? limit->metric : "");
}

/* CMD_OK, or the message is out; -ENOMEM. */
static int judge(const struct compare *compare, const struct compare_limits *limits,
                 struct judged *judged)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        struct compare_judgement *found;
        int64_t count = compare_judge(compare, &limits->items[i], &found);
        if (count < 0)
            return -ENOMEM;
        if (count == 0) {
            free(found);
            return fail_unknown(&limits->items[i]);
        }
        size_t all = judged->count + (size_t)count;
        struct compare_judgement *items = realloc(judged->items, all * sizeof(*items));
        if (items) {
            memcpy(items + judged->count, found, (size_t)count * sizeof(*items));
            judged->items = items;
            judged->count = all;
        }
        free(found);
        if (!items)
            return -ENOMEM;
    }
    return CMD_OK;
}

static void add_bound(struct text *text, const struct compare_judgement *judgement, double value)
{
    char buffer[COMPARE_TEXT_SIZE];
    if (isinf(value))
        text_format(text, "any");
    else if (judgement->limit->relative)
        text_format(text, "%+.1f %%", 100 * value);
    else
        text_format(text, "%s%s", judgement->limit->difference && value > 0 ? "+" : "",
                    compare_number_text(&judgement->result, value, buffer));
}

static void say_judgement(const struct compare_judgement *judgement)
{
    char buffer[1024];
    struct text text = text_init(buffer, sizeof(buffer));
    bool run = strcmp(judgement->result.kind, "run") == 0;
    const char *words = judgement->state == COMPARE_FAILS       ? "FAILS    "
                        : judgement->state == COMPARE_UNDECIDED ? "undecided"
                                                                : "holds    ";
    text_format(&text, "%s  %s: %s%s%s is ", words, judgement->limit->text, judgement->result.name,
                run ? "" : " ", run ? "" : judgement->result.metric);
    if (isnan(judgement->value))
        text_format(&text, "not there on both sides");
    else
        add_bound(&text, judgement, judgement->value);
    if (isinf(judgement->low) && isinf(judgement->high)) {
        text_format(&text, "; so few runs tell no interval");
    } else if (!isnan(judgement->low) && judgement->low < judgement->high) {
        text_format(&text, " (95 %%: ");
        add_bound(&text, judgement, judgement->low);
        text_format(&text, " to ");
        add_bound(&text, judgement, judgement->high);
        text_format(&text, ")");
    } else if (isnan(judgement->low) && !isnan(judgement->value)) {
        text_format(&text, "; how much it varies is not known");
    }
    term_print(buffer);
    printf("\n");
}

static void say_limits(const struct judged *judged)
{
    if (judged->count > 0)
        printf("\n");
    for (size_t i = 0; i < judged->count; i++)
        say_judgement(&judged->items[i]);
}

static int status_of(const struct judged *judged, bool undecided)
{
    bool unsure = false;
    for (size_t i = 0; i < judged->count; i++) {
        if (judged->items[i].state == COMPARE_FAILS)
            return CMD_FAILED;
        unsure = unsure || judged->items[i].state == COMPARE_UNDECIDED;
    }
    return unsure && undecided ? COMPARE_STATUS_UNDECIDED : CMD_OK;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

struct printing {
    const struct compare_values *values;
    const struct table *tables[COMPARE_TABLES_MAX];
    size_t count;
    const struct judged *judged;
    const struct compare_extra *extra;
};

/* 0 or -errno of the output. */
static int write_data(const struct printing *p, const struct report_tables *tables)
{
    const struct out_stream_options options = {0};
    struct out_stream *out;
    int rc = out_stream_open("-", &options, &out);
    if (rc < 0)
        return rc;
    rc = p->values->json ? report_json(tables, out) : report_csv(tables, out);
    int written = out_stream_close(out);
    return rc < 0 ? rc : written == -EPIPE ? 0 : written;
}

static int print_data(const struct compare *compare, const struct printing *p)
{
    struct report_tables tables = {.count = 0};
    struct compare_outlier *outliers = calloc(OUTLIERS_MAX, sizeof(*outliers));
    struct table facts, out, limits;
    if (!outliers)
        return -ENOMEM;
    size_t count = compare_find_outliers(compare, outliers, OUTLIERS_MAX);
    compare_facts_table(compare, &facts);
    compare_outliers_table(outliers, count < OUTLIERS_MAX ? count : OUTLIERS_MAX, &out);
    compare_limits_table(p->judged->items, p->judged->count, &limits);
    tables.items[tables.count++] = &facts;
    for (unsigned i = 0; i < p->extra->side_count; i++)
        tables.items[tables.count++] = &p->extra->sides[i];
    for (size_t i = 0; i < p->count; i++)
        tables.items[tables.count++] = p->tables[i];
    tables.items[tables.count++] = &out;
    tables.items[tables.count++] = &limits;
    int rc = write_data(p, &tables);
    free(outliers);
    return rc < 0 ? cmd_fail(CMD_FAILED, "cannot write to standard output: %s", strerror(-rc)) : 0;
}

/* Of text: 0 or -ENOMEM. */
static int print_text(const struct compare *compare, const struct printing *p)
{
    const struct report_options options = {.all = p->values->all};
    const struct report_view view = {
        .options = &options,
        .width = term_width(STDOUT_FILENO),
        .wide = p->values->wide,
        .color = term_color(STDOUT_FILENO, p->values->color),
    };
    int rc = 0;
    if (p->extra->alone)
        printf("%s", p->extra->lines ? p->extra->lines : "");
    if (p->extra->alone)
        compare_say_outliers(compare, view.width);
    else
        compare_say(compare, view.width, view.color);
    if (!p->extra->alone && p->extra->lines)
        printf("%s", p->extra->lines);
    say_limits(p->judged);
    for (unsigned i = 0; i < p->extra->side_count && rc == 0; i++)
        rc = report_text_table(&p->extra->sides[i], &view);
    for (size_t i = 0; i < p->count && rc == 0; i++)
        rc = report_text_table(p->tables[i], &view);
    return rc;
}

int compare_print(struct compare *compare, const struct compare_values *values,
                  const struct compare_limits *limits, const struct compare_extra *extra)
{
    static const struct compare_extra nothing = {0};
    struct judged judged = {0};
    struct printing p = {.values = values, .judged = &judged};
    p.extra = extra ? extra : &nothing;
    uint64_t limit = values->all || values->limit == 0 ? UINT64_MAX : values->limit;
    int rc = judge(compare, limits, &judged);
    int count = rc == 0 && !p.extra->alone ? compare_tables(compare, limit, p.tables) : 0;
    p.count = count > 0 ? (size_t)count : 0;
    if (rc == 0 && count < 0)
        rc = count;
    if (rc == 0)
        rc = values->json || values->csv ? print_data(compare, &p) : print_text(compare, &p);
    if (rc == 0)
        rc = status_of(&judged, values->undecided);
    free(judged.items);
    return rc < 0 ? cmd_fail(CMD_FAILED, "out of memory") : rc;
}
