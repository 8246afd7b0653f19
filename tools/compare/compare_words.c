/* SPDX-License-Identifier: MIT */
/* A comparison in words: what got slower or faster, by how much, how sure that is, and by which
 * test. */
#include "compare_print.h"

#include "report_print.h"
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
    SHOWN_MAX = 4,
    OUTLIERS_SHOWN = 5
};

struct words {
    const struct compare *compare;
    unsigned width;
    bool color;
};

static void put(const struct words *words, const char *text, size_t indent)
{
    term_wrap(stdout, text, words->width, 0, indent);
}

/* ---- The wall time --------------------------------------------------------------------------- */

/* "471 ms -> 486 ms, +3.1 % (95 %: +1.2 to +5.0 %)" */
static void add_change(struct text *text, const struct compare_result *result)
{
    char a[COMPARE_TEXT_SIZE], b[COMPARE_TEXT_SIZE], change[COMPARE_TEXT_SIZE];
    char interval[COMPARE_TEXT_SIZE];
    const char *between = compare_interval_text(result, interval);
    bool only_one = isnan(result->a) || isnan(result->b);
    if (only_one) {
        text_format(text, "%s",
                    compare_number_text(result, isnan(result->a) ? result->b : result->a, a));
        return;
    }
    text_format(text, "%s -> %s, %s", compare_number_text(result, result->a, a),
                compare_number_text(result, result->b, b), compare_change_text(result, change));
    if (between[0] && between[0] != 'n')
        text_format(text, " (95 %%: %s)", between);
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

static void say_wall(const struct words *words)
{
    char buffer[WORDS_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    const struct compare_result *wall = find_run(words->compare, "wall");
    if (!wall || isnan(wall->shift))
        return;
    switch ((enum compare_verdict)wall->verdict) {
    case COMPARE_MORE:
        text_format(&text, "B is slower: wall time ");
        break;
    case COMPARE_LESS:
        text_format(&text, "B is faster: wall time ");
        break;
    case COMPARE_SAME:
        text_format(&text, "B takes as long as A, to within 1 %%: wall time ");
        break;
    case COMPARE_ONE_RUN:
        text_format(&text, "One run of A and one of B: wall time ");
        break;
    default:
        text_format(&text, "No sure difference of the wall time: ");
    }
    add_change(&text, wall);
    text_format(&text, ".");
    fputs(words->color ? "\033[" STYLE_BOLD "m" : "", stdout);
    put(words, buffer, 0);
    fputs(words->color ? "\033[0m" : "", stdout);
}

/* ---- What differs ---------------------------------------------------------------------------- */

/* Rows whose numbers are not parts of each other's, as far as that goes. */
static const char *const told_kinds[] = {"run",       "range", "overlapping", "track", "kernel",
                                         "operation", "gpu",   "own",         "wait",  "task",
                                         "import",    "await", "counter"};

static const char *kind_title(const struct compare_result *result)
{
    return strcmp(result->kind, "own") == 0      ? "function"
           : strcmp(result->kind, "wait") == 0   ? "waits for"
           : strcmp(result->kind, "run") == 0    ? ""
           : strcmp(result->kind, "import") == 0 ? "import of"
           : strcmp(result->kind, "track") == 0  ? "range"
           : strcmp(result->kind, "gpu") == 0    ? "GPU time of"
                                                 : result->kind;
}

static const char *metric_title(const struct compare_result *result)
{
    return strcmp(result->kind, "run") == 0          ? ""
           : strcmp(result->metric, "each") == 0     ? " (each)"
           : strcmp(result->metric, "relative") == 0 ? " (each, at equal speed)"
           : strcmp(result->metric, "cpu") == 0      ? " (CPU time)"
           : strcmp(result->metric, "waiting") == 0  ? " (waiting)"
                                                     : "";
}

/* Of the numbers of a row that surely differ, the one that tells most: the narrowest interval. */
static const struct compare_result *best_of(const struct compare_result *results, size_t count,
                                            enum compare_verdict verdict, size_t *ret_end)
{
    const struct compare_result *best = NULL;
    size_t end = 0;
    while (end < count && results[end].name == results[0].name &&
           results[end].place == results[0].place) {
        const struct compare_result *result = &results[end++];
        if (result->verdict == verdict && (!best || (result->high - result->low) * best->a <
                                                        (best->high - best->low) * result->a))
            best = result;
    }
    *ret_end = end;
    return best;
}

static void add_row(struct text *text, const struct compare_result *result)
{
    const char *word = compare_verdict_text(result);
    const char *kind = kind_title(result);
    text_format(text, "  %-6s  %s%s%s%s%s%s%s: ", word, kind, kind[0] ? " " : "", result->name,
                result->place[0] ? " (" : "", result->place, result->place[0] ? ")" : "",
                metric_title(result));
    add_change(text, result);
}

/* Returns how many there are. */
static size_t say_rows(const struct words *words, enum compare_verdict verdict)
{
    char buffer[WORDS_SIZE];
    size_t found = 0, end;
    for (size_t kind = 0; kind < sizeof(told_kinds) / sizeof(*told_kinds); kind++) {
        const struct compare_result *results;
        size_t count = compare_results(words->compare, told_kinds[kind], &results);
        for (size_t i = 0; i < count; i += end) {
            struct text text = text_init(buffer, sizeof(buffer));
            const struct compare_result *best = best_of(results + i, count - i, verdict, &end);
            if (!best || strcmp(best->name, "wall") == 0 || found++ >= SHOWN_MAX)
                continue;
            add_row(&text, best);
            put(words, buffer, 10);
        }
    }
    if (found > SHOWN_MAX)
        printf("          %zu more, see the tables\n", found - SHOWN_MAX);
    return found;
}

static void say_differences(const struct words *words)
{
    const struct compare_result *wall = find_run(words->compare, "wall");
    bool sure = wall && (wall->verdict == COMPARE_MORE || wall->verdict == COMPARE_LESS);
    size_t found = say_rows(words, COMPARE_MORE) + say_rows(words, COMPARE_LESS) +
                   say_rows(words, COMPARE_NEW) + say_rows(words, COMPARE_GONE);
    if (found == 0)
        put(words, sure ? "Nothing else surely differs." : "Nothing surely differs.", 0);
}

/* ---- Outliers -------------------------------------------------------------------------------- */

static void say_outliers(const struct words *words, bool alone)
{
    struct compare_outlier outliers[OUTLIERS_SHOWN];
    size_t count = compare_find_outliers(words->compare, outliers, OUTLIERS_SHOWN);
    for (size_t i = 0; i < count && i < OUTLIERS_SHOWN; i++) {
        const struct compare_outlier *outlier = &outliers[i];
        const struct compare_result like = {.unit = outlier->unit};
        char buffer[WORDS_SIZE], value[COMPARE_TEXT_SIZE], median[COMPARE_TEXT_SIZE];
        struct text text = text_init(buffer, sizeof(buffer));
        text_format(&text, "outlier: run %zu%s: %s %s, where the median is %s (%+.0f %%)",
                    outlier->run + 1,
                    alone                        ? ""
                    : outlier->side == COMPARE_A ? " of A"
                                                 : " of B",
                    outlier->name, compare_number_text(&like, outlier->value, value),
                    compare_number_text(&like, outlier->median, median),
                    100 * (outlier->value - outlier->median) / outlier->median);
        if (outlier->path)
            text_format(&text, ", %s", outlier->path);
        put(words, buffer, 9);
    }
    if (count > OUTLIERS_SHOWN)
        printf("outliers: %zu more\n", count - OUTLIERS_SHOWN);
}

/* ---- How sure -------------------------------------------------------------------------------- */

static void say_single(const struct words *words)
{
    put(words,
        "One recording a side: what is called sure holds for these two runs, by batches of "
        "consecutive durations of each range, and by samples. It says nothing about how much runs "
        "differ from each other; \"annot stat -n 10\", or several recordings a side, do.",
        0);
}

static void say_several(const struct words *words)
{
    char buffer[WORDS_SIZE];
    struct text text = text_init(buffer, sizeof(buffer));
    size_t possible, tested = compare_tested(words->compare, &possible);
    size_t references = compare_reference_count(words->compare);
    text_format(
        &text,
        "%zu and %zu runs; a run is one measurement: rank tests (Mann-Whitney), medians, "
        "95 %% intervals of each row alone. Sure: the wall time by itself, and any of %zu other "
        "rows together, differ by chance in one of 20 comparisons at most (Holm).",
        compare_runs(words->compare, COMPARE_A), compare_runs(words->compare, COMPARE_B), tested);
    if (references > 0)
        text_format(&text,
                    " At equal speed: %zu ranges that did not change tell how fast each run was.",
                    references);
    if (possible == 0)
        text_format(&text,
                    " So few runs can be sure of nothing else; 10 a side can of thousands of "
                    "rows.");
    else if (possible < tested)
        text_format(&text,
                    " So few runs can be sure of %zu row%s at most; with 10 runs a side of "
                    "thousands.",
                    possible, possible == 1 ? "" : "s");
    put(words, buffer, 0);
}

static struct words words_of(const struct compare *compare, unsigned width, bool color)
{
    unsigned wrap = width == 0 ? WIDTH : width < WIDTH_MIN ? WIDTH_MIN : width;
    return (struct words){compare, wrap < WIDTH_MAX ? wrap : WIDTH_MAX, color};
}

void compare_say_outliers(const struct compare *compare, unsigned width)
{
    const struct words words = words_of(compare, width, false);
    say_outliers(&words, true);
}

void compare_say(const struct compare *compare, unsigned width, bool color)
{
    const struct words words = words_of(compare, width, color);
    say_wall(&words);
    say_differences(&words);
    say_outliers(&words, false);
    printf("\n");
    if (compare_is_single(compare))
        say_single(&words);
    else
        say_several(&words);
}
