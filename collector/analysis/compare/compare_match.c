/* SPDX-License-Identifier: MIT */
/* Matches rows of one side only that are the same item under different names.
 *
 * A function of A is one of B if it has the same name in another file, or if it has the same
 * position: on the same line of the same file, at the same distance after the same function, or
 * alone between the same two with a similar name. */
#include "compare.h"

#include "compare_kinds.h"
#include "compare_state.h"
#include "compare_test.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_FILES_MAX = 256 };

/* Rows of one side only, sorted by name; pairs of renamed files. */
struct matching {
    struct compare *compare;
    size_t kind;
    VEC(struct compare_row *) left[COMPARE_SIDES];

    struct match_files {
        const char *of[COMPARE_SIDES]; /* in texts */
        size_t count;                  /* number of common names */
    } pairs[MATCH_FILES_MAX];

    size_t pair_count;
};

/* The rows of one name in both lists; {0} is before the first. */
struct match_group {
    size_t at[COMPARE_SIDES], end[COMPARE_SIDES];
};

static int match_find_files(struct matching *m);
static int compare_join_numbered(struct compare *compare);

/* Maximum of unmatched functions of one side: beyond it the programs are different, not renamed. */
enum { RENAMED_MAX = 128, KEY_SIZE = 3 * TABLE_LABEL_SIZE, ALIKE_MIN = 4, ALIKE_SIZE = 256 };

/* Returns true if any number of the row is known on a side. */
static bool compare_row_has(const struct compare *compare, size_t kind,
                            const struct compare_row *row, enum compare_side side)
{
    size_t from = side == COMPARE_B ? compare->counts[COMPARE_A] : 0;
    for (unsigned i = 0; i < METRICS_MAX && compare_kinds[kind].metrics[i].word; i++)
        for (size_t run = 0; run < compare->counts[side]; run++)
            if (!isnan(row->values[compare_at(compare, i, from + run)]))
                return true;
    return false;
}

/* Removes merged rows; the keys become invalid. */
static void compare_drop_merged(struct compare_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->rows.count; i++) {
        if (list->rows.items[i].merged)
            compare_free_row(&list->rows.items[i]);
        else
            list->rows.items[kept++] = list->rows.items[i];
    }
    list->rows.count = kept;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
    const struct compare_row *a = *(struct compare_row *const *)left;
    const struct compare_row *b = *(struct compare_row *const *)right;
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->tail, b->tail);
    return order ? order : strcmp(a->file, b->file);
}

/* Lists the rows of one side only, of the kind, sorted by name. 0 or -ENOMEM. */
static int match_find_left(struct matching *m)
{
    struct compare_list *list = &m->compare->lists[m->kind];
    m->left[COMPARE_A].count = m->left[COMPARE_B].count = 0;
    for (size_t i = 0; i < list->rows.count; i++) {
        struct compare_row *row = &list->rows.items[i];
        bool a = compare_row_has(m->compare, m->kind, row, COMPARE_A);
        bool b = compare_row_has(m->compare, m->kind, row, COMPARE_B);
        if (row->merged || a == b)
            continue;
        if (vec_push(&m->left[b ? COMPARE_B : COMPARE_A], row) != 0)
            return -ENOMEM;
    }
    for (int side = 0; side < COMPARE_SIDES; side++)
        if (m->left[side].count > 0)
            qsort(m->left[side].items, m->left[side].count, sizeof(*m->left[side].items), by_name);
    return 0;
}

static bool is_same_file(const struct matching *m, const char *a, const char *b)
{
    if (a == b)
        return a[0] != '\0';
    for (size_t i = 0; i < m->pair_count; i++)
        if (m->pairs[i].of[COMPARE_A] == a && m->pairs[i].of[COMPARE_B] == b)
            return true;
    return false;
}

static void merge(struct matching *m, struct compare_row *a, struct compare_row *b)
{
    size_t runs = m->compare->counts[COMPARE_A] + m->compare->counts[COMPARE_B];
    for (unsigned i = 0; i < METRICS_MAX && compare_kinds[m->kind].metrics[i].word; i++)
        for (size_t run = m->compare->counts[COMPARE_A]; run < runs; run++) {
            size_t at = compare_at(m->compare, i, run);
            a->values[at] = b->values[at];
        }
    a->old_name = strcmp(a->name, b->name) == 0 ? NULL : a->name;
    a->old_place = is_same_file(m, a->file, b->file) ? NULL : a->place;
    a->name = b->name;
    a->place = b->place;
    a->line[COMPARE_B] = b->line[COMPARE_B];
    a->batches[COMPARE_B] = b->batches[COMPARE_B];
    a->batch_counts[COMPARE_B] = b->batch_counts[COMPARE_B];
    b->batches[COMPARE_B] = NULL;
    b->merged = true;
}

static int compare_names(const struct compare_row *a, const struct compare_row *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->tail, b->tail);
}

static bool match_next_group(const struct matching *m, struct match_group *group)
{
    struct compare_row *const *a = m->left[COMPARE_A].items, *const *b = m->left[COMPARE_B].items;
    group->at[COMPARE_A] = group->end[COMPARE_A];
    group->at[COMPARE_B] = group->end[COMPARE_B];
    while (group->at[COMPARE_A] < m->left[COMPARE_A].count &&
           group->at[COMPARE_B] < m->left[COMPARE_B].count) {
        int order = compare_names(a[group->at[COMPARE_A]], b[group->at[COMPARE_B]]);
        if (order == 0)
            break;
        group->at[order < 0 ? COMPARE_A : COMPARE_B]++;
    }
    if (group->at[COMPARE_A] >= m->left[COMPARE_A].count ||
        group->at[COMPARE_B] >= m->left[COMPARE_B].count)
        return false;
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (group->end[side] = group->at[side];
             group->end[side] < m->left[side].count &&
             compare_names(m->left[side].items[group->end[side]], a[group->at[COMPARE_A]]) == 0;)
            group->end[side]++;
    return true;
}

/* "<module>" and "__init__" are in many files, and are different functions there; with the name of
 * a class or a function in front they are not. */
static bool is_common(const char *name)
{
    return name[0] == '<' || strncmp(name, "__", 2) == 0;
}

static void pair_group(struct matching *m, const struct match_group *group)
{
    size_t left[COMPARE_SIDES] = {0};
    struct compare_row *last[COMPARE_SIDES] = {NULL};
    for (size_t i = group->at[COMPARE_A]; i < group->end[COMPARE_A]; i++) {
        struct compare_row *a = m->left[COMPARE_A].items[i];
        size_t j = group->at[COMPARE_B];
        while (j < group->end[COMPARE_B] &&
               (m->left[COMPARE_B].items[j]->merged ||
                !is_same_file(m, a->file, m->left[COMPARE_B].items[j]->file)))
            j++;
        if (j < group->end[COMPARE_B])
            merge(m, a, m->left[COMPARE_B].items[j]);
        else
            last[COMPARE_A] = (left[COMPARE_A]++, a);
    }
    for (size_t j = group->at[COMPARE_B]; j < group->end[COMPARE_B]; j++)
        if (!m->left[COMPARE_B].items[j]->merged)
            last[COMPARE_B] = (left[COMPARE_B]++, m->left[COMPARE_B].items[j]);
    if (left[COMPARE_A] == 1 && left[COMPARE_B] == 1 && !is_common(last[COMPARE_A]->name))
        merge(m, last[COMPARE_A], last[COMPARE_B]);
}

/* 0 or -ENOMEM. */
static int pair_moved(struct matching *m)
{
    struct match_group group = {0};
    int rc = match_find_left(m);
    while (rc == 0 && match_next_group(m, &group))
        pair_group(m, &group);
    compare_drop_merged(&m->compare->lists[m->kind]);
    return rc;
}

/* ---- Renamed functions ----------------------------------------------------------------------- */

/* Returns the nearest function before it that both sides have, by the lines of one side; NULL: not
 * found. `after`: the nearest one after it. */
static const struct compare_row *anchor_of(const struct matching *m, const struct compare_row *row,
                                           enum compare_side side, bool after)
{
    const struct compare_list *list = &m->compare->lists[m->kind];
    const struct compare_row *found = NULL;
    for (size_t i = 0; i < list->rows.count; i++) {
        const struct compare_row *other = &list->rows.items[i];
        int32_t at = other->line[side];
        bool both = other->line[COMPARE_A] > 0 && other->line[COMPARE_B] > 0;
        bool beyond = after ? at > row->line[side] : at < row->line[side];
        if (!both || !beyond ||
            !(other->file == row->file || is_same_file(m, other->file, row->file)))
            continue;
        if (!found || (after ? at < found->line[side] : at > found->line[side]))
            found = other;
    }
    return found;
}

/* Returns true if the names share a piece of at least half of the shorter one, or of ALIKE_MIN
 * letters. */
static bool is_alike(const char *a, const char *b)
{
    size_t a_size = strlen(a), b_size = strlen(b), most = 0;
    size_t half = (a_size < b_size ? a_size : b_size) / 2 + 1;
    for (size_t i = 0; i < a_size && i < ALIKE_SIZE; i++)
        for (size_t j = 0; j < b_size && j < ALIKE_SIZE; j++) {
            size_t length = 0;
            while (a[i + length] && a[i + length] == b[j + length])
                length++;
            most = length > most ? length : most;
        }
    return most >= ALIKE_MIN || most >= half;
}

static const char *inner_part(const char *name)
{
    const char *inner = strstr(name, ".<");
    return inner ? inner : name[0] == '<' ? name : "";
}

static bool is_renamed(const struct matching *m, const struct compare_row *a,
                       const struct compare_row *b)
{
    bool placed = a->line[COMPARE_A] > 0 && b->line[COMPARE_B] > 0;
    if (!placed || strcmp(a->tail, b->tail) != 0 || !is_same_file(m, a->file, b->file) ||
        strcmp(inner_part(a->name), inner_part(b->name)) != 0)
        return false;
    if (a->line[COMPARE_A] == b->line[COMPARE_B])
        return true;
    const struct compare_row *before = anchor_of(m, a, COMPARE_A, false);
    if (before != anchor_of(m, b, COMPARE_B, false))
        return false;
    if (before && a->line[COMPARE_A] - before->line[COMPARE_A] ==
                      b->line[COMPARE_B] - before->line[COMPARE_B])
        return true;
    return anchor_of(m, a, COMPARE_A, true) == anchor_of(m, b, COMPARE_B, true) &&
           is_alike(a->name, b->name);
}

/* Counts the rows of the other side that it may be; `ret_found`: the last of them. */
static size_t count_renamed(const struct matching *m, const struct compare_row *row,
                            enum compare_side other, struct compare_row **ret_found)
{
    size_t count = 0;
    for (size_t i = 0; i < m->left[other].count; i++) {
        struct compare_row *to = m->left[other].items[i];
        bool same = other == COMPARE_B ? is_renamed(m, row, to) : is_renamed(m, to, row);
        if (to->merged || !same)
            continue;
        *ret_found = to;
        count++;
    }
    return count;
}

/* Merges unique pairs only: each row is the only candidate of the other. 0 or -ENOMEM. */
static int pair_renamed(struct matching *m)
{
    int rc = match_find_left(m);
    bool few = m->left[COMPARE_A].count < RENAMED_MAX && m->left[COMPARE_B].count < RENAMED_MAX;
    for (size_t i = 0; i < m->left[COMPARE_A].count && rc == 0 && few; i++) {
        struct compare_row *a = m->left[COMPARE_A].items[i], *b = NULL, *back = NULL;
        if (a->line[COMPARE_A] > 0 && count_renamed(m, a, COMPARE_B, &b) == 1 &&
            count_renamed(m, b, COMPARE_A, &back) == 1)
            merge(m, a, b);
    }
    compare_drop_merged(&m->compare->lists[m->kind]);
    return rc;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Adds a call as a row of own functions, with the name, the file and the kind of code. 0 or
 * -ENOMEM. */
static int borrow_row(struct compare *compare, size_t kind, const struct compare_row *call,
                      enum compare_side side)
{
    const struct compare_kind *calls = compare_kind_find("call", 4);
    unsigned from = (unsigned)compare_metric_find(calls, "own");
    unsigned to = (unsigned)compare_metric_find(&compare_kinds[kind], "time");
    size_t first = side == COMPARE_B ? compare->counts[COMPARE_A] : 0;
    char key[KEY_SIZE];
    int length = snprintf(key, sizeof(key), "%s\x1f%s\x1f%s", call->name, call->file, call->tail);
    struct compare_row *row =
        compare_row_of(compare, kind, key, length < KEY_SIZE ? (size_t)length : sizeof(key) - 1);
    if (!row)
        return -ENOMEM;
    row->name = call->name;
    row->place = call->place;
    row->file = call->file;
    row->tail = compare_text(compare, key + strlen(call->name) + 1 + strlen(call->file));
    row->line[side] = call->line[side];
    row->own = call->own;
    for (size_t run = first; run < first + compare->counts[side]; run++)
        row->values[compare_at(compare, to, run)] = call->values[compare_at(compare, from, run)];
    return row->tail ? 0 : -ENOMEM;
}

static bool has_rows(const struct compare *compare, size_t kind, enum compare_side side)
{
    const struct compare_list *list = &compare->lists[kind];
    for (size_t i = 0; i < list->rows.count; i++)
        if (compare_row_has(compare, kind, &list->rows.items[i], side))
            return true;
    return false;
}

/* If one side only has samples, and the other counted calls, the calls stand in for samples. */
static int borrow_calls(struct compare *compare)
{
    size_t own = (size_t)(compare_kind_find("own", 3) - compare_kinds);
    size_t call = (size_t)(compare_kind_find("call", 4) - compare_kinds);
    int rc = 0;
    for (int side = 0; side < COMPARE_SIDES; side++) {
        bool lacks = !has_rows(compare, own, side) && has_rows(compare, own, !side) &&
                     has_rows(compare, call, side) && !has_rows(compare, call, !side);
        for (size_t i = 0; i < compare->lists[call].rows.count && lacks && rc == 0; i++)
            rc = borrow_row(compare, own, &compare->lists[call].rows.items[i],
                            (enum compare_side)side);
    }
    return rc;
}

static int match_code(struct matching *m)
{
    int rc = borrow_calls(m->compare);
    if (rc == 0)
        rc = match_find_files(m);
    for (m->kind = 0; m->kind < compare_kind_count && rc == 0; m->kind++) {
        if (compare_kinds[m->kind].match != MATCH_CODE)
            continue;
        rc = pair_moved(m);
        if (rc == 0)
            rc = pair_renamed(m);
    }
    return rc;
}

int compare_match(struct compare *compare)
{
    int rc = compare_join_numbered(compare);
    struct matching *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->compare = compare;
    if (rc == 0 && compare->counts[COMPARE_B] > 0)
        rc = match_code(m);
    vec_free(&m->left[COMPARE_A]);
    vec_free(&m->left[COMPARE_B]);
    free(m);
    return rc;
}

/* ---- Renamed files --------------------------------------------------------------------------- */

/* Pairs source files that only A has with those that only B has: by the most common names of
 * functions and lines; a single remaining file on each side is a pair as well. */

/* A file, and the sides with it. */
struct file {
    const char *name; /* in texts */
    bool is_own, has[COMPARE_SIDES];
};

struct files {
    VEC(struct file) items;
    VEC(struct match_files) candidates;
};

static int add_file(struct files *files, const struct matching *m, size_t kind,
                    const struct compare_row *row)
{
    size_t i = 0;
    while (i < files->items.count && files->items.items[i].name != row->file)
        i++;
    if (i == files->items.count && vec_push(&files->items, ((struct file){.name = row->file})) != 0)
        return -ENOMEM;
    struct file *file = &files->items.items[i];
    file->is_own = file->is_own || row->own;
    for (int side = 0; side < COMPARE_SIDES; side++)
        file->has[side] = file->has[side] || compare_row_has(m->compare, kind, row, side);
    return 0;
}

/* Adds the files of the kind's rows. */
static int add_files(struct files *files, const struct matching *m)
{
    const struct compare_list *list = &m->compare->lists[m->kind];
    for (size_t i = 0; i < list->rows.count; i++)
        if (list->rows.items[i].file[0] && files->items.count < (size_t)MATCH_FILES_MAX * 4 &&
            add_file(files, m, m->kind, &list->rows.items[i]) != 0)
            return -ENOMEM;
    return 0;
}

static bool is_only_of(const struct files *files, const char *name, enum compare_side side)
{
    for (size_t i = 0; i < files->items.count; i++)
        if (files->items.items[i].name == name)
            return files->items.items[i].has[side] && !files->items.items[i].has[!side];
    return false;
}

static int count_pair(struct files *files, const char *a, const char *b)
{
    size_t i = 0, count = files->candidates.count;
    while (i < count && (files->candidates.items[i].of[COMPARE_A] != a ||
                         files->candidates.items[i].of[COMPARE_B] != b))
        i++;
    if (i < count) {
        files->candidates.items[i].count++;
        return 0;
    }
    if (count == MATCH_FILES_MAX || !is_only_of(files, a, COMPARE_A) ||
        !is_only_of(files, b, COMPARE_B))
        return 0;
    return vec_push(&files->candidates, ((struct match_files){{a, b}, 1}));
}

static int count_group(struct files *files, const struct matching *m,
                       const struct match_group *group)
{
    int rc = 0;
    for (size_t i = group->at[COMPARE_A]; i < group->end[COMPARE_A] && rc == 0; i++)
        for (size_t j = group->at[COMPARE_B]; j < group->end[COMPARE_B] && rc == 0; j++)
            rc = count_pair(files, m->left[COMPARE_A].items[i]->file,
                            m->left[COMPARE_B].items[j]->file);
    return rc;
}

static int count_kind(struct files *files, struct matching *m)
{
    struct match_group group = {0};
    int rc = match_find_left(m);
    while (rc == 0 && match_next_group(m, &group))
        rc = count_group(files, m, &group);
    return rc;
}

static bool is_taken(const struct matching *m, const struct match_files *pair)
{
    for (size_t i = 0; i < m->pair_count; i++)
        if (m->pairs[i].of[COMPARE_A] == pair->of[COMPARE_A] ||
            m->pairs[i].of[COMPARE_B] == pair->of[COMPARE_B])
            return true;
    return false;
}

static int by_count(const void *left, const void *right)
{
    const struct match_files *a = left, *b = right;
    return (a->count < b->count) - (a->count > b->count);
}

/* Returns the only unpaired file of own code that only this side has; NULL: not found, or
 * several. */
static const char *find_alone(const struct files *files, const struct matching *m,
                              enum compare_side side)
{
    const char *found = NULL;
    for (size_t i = 0; i < files->items.count; i++) {
        const struct file *file = &files->items.items[i];
        const struct match_files pair = {{file->name, file->name}, 0};
        if (!file->is_own || !file->has[side] || file->has[!side] || is_taken(m, &pair))
            continue;
        if (found)
            return NULL;
        found = file->name;
    }
    return found;
}

static void choose(struct files *files, struct matching *m)
{
    if (files->candidates.count > 0)
        qsort(files->candidates.items, files->candidates.count, sizeof(*files->candidates.items),
              by_count);
    for (size_t i = 0; i < files->candidates.count; i++)
        if (!is_taken(m, &files->candidates.items[i]))
            m->pairs[m->pair_count++] = files->candidates.items[i];
    const char *a = find_alone(files, m, COMPARE_A), *b = find_alone(files, m, COMPARE_B);
    if (a && b && m->pair_count < MATCH_FILES_MAX)
        m->pairs[m->pair_count++] = (struct match_files){{a, b}, 0};
}

/* Pairs the files of A and B with the most common names. 0 or -ENOMEM. */
static int match_find_files(struct matching *m)
{
    struct files files = {0};
    int rc = 0;
    for (m->kind = 0; m->kind < compare_kind_count && rc == 0; m->kind++)
        if (compare_kinds[m->kind].match == MATCH_CODE)
            rc = add_files(&files, m);
    for (m->kind = 0; m->kind < compare_kind_count && rc == 0; m->kind++)
        if (compare_kinds[m->kind].match == MATCH_CODE)
            rc = count_kind(&files, m);
    if (rc == 0)
        choose(&files, m);
    vec_free(&files.items);
    vec_free(&files.candidates);
    return rc;
}

/* ---- Numbered names -------------------------------------------------------------------------- */

/* Ranges with numbered names: steps, requests, batches. If A and B have different numbers, the
 * sides have no common names, but common patterns. */

enum { PATTERN_SIZE = 8192, BATCHES = 20, METRIC_WORD = 16 };

/* A row in a family of one pattern. */
struct member {
    struct compare_row *row;
    const char *pattern; /* in texts */
    size_t at;           /* of the row */
};

/* Makes "step#*" with the rest from "step#6/forward": replaces numbers without a letter after them.
 * Returns true if there was a number. */
static bool find_pattern(const char *name, struct text *text)
{
    bool found = false;
    for (const char *at = name; *at;) {
        size_t digits = strspn(at, "0123456789");
        bool number = digits > 0 && !isalpha((unsigned char)at[digits]);
        text_add(text, number ? "*" : at, number ? 1 : digits ? digits : 1);
        at += digits ? digits : 1;
        found = found || number;
    }
    return found;
}

static int by_pattern(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int order = strcmp(a->pattern, b->pattern);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* ---- Merging the numbers of rows ------------------------------------------------------------- */

struct part {
    double value, weight;
};

static int by_value(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

/* Sorts the parts. Returns the value with a share of the weight at or below it. */
static double quantile(struct part *parts, size_t count, double share)
{
    double sum = 0, seen = 0;
    qsort(parts, count, sizeof(*parts), by_value);
    for (size_t i = 0; i < count; i++)
        sum += parts[i].weight;
    for (size_t i = 0; i < count; i++) {
        seen += parts[i].weight;
        if (seen >= share * sum * (1 - 1e-9))
            return parts[i].value;
    }
    return parts[count - 1].value;
}

static double sum_of(const struct part *parts, size_t count, bool weighted)
{
    double sum = 0, weight = 0;
    for (size_t i = 0; i < count; i++) {
        sum += parts[i].value * (weighted ? parts[i].weight : 1);
        weight += parts[i].weight;
    }
    return weighted ? sum / weight : sum;
}

static double join(const struct compare_metric *metric, struct part *parts, size_t count)
{
    if (count == 0)
        return NAN;
    if (metric->flags & METRIC_SUM)
        return sum_of(parts, count, false);
    if (strcmp(metric->word, "mean") == 0)
        return sum_of(parts, count, true);
    double share = strcmp(metric->word, "min") == 0   ? 0
                   : strcmp(metric->word, "max") == 0 ? 1
                   : strcmp(metric->word, "p90") == 0 ? 0.9
                   : strcmp(metric->word, "p95") == 0 ? 0.95
                   : strcmp(metric->word, "p99") == 0 ? 0.99
                                                      : 0.5;
    return quantile(parts, count, share);
}

/* Merges a number of each run. `parts` has room for all members. */
static void join_cell(const struct compare *compare, const struct member *members, size_t count,
                      const struct compare_cell *cell, struct part *parts)
{
    const struct compare_kind *kind = &compare_kinds[cell->kind];
    int counted = compare_metric_find(kind, "count");
    for (size_t run = 0; run < compare->counts[COMPARE_A] + compare->counts[COMPARE_B]; run++) {
        size_t at = compare_at(compare, cell->metric, run), known = 0;
        for (size_t i = 0; i < count; i++) {
            double value = members[i].row->values[at];
            double weight =
                counted < 0 ? 1 : members[i].row->values[compare_at(compare, counted, run)];
            if (!isnan(value))
                parts[known++] = (struct part){value, weight > 0 ? weight : 1};
        }
        cell->row->values[at] = join(&kind->metrics[cell->metric], parts, known);
    }
}

static int by_number(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Merges all batches, in sequence, into the usual number of batches. 0 or -ENOMEM. */
static int join_batches(const struct member *members, size_t count, enum compare_side side)
{
    size_t all = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        all += members[i].row->batch_counts[side];
    double *values = all > 0 ? malloc(all * sizeof(*values)) : NULL;
    if (!values)
        return all > 0 ? -ENOMEM : 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < members[i].row->batch_counts[side]; j++)
            values[used++] = members[i].row->batches[side][j];
    size_t batches = all < BATCHES ? all : BATCHES;
    for (size_t i = 0; i < batches; i++) {
        size_t from = i * all / batches, to = (i + 1) * all / batches;
        qsort(values + from, to - from, sizeof(*values), by_number);
        values[i] = values[from + (to - from - 1) / 2];
    }
    free(members[0].row->batches[side]);
    members[0].row->batches[side] = values;
    members[0].row->batch_counts[side] = batches;
    return 0;
}

/* Merges a family into its first member. 0 or -ENOMEM. */
static int join_family(struct compare *compare, size_t kind, struct member *members, size_t count)
{
    struct part *parts = malloc(count * sizeof(*parts));
    struct compare_row *row = members[0].row;
    int rc = parts ? 0 : -ENOMEM;
    int counted = compare_metric_find(&compare_kinds[kind], "count");
    for (unsigned i = 0; i < METRICS_MAX && compare_kinds[kind].metrics[i].word && rc == 0; i++)
        if ((int)i != counted) /* last, as counts are the weights of the others */
            join_cell(compare, members, count, &(struct compare_cell){kind, row, i}, parts);
    if (rc == 0 && counted >= 0)
        join_cell(compare, members, count, &(struct compare_cell){kind, row, (unsigned)counted},
                  parts);
    for (int side = 0; side < COMPARE_SIDES && rc == 0; side++)
        rc = join_batches(members, count, (enum compare_side)side);
    row->name = members[0].pattern;
    for (size_t i = 1; i < count; i++)
        members[i].row->merged = true;
    free(parts);
    return rc;
}

/* ---- Families -------------------------------------------------------------------------------- */

/* Returns true if both sides have members, but at least one member is on one side only. */
static bool is_uneven(const struct compare *compare, size_t kind, const struct member *members,
                      size_t count)
{
    size_t of[COMPARE_SIDES] = {0}, both = 0;
    for (size_t i = 0; i < count; i++) {
        bool a = compare_row_has(compare, kind, members[i].row, COMPARE_A);
        bool b = compare_row_has(compare, kind, members[i].row, COMPARE_B);
        of[COMPARE_A] += a;
        of[COMPARE_B] += b;
        both += a && b;
    }
    return of[COMPARE_A] > 0 && of[COMPARE_B] > 0 && both < count;
}

/* Sorts the members by pattern. Returns their number, or -ENOMEM. */
static int64_t find_members(struct compare *compare, size_t kind, struct member *members)
{
    struct compare_list *list = &compare->lists[kind];
    size_t count = 0;
    for (size_t i = 0; i < list->rows.count; i++) {
        char buffer[PATTERN_SIZE];
        struct text text = text_init(buffer, sizeof(buffer));
        if (!list->rows.items[i].own || !find_pattern(list->rows.items[i].name, &text))
            continue;
        const char *pattern = compare_text(compare, buffer);
        if (!pattern)
            return -ENOMEM;
        members[count++] = (struct member){&list->rows.items[i], pattern, i};
    }
    qsort(members, count, sizeof(*members), by_pattern);
    return (int64_t)count;
}

static int join_kind(struct compare *compare, size_t kind)
{
    struct compare_list *list = &compare->lists[kind];
    struct member *members = calloc(list->rows.count + 1, sizeof(*members));
    int64_t count = members ? find_members(compare, kind, members) : -ENOMEM;
    int rc = count < 0 ? (int)count : 0;
    for (size_t first = 0, end; first < (size_t)count && rc == 0; first = end) {
        for (end = first + 1;
             end < (size_t)count && members[end].pattern == members[first].pattern;)
            end++;
        if (is_uneven(compare, kind, members + first, end - first))
            rc = join_family(compare, kind, members + first, end - first);
    }
    free(members);
    compare_drop_merged(list);
    return rc;
}

/* Merges rows of numbered names ("step#6", "step#13") into one row of their pattern, "step#*", if
 * their numbers differ between the sides. 0 or -ENOMEM. */
static int compare_join_numbered(struct compare *compare)
{
    int rc = 0;
    for (size_t kind = 0; kind < compare_kind_count && rc == 0; kind++)
        if (compare_kinds[kind].match == MATCH_NUMBERED && compare->counts[COMPARE_B] > 0)
            rc = join_kind(compare, kind);
    return rc;
}
