/* SPDX-License-Identifier: MIT */
/* A comparison in words: the sides, the change of the whole, and its certainty. */
#include "compare_print.h"

#include "compare_facts.h"
#include "compare_screen.h"
#include "compare_test.h"
#include "compare_text.h"
#include "report_text.h"
#include "term.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WORDS_SIZE = 4096,
    WIDTH = 80,
    WIDTH_MIN = 40,
    WIDTH_MAX = 120,
    OUTLIERS_SHOWN = 3,
    RUNS_WANTED = 10,
};

/* The least difference of other programs' use of processors that is mentioned. */
#define OTHERS_MIN 0.25

/* The least share of time without a processor in the wall time that is mentioned. */
#define READY_PART 0.02

struct words {
    const struct compare *compare;
    unsigned width;
    bool color;
};

static void put(const struct words *words, const char *text, size_t indent)
{
    term_wrap(stdout, text, words->width, 0, indent);
}

static const struct compare_result *find_run(const struct compare *compare, const char *name)
{
    const struct compare_result *results;
    size_t count = compare_results(compare, "run", &results);
    for (size_t i = 0; i < count; i++)
        if (strcmp(results[i].name, name) == 0)
            return &results[i];
    return NULL;
}

/* ---- The sides ------------------------------------------------------------------------------- */

static void print_side(const struct words *words, enum compare_side side)
{
    char buffer[WORDS_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    const char *command = compare_command(words->compare, side);
    const char *path = compare_path(words->compare, side);
    size_t runs = compare_runs(words->compare, side);
    if (!command && !path) /* not recorded: the caller describes the variants */
        return;
    text_format(&text, "%s  %s", side == COMPARE_A ? "A" : "B", command ? command : "");
    if (path && path[0])
        text_format(&text, "%s%s", command ? "  (" : "", path);
    if (runs > 1)
        text_format(&text, path && path[0] ? " and %zu more" : "  (%zu runs",
                    path && path[0] ? runs - 1 : runs);
    if ((path && path[0] && command) || (runs > 1 && !(path && path[0])))
        text_format(&text, ")");
    put(words, buffer, 3);
}

/* The command is skipped: the sides show it. */
static void print_differences(const struct words *words)
{
    struct compare_difference found[COMPARE_DIFFERENCES_MAX];
    size_t count = compare_differences(words->compare, found), printed = 0;
    double a = compare_others(words->compare, COMPARE_A);
    double b = compare_others(words->compare, COMPARE_B);
    char buffer[WORDS_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    text_format(&text, "Differences: ");
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].what, "command") != 0)
            text_format(&text, "%s%s: %s and %s", printed++ ? "; " : "", found[i].what, found[i].a,
                        found[i].b);
    if (fabs(a - b) >= OTHERS_MIN)
        text_format(&text, "%sother programs used %.1f and %.1f processors", printed++ ? "; " : "",
                    a, b);
    text_format(&text, ".");
    if (printed > 0)
        put(words, buffer, 3);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* "3.10 s instead of 40.2 s: 92 % less (13.0 x as fast)" */
static void add_whole(struct text *text, const struct compare_result *result, bool speed)
{
    char a[COMPARE_TEXT_SIZE], b[COMPARE_TEXT_SIZE], change[COMPARE_TEXT_SIZE];
    const char *before = compare_number_text(result, result->a, a);
    const char *after = compare_number_text(result, result->b, b);
    const char *percent = compare_change_text(result, change);
    double shown = compare_shown_difference(result->a, result->b, result->unit);
    text_format(text, "%s instead of %s", after, before);
    if (!(shown > 0 || shown < 0)) {
        text_format(text, ": no change");
        return;
    }
    bool times = strchr(percent, 'x') != NULL;
    double ratio = compare_ratio(result->a, result->b, result->unit);
    if (!times && percent[0])
        text_format(text, ": %s %s", percent + (percent[0] == '+' || percent[0] == '-'),
                    shown > 0 ? "more" : "less");
    if (!speed || !(ratio > 0))
        return;
    if (shown < 0 && ratio < 0.87)
        text_format(text, " (%.*f x as fast)", ratio < 0.01 ? 0 : ratio < 0.1 ? 1 : 2, 1 / ratio);
    else if (shown > 0 && ratio > 1.15)
        text_format(text, times ? ": %.*f x as long" : " (%.*f x as long)", ratio > 10 ? 1 : 2,
                    ratio);
}

/* The confidence interval, given enough runs. */
static void add_interval(const struct words *words, struct text *text,
                         const struct compare_result *wall)
{
    char buffer[COMPARE_TEXT_SIZE];
    const char *interval = compare_interval_text(wall, buffer);
    size_t a = compare_runs(words->compare, COMPARE_A), b = compare_runs(words->compare, COMPARE_B);
    bool sure = wall->verdict == COMPARE_MORE || wall->verdict == COMPARE_LESS;
    if (wall->verdict == COMPARE_SAME)
        text_format(text, "The wall time is the same to within 1 %%, by %zu and %zu runs.", a, b);
    else if (interval[0] == 'n')
        text_format(text, "The wall time of %zu and %zu runs varies too much to say more.", a, b);
    else
        text_format(text, "The change of the wall time %s, by %zu and %zu runs: %s (95 %%).",
                    sure ? "is sure" : "may be chance", a, b, interval);
}

/* The certainty of the change of the wall time. */
static void add_sureness(const struct words *words, struct text *text,
                         const struct compare_result *wall)
{
    size_t possible;
    size_t a = compare_runs(words->compare, COMPARE_A), b = compare_runs(words->compare, COMPARE_B);
    compare_tested(words->compare, &possible);
    if (compare_is_single(words->compare) && compare_all(words->compare, COMPARE_IMPORTED))
        text_format(text, "One run each gives no measure of noise: annot diff A1 A2 vs B1 B2 "
                          "takes several.");
    else if (compare_is_single(words->compare))
        text_format(text,
                    "One run each gives no measure of noise: annot stat -n %d --vs runs both "
                    "in turn.",
                    RUNS_WANTED);
    else if (possible == 0)
        text_format(text,
                    "%zu and %zu runs are not enough to be sure: 4 each can be, %d each of "
                    "small changes.",
                    a, b, RUNS_WANTED);
    else
        add_interval(words, text, wall);
}

static bool is_chance(const struct words *words, const struct compare_result *result)
{
    return !compare_is_single(words->compare) && result->verdict == COMPARE_UNSURE;
}

/* Time without a processor is caused by other programs, not by a change of the program. */
static void add_ready(const struct words *words, struct text *text,
                      const struct compare_result *wall)
{
    const struct compare_story *story = compare_story(words->compare);
    double ready = story->b_runnable - story->a_runnable, change = wall->b - wall->a;
    bool most = story->basis == COMPARE_BY_WALL && ready * change > 0 &&
                fabs(ready) * 2 >= fabs(change) && fabs(ready) >= READY_PART * wall->a;
    if (most)
        text_format(text, " Most of that is time without a processor: other programs had them.");
}

/* "Memory at the peak: 210 MiB instead of 105 MiB: 100 % more (95 %: 80 to 122 %)." */
static void print_memory(const struct words *words)
{
    const struct compare_result *results;
    char buffer[WORDS_SIZE], interval[COMPARE_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    if (compare_results(words->compare, "heap", &results) == 0 || isnan(results->shift))
        return;
    const char *range = compare_interval_text(results, interval);
    text_format(&text, "Memory at the peak: ");
    add_whole(&text, results, false);
    if (range[0])
        text_format(&text, range[0] == 'n' ? " (%s)" : " (95 %%: %s)", range);
    text_format(&text, is_chance(words, results) ? ", which may be chance." : ".");
    put(words, buffer, 0);
}

static void print_whole(const struct words *words)
{
    char buffer[WORDS_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    const struct compare_result *wall = find_run(words->compare, "wall");
    const struct compare_result *cpu = find_run(words->compare, "CPU");
    cpu = cpu ? cpu : find_run(words->compare, "CPU by samples");
    if (!wall || isnan(wall->shift))
        return;
    text_format(&text, "B took ");
    add_whole(&text, wall, true);
    text_format(&text, ".");
    add_ready(words, &text, wall);
    fputs(words->color ? "\033[" STYLE_BOLD "m" : "", stdout);
    put(words, buffer, 0);
    fputs(words->color ? "\033[0m" : "", stdout);
    text = text_init(buffer, sizeof(buffer));
    if (cpu && !isnan(cpu->a) && !isnan(cpu->b)) {
        text_format(&text, "CPU time: ");
        add_whole(&text, cpu, false);
        text_format(&text, "%s.",
                    is_chance(words, cpu) ? ", which may be chance"
                    : compare_is_single(words->compare) || cpu->verdict == COMPARE_SAME ? ""
                                                                                        : ", sure");
        put(words, buffer, 0);
        text = text_init(buffer, sizeof(buffer));
    }
    print_memory(words);
    add_sureness(words, &text, wall);
    put(words, buffer, 0);
}

/* ---- Outliers -------------------------------------------------------------------------------- */

static void print_outliers(const struct words *words, bool alone)
{
    struct compare_outlier outliers[OUTLIERS_SHOWN];
    size_t count = compare_find_outliers(words->compare, outliers, OUTLIERS_SHOWN);
    for (size_t i = 0; i < count && i < OUTLIERS_SHOWN; i++) {
        const struct compare_outlier *outlier = &outliers[i];
        const struct compare_result like = {
            .unit = outlier->unit, .a = outlier->median, .b = outlier->value};
        char buffer[WORDS_SIZE], value[COMPARE_TEXT_SIZE], median[COMPARE_TEXT_SIZE];
        char change[COMPARE_TEXT_SIZE];
        struct text text = text_init(buffer, sizeof(buffer));
        text_format(&text, "outlier: run %zu%s: %s %s, where the median is %s (%s)",
                    outlier->run + 1,
                    alone                        ? ""
                    : outlier->side == COMPARE_A ? " of A"
                                                 : " of B",
                    outlier->name, compare_number_text(&like, outlier->value, value),
                    compare_number_text(&like, outlier->median, median),
                    compare_change_text(&like, change));
        if (outlier->path)
            text_format(&text, ", %s", outlier->path);
        put(words, buffer, 9);
    }
    if (count > OUTLIERS_SHOWN)
        printf("outliers: %zu more\n", count - OUTLIERS_SHOWN);
}

/* ---- Certainty ------------------------------------------------------------------------------- */

static void print_certainty(const struct words *words)
{
    char buffer[WORDS_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    size_t possible, tested = compare_tested(words->compare, &possible);
    size_t references = compare_reference_count(words->compare);
    bool single = compare_is_single(words->compare);
    if (!compare_story(words->compare)->marked && single)
        return;
    if (compare_story(words->compare)->marked)
        text_format(&text, single ? "~ may be chance: few samples." : "~ may be chance. ");
    if (!single)
        text_format(&text, "Numbers are medians of runs.");
    if (!single && possible > 0)
        text_format(&text, " What is sure is so at 95 %%, of %zu rows together (rank tests, Holm).",
                    tested);
    if (references > 0)
        text_format(&text,
                    " At equal speed (--all): %zu ranges that did not change give the speed "
                    "of each run.",
                    references);
    if (!single && possible > 0 && possible < tested)
        text_format(&text, " So few runs can be sure of %zu row%s; %d each of thousands.", possible,
                    possible == 1 ? "" : "s", RUNS_WANTED);
    put(words, buffer, 0);
}

/* Explains the absence of rows. */
static void print_no_rows(const struct words *words)
{
    size_t possible;
    compare_tested(words->compare, &possible);
    if (!compare_path(words->compare, COMPARE_A))
        return;
    printf("\n");
    if (compare_story(words->compare)->basis == COMPARE_BY_NOTHING)
        put(words,
            "The sides have no functions, calls or ranges in common: only the whole compares. "
            "Record both with samples, or both with --trace-functions.",
            0);
    else if (!compare_is_single(words->compare) && possible > 0)
        put(words, "No function or range surely differs.", 0);
    else
        put(words, "No function or range changed by more than 1 % of the whole.", 0);
}

static struct words words_of(const struct compare *compare, unsigned width, bool color)
{
    unsigned wrap = width == 0 ? WIDTH : width < WIDTH_MIN ? WIDTH_MIN : width;
    return (struct words){compare, wrap < WIDTH_MAX ? wrap : WIDTH_MAX, color};
}

void compare_print_outliers(const struct compare *compare, unsigned width)
{
    const struct words words = words_of(compare, width, false);
    print_outliers(&words, true);
}

void compare_print_result(const struct compare *compare, unsigned width, bool color)
{
    const struct words words = words_of(compare, width, color);
    print_side(&words, COMPARE_A);
    print_side(&words, COMPARE_B);
    print_differences(&words);
    printf("\n");
    print_whole(&words);
    print_outliers(&words, false);
}

void compare_print_notes(const struct compare *compare, unsigned width, size_t tables)
{
    const struct words words = words_of(compare, width, false);
    if (tables == 0)
        print_no_rows(&words);
    printf("\n");
    print_certainty(&words);
}

/* ---- Several variants ------------------------------------------------------------------------ */

/* The variant with the least wall time, the first one excepted; NULL: all lack a wall time. */
static const struct compare_result *find_fastest(const struct compare_variant *variants,
                                                 size_t count, size_t *ret_index)
{
    const struct compare_result *fastest = NULL;
    for (size_t i = 1; i < count; i++) {
        const struct compare_result *wall = find_run(variants[i].compare, "wall");
        if (!wall || isnan(wall->b) || (fastest && fastest->b <= wall->b))
            continue;
        fastest = wall;
        *ret_index = i;
    }
    return fastest;
}

void compare_print_fastest(const struct compare_variant *variants, size_t count, unsigned width,
                           bool color)
{
    const struct words words = words_of(variants[1].compare, width, color);
    char buffer[WORDS_SIZE], number[COMPARE_TEXT_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    size_t index = 0;
    const struct compare_result *fastest = find_fastest(variants, count, &index);
    if (!fastest)
        return;
    if (fastest->a <= fastest->b) {
        text_format(&text, "%s is the fastest: %s.", variants[0].label,
                    compare_number_text(fastest, fastest->a, number));
    } else {
        text_format(&text, "%s is the fastest: ", variants[index].label);
        add_whole(&text, fastest, true);
        text_format(&text, "%s.",
                    fastest->verdict == COMPARE_UNSURE ? ", which may be chance" : "");
    }
    fputs(color ? "\033[" STYLE_BOLD "m" : "", stdout);
    put(&words, buffer, 0);
    fputs(color ? "\033[0m" : "", stdout);
}

void compare_print_variant_notes(const struct compare_variant *variants, size_t count,
                                 unsigned width)
{
    const struct words words = words_of(variants[1].compare, width, false);
    size_t possible;
    compare_tested(words.compare, &possible);
    printf("\n");
    put(&words,
        compare_is_single(words.compare) ? "One run each gives no measure of noise."
        : possible < count
            ? "~ may be chance: so few runs are not enough to be sure of so many "
              "variants; 10 each can be."
            : "speed-up: of the median wall time against the first; ~ may be chance. "
              "spread: half of what the middle half of the runs is apart.",
        0);
}
