/* SPDX-License-Identifier: MIT */
/* Tables: the order of rows, and texts that do not fit. */
#include "row_order.h"
#include "table.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t name_of(const void *context, uint32_t row, char *buffer, size_t size)
{
    const char *const *names = context;
    return (size_t)snprintf(buffer, size, "%s", names[row]);
}

TEST(rows_are_ordered_by_numbers_then_by_text)
{
    static const char *const names[] = {"d", "b", "b", "a", "z"};
    struct order_entry entries[] = {
        {.first = 1, .row = 0},
        {.first = 1, .row = 1},
        {.first = 1, .row = 2},
        {.first = 1, .second = 1, .row = 3},
        {.first = 9, .row = 4, .last = true},
    };
    static const uint32_t expected[] = {3, 1, 2, 0, 4};
    CHECK_INT(order_sort(entries, 5, name_of, names), 0);
    for (int i = 0; i < 5; i++)
        CHECK_INT(entries[i].row, expected[i]);
    CHECK_INT(order_sort(entries, 0, name_of, names), 0);
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    char *text = malloc(TABLE_LABEL_SIZE + 1);
    (void)index;
    memset(text, 'x', TABLE_LABEL_SIZE);
    text[TABLE_LABEL_SIZE] = '\0';
    for (unsigned i = 0; i < table->column_count; i++)
        row_text(row, i, text);
    free(text);
}

TEST(texts_are_cut_where_a_row_has_no_more_room)
{
    struct table table = {.fill = fill};
    struct table_row *row = malloc(sizeof(*row));
    size_t sum = 0;
    for (int i = 0; i < 12; i++)
        CHECK_INT(table_add_column(&table, (struct table_column){.name = "text"}), i);
    table_row(&table, 0, row);
    for (int i = 0; i < 12; i++) {
        CHECK(row->cells[i].state == CELL_KNOWN);
        CHECK(strlen(row->cells[i].text) < TABLE_LABEL_SIZE);
        sum += strlen(row->cells[i].text);
    }
    CHECK_INT(strlen(row->cells[0].text), TABLE_LABEL_SIZE - 1);
    CHECK_STR(row->cells[0].text + TABLE_LABEL_SIZE - 5, "x\u2026");
    CHECK_INT(strlen(row->cells[11].text), 0);
    CHECK(sum < TABLE_TEXT_SIZE);
    CHECK(!row->sums_only);
    CHECK(row_wants(row, 0) && row_wants(row, 11));
    table_sums(&table, 0, row);
    CHECK(row->sums_only);
    CHECK(!row_wants(row, 0));
    table_cells(&table, 0, TABLE_COLUMN(3), row);
    CHECK(!row->sums_only);
    CHECK(row_wants(row, 3) && !row_wants(row, 4));
    table_fini(&table);
    free(row);
}
