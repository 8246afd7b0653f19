/* SPDX-License-Identifier: MIT */
/* Implements compare_print.h. */
#include "compare_print.h"

#include "cmd.h"
#include "compare_facts.h"
#include "compare_screen.h"
#include "compare_tables.h"
#include "compare_text.h"
#include "out_stream.h"
#include "recording.h"
#include "report_data.h"
#include "report_text.h"
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

/* The judgements of all limits. */
struct judged {
    struct compare_judgement *items;
    size_t count;
};

static int fail_unknown(const struct compare_limit *limit)
{
    if (strcmp(limit->name, "heap") == 0)
        return cmd_fail(CMD_MISUSE,
                        "--fail-if \"%s\": neither side has samples of memory\n"
                        "annot record --memory takes them",
                        limit->text);
    return cmd_fail(CMD_MISUSE,
                    "--fail-if \"%s\": neither side has a %s called \"%s\"%s%s\n--all lists the "
                    "names; *, ? and [] stand for letters; \"KIND:NAME\" asks for other rows",
                    limit->text, limit->kind ? limit->kind : "range, function or number of runs",
                    limit->name, limit->metric ? ", with such a number: " : "",
                    limit->metric ? limit->metric : "");
}

static int keep(struct judged *judged, const struct compare_judgement *found, size_t count,
                const char *variant)
{
    size_t all = judged->count + count;
    struct compare_judgement *items = realloc(judged->items, all * sizeof(*items));
    if (!items)
        return -ENOMEM;
    judged->items = items;
    for (size_t i = 0; i < count; i++) {
        items[judged->count] = found[i];
        items[judged->count++].variant = variant;
    }
    return 0;
}

/* CMD_OK, or the exit status after a printed message; -ENOMEM. */
static int judge(const struct compare *compare, const struct compare_limits *limits,
                 const char *variant, struct judged *judged)
{
    int rc = 0;
    for (uint32_t i = 0; i < limits->count && rc == 0; i++) {
        struct compare_judgement *found;
        int64_t count = compare_judge(compare, &limits->items[i], &found);
        if (count < 0)
            return -ENOMEM;
        rc = count == 0 ? fail_unknown(&limits->items[i])
                        : keep(judged, found, (size_t)count, variant);
        free(found);
    }
    return rc;
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

static bool is_difference(const struct compare_limit *limit)
{
    return limit->relative || limit->difference;
}

static void print_judgement(const struct compare_judgement *judgement)
{
    char buffer[1024];
    struct text text = text_init(buffer, sizeof(buffer));
    bool run = strcmp(judgement->result.kind, "run") == 0;
    const char *words = judgement->state == COMPARE_FAILS       ? "FAILS    "
                        : judgement->state == COMPARE_UNDECIDED ? "undecided"
                                                                : "holds    ";
    text_format(&text, "%s  %s%s%s: %s%s%s is ", words, judgement->variant,
                judgement->variant[0] ? ", " : "", judgement->limit->text, judgement->result.name,
                run ? "" : " ", run ? "" : judgement->result.metric);
    if (isnan(judgement->value))
        text_format(&text, "missing on one side");
    else
        add_bound(&text, judgement, judgement->value);
    if (isinf(judgement->low) && isinf(judgement->high)) {
        text_format(&text, "; too few runs for an interval");
    } else if (!isnan(judgement->low) && judgement->low < judgement->high) {
        bool measured = !isnan(judgement->result.p) || !is_difference(judgement->limit);
        text_format(&text, measured ? " (95 %%: " : " (one run each, so perhaps ");
        add_bound(&text, judgement, judgement->low);
        text_format(&text, " to ");
        add_bound(&text, judgement, judgement->high);
        text_format(&text, ")");
    }
    term_print(buffer);
    printf("\n");
}

static void print_limits(const struct judged *judged)
{
    if (judged->count > 0)
        printf("\n");
    for (size_t i = 0; i < judged->count; i++)
        print_judgement(&judged->items[i]);
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
    struct compare **pairs;
    size_t count; /* number of pairs */
    const struct table *tables[COMPARE_TABLES_MAX], *screen[COMPARE_TABLES_MAX];
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

static bool is_alone(const struct printing *p)
{
    return p->extra->side_count == 1;
}

static void add_table(struct report_tables *tables, const struct table *table)
{
    if (tables->count < REPORT_TABLES_MAX)
        tables->items[tables->count++] = table;
}

/* Adds the first table of a pair's screen, and all other tables. 0 or -ENOMEM. */
static int add_pair(struct printing *p, struct report_tables *tables)
{
    int found = is_alone(p) ? 0 : compare_tables(p->pairs[0], UINT64_MAX, p->tables);
    int shown = is_alone(p) ? 0 : compare_screen(p->pairs[0], p->values->limit, p->screen);
    for (int i = 0; i < shown; i++)
        if (strcmp(p->screen[i]->name, "changes") == 0)
            add_table(tables, p->screen[i]);
    for (int i = 0; i < found; i++)
        add_table(tables, p->tables[i]);
    return found < 0 ? found : shown < 0 ? shown : 0;
}

static int print_data(struct printing *p)
{
    struct report_tables tables = {.count = 0};
    struct compare_outlier *outliers = calloc(OUTLIERS_MAX, sizeof(*outliers));
    struct table facts, differences, out, limits;
    int rc = 0;
    if (!outliers)
        return -ENOMEM;
    size_t count = compare_find_outliers(p->pairs[0], outliers, OUTLIERS_MAX);
    compare_differences_table(p->pairs[0], &differences);
    compare_facts_table(p->pairs[0], &facts);
    compare_outliers_table(outliers, count < OUTLIERS_MAX ? count : OUTLIERS_MAX, &out);
    compare_limits_table(p->judged->items, p->judged->count, &limits);
    if (p->count == 1) {
        add_table(&tables, &facts);
        add_table(&tables, &differences);
    }
    if (p->extra->variants)
        add_table(&tables, p->extra->variants);
    for (unsigned i = 0; i < p->extra->side_count; i++)
        add_table(&tables, &p->extra->sides[i]);
    if (p->count == 1)
        rc = add_pair(p, &tables);
    if (p->count == 1)
        add_table(&tables, &out);
    add_table(&tables, &limits);
    int error = rc < 0 ? 0 : write_data(p, &tables);
    free(outliers);
    return error < 0 ? cmd_fail(CMD_FAILED, "cannot write to standard output: %s", strerror(-error))
                     : rc;
}

static int print_tables(const struct table *const *tables, size_t count,
                        const struct report_view *view)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = report_text_table(tables[i], view);
    return rc;
}

/* Prints the first screen of one pair: 0 or -ENOMEM. */
static int print_screen(struct printing *p, const struct report_view *view)
{
    int count = compare_screen(p->pairs[0], p->values->limit, p->screen), rc = 0;
    if (count < 0)
        return count;
    compare_print_result(p->pairs[0], view->width, view->color);
    print_limits(p->judged);
    if (p->extra->variants)
        rc = report_text_table(p->extra->variants, view);
    if (rc == 0)
        rc = print_tables(p->screen, (size_t)count, view);
    if (rc == 0)
        compare_print_notes(p->pairs[0], view->width, (size_t)count);
    return rc;
}

/* Prints all tables of the pairs. */
static int print_all(struct printing *p, const struct report_view *view)
{
    uint64_t limit = p->values->limit ? p->values->limit : UINT64_MAX;
    int rc = 0;
    for (size_t i = 0; i < p->count && rc == 0; i++) {
        int count = compare_tables(p->pairs[i], limit, p->tables);
        if (p->count > 1)
            printf("\n%s with %s\n", p->extra->rows[0].label, p->extra->rows[i + 1].label);
        rc = count < 0 ? count : print_tables(p->tables, (size_t)count, view);
    }
    return rc;
}

static int print_variants(struct printing *p, const struct report_view *view)
{
    printf("%s", p->extra->head);
    compare_print_fastest(p->extra->rows, p->count + 1, view->width, view->color);
    print_limits(p->judged);
    int rc = report_text_table(p->extra->variants, view);
    compare_print_variant_notes(p->extra->rows, p->count, view->width);
    return rc;
}

static void print_alone(struct printing *p, const struct report_view *view)
{
    printf("%s", p->extra->head);
    compare_print_outliers(p->pairs[0], view->width);
    print_limits(p->judged);
}

/* Prints text: 0 or -ENOMEM. */
static int print_text(struct printing *p)
{
    const struct report_options options = {.all = p->values->all};
    const struct report_view view = {
        .options = &options,
        .width = term_width(STDOUT_FILENO),
        .wide = p->values->wide,
        .color = term_color(STDOUT_FILENO, p->values->color),
    };
    int rc = 0;
    if (is_alone(p))
        print_alone(p, &view);
    else
        rc = p->count > 1 ? print_variants(p, &view) : print_screen(p, &view);
    for (unsigned i = 0; i < p->extra->side_count && rc == 0; i++)
        if (is_alone(p) || p->values->all)
            rc = report_text_table(&p->extra->sides[i], &view);
    if (rc == 0 && p->values->all && !is_alone(p))
        rc = print_all(p, &view);
    printf("%s", p->extra->notes ? p->extra->notes : "");
    return rc;
}

int compare_print(struct compare **pairs, size_t count, const struct compare_values *values,
                  const struct compare_limits *limits, const struct compare_extra *extra)
{
    static const struct compare_extra nothing = {0};
    struct judged judged = {0};
    struct printing p = {.values = values, .pairs = pairs, .count = count, .judged = &judged};
    int rc = 0;
    p.extra = extra ? extra : &nothing;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = judge(pairs[i], limits, count > 1 && extra ? extra->rows[i + 1].label : "", &judged);
    if (rc == 0)
        rc = values->json || values->csv ? print_data(&p) : print_text(&p);
    if (rc == 0)
        rc = status_of(&judged, values->undecided);
    free(judged.items);
    return rc < 0 ? cmd_fail(CMD_FAILED, "out of memory") : rc;
}
