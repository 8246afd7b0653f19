/* SPDX-License-Identifier: MIT */
/* Rows of a table gathered into columns: order and paths. */
#include "columns.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 88172645463325252u;

static uint32_t next_random(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 20) % limit;
}

/* ---- Order ----------------------------------------------------------------------------------- */

enum { ROWS = 20000, LANES = 5 };

/* Two columns record the row's origin; the second lacks every third row. */
static void fill_rows(struct columns *columns, uint32_t piece)
{
    struct column *all = &columns->items[0], *some = &columns->items[1];
    columns->rows.count = 2;
    columns->row_count = ROWS;
    columns->keys = malloc(ROWS * sizeof(*columns->keys));
    for (uint32_t i = 0; i < 2; i++) {
        columns->items[i].present = malloc(ROWS * sizeof(uint32_t));
        columns->items[i].values = malloc(ROWS * sizeof(int64_t));
        CHECK(columns->items[i].present && columns->items[i].values);
    }
    CHECK(columns->keys);
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t lane = piece ? row / piece % LANES : next_random(LANES);
        int64_t begin_ns = piece ? row : next_random(ROWS / 4);
        columns->keys[row] = (struct row_key){lane, begin_ns, row};
        all->present[row] = 1;
        all->values[all->count++] = row;
        some->present[row] = row % 3 > 0;
        if (row % 3 > 0)
            some->values[some->count++] = row;
    }
}

static void check_order(uint32_t piece)
{
    struct columns columns = {0};
    fill_rows(&columns, piece);
    struct row_key *before = malloc(ROWS * sizeof(*before));
    CHECK(before);
    memcpy(before, columns.keys, ROWS * sizeof(*before));
    CHECK_INT(columns_sort(&columns), 0);
    uint32_t value = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t row = (uint32_t)columns.items[0].values[i];
        CHECK(row < ROWS && columns.keys[i].row == row);
        CHECK(before[row].lane == columns.keys[i].lane);
        CHECK_INT(before[row].begin_ns, columns.keys[i].begin_ns);
        if (i > 0) {
            const struct row_key *last = &columns.keys[i - 1], *key = &columns.keys[i];
            CHECK(last->lane <= key->lane);
            CHECK(last->lane < key->lane || last->begin_ns <= key->begin_ns);
            CHECK(last->lane < key->lane || last->begin_ns < key->begin_ns || last->row > key->row);
        }
        CHECK_INT(columns.items[1].present[i], row % 3 > 0);
        if (row % 3 > 0)
            CHECK_INT(columns.items[1].values[value++], row);
    }
    CHECK_INT(value, columns.items[1].count);
    for (uint32_t i = 0; i < 2; i++) {
        free(columns.items[i].present);
        free(columns.items[i].values);
    }
    free(columns.keys);
    free(before);
}

TEST(rows_come_by_lane_and_begin_whatever_order_they_had)
{
    check_order(0);    /* no rows */
    check_order(1);    /* lanes alternate */
    check_order(250);  /* in pieces */
    check_order(ROWS); /* one lane, in order */
}

/* ---- Paths ----------------------------------------------------------------------------------- */

enum { NAMES = 30, PATHS = 30000, DEPTH = 12 };

static void spell_all(struct column_paths *paths, char *const *texts, size_t count)
{
    char *before = strdup("");
    for (uint32_t i = 0; i < 4 * PATHS; i++) {
        uint32_t word = next_random((uint32_t)count);
        size_t same, length;
        CHECK_INT(column_paths_spell(paths, word, &same), 0);
        const char *text = rows_paths_text(&paths->spelled, &length);
        CHECK(length == strlen(texts[word]) && memcmp(text, texts[word], length) == 0);
        CHECK(same <= length && same <= strlen(before) && memcmp(text, before, same) == 0);
        CHECK_INT(paths->words.items[word].length, length);
        free(before);
        before = strndup(text, length);
    }
    free(before);
}

TEST(words_of_paths_are_spelled_as_they_were_taken)
{
    struct maker *maker = maker_create();
    struct rows_paths path;
    struct column_paths paths = {0};
    uint32_t names[NAMES];
    char *texts[PATHS];
    size_t count = 0, bytes = 0;
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%.*s%u", (int)i % 9, "functions", i);
        names[i] = maker_string(maker, name);
    }
    CHECK_INT(rows_paths_init(&path, maker_trace(maker)), 0);
    CHECK_INT(column_paths_init(&paths, maker_trace(maker)), 0);
    for (uint32_t i = 0; i < PATHS; i++) {
        uint32_t word;
        size_t length;
        rows_paths_cut(&path, next_random((uint32_t)path.links.count + 1));
        while (path.links.count == 0 || (path.links.count < DEPTH && next_random(3)))
            CHECK_INT(rows_paths_add(&path, names[next_random(NAMES)], 0), 0);
        CHECK_INT(column_paths_take(&paths, &path, &word), 0);
        const char *text = rows_paths_text(&path, &length);
        bytes += length;
        CHECK(word <= count);
        if (word == count)
            texts[count++] = strndup(text, length);
        CHECK(strlen(texts[word]) == length && memcmp(texts[word], text, length) == 0);
    }
    CHECK(count == paths.words.count && count > 1000 && count < PATHS);
    CHECK_INT(paths.all_bytes, bytes);
    spell_all(&paths, texts, count);
    while (count > 0)
        free(texts[--count]);
    column_paths_fini(&paths);
    rows_paths_fini(&path);
    maker_destroy(maker);
}
