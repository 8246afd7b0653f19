/* SPDX-License-Identifier: MIT */
/* A table of a report: columns with types, and rows that are made when they are asked for.
 *
 * Printers go through the rows and know no statistic: a column says what its numbers are, whether
 * they add up, and what programs and people call it. Nothing is stored twice, so a table takes no
 * memory beside what it shows. Thread-safety: one thread per table. */
#ifndef ANNOT_TABLE_H
#define ANNOT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column_type {
    COLUMN_TEXT = 0, /* foreign text, UTF-8 unless a recording was made to deceive */
    COLUMN_TIME,     /* nanoseconds */
    COLUMN_COUNT,
    COLUMN_BYTES,
    COLUMN_FLAG,   /* 0 or 1 */
    COLUMN_NUMBER, /* that names something: a process ID. Signed */
    COLUMN_VALUE,  /* a double, in the unit of whoever made it */
    COLUMN_SHARE,  /* no cells: the part that column `of` has of `whole` */
};

struct table_column {
    const char *name;  /* for programs, "self_ns"; NULL: for people only */
    const char *title; /* for people, "self"; NULL: for programs only */
    uint8_t type;      /* enum column_type */
    uint8_t rank;      /* with too little room the highest goes first; 0 stays */
    bool adds_up;      /* all rows together have the whole of it */
    bool rare;         /* people see it if a row has something there */
    bool right;        /* a text that stands right, as numbers do */
    bool fills;        /* a text that takes what room the others leave, and is cut at its end */
    uint8_t of;        /* COLUMN_SHARE: the index of a column */
    bool of_row;    /* COLUMN_SHARE without a whole: of the row that it is a part of, or itself */
    uint64_t whole; /* COLUMN_SHARE; 0: see `of_row` */
};

enum cell_state {
    CELL_NONE = 0, /* there is no such number */
    CELL_KNOWN,
    CELL_UNKNOWN, /* there is one, and nobody knows it: "-" */
};

struct cell {
    uint8_t state; /* enum cell_state */
    bool rough;    /* an estimate from few samples */
    bool quiet;    /* people see nothing */

    union {
        uint64_t count; /* times, counts, bytes, flags */
        int64_t number;
        double value;
        const char *text;
    };
};

enum row_role {
    ROW_PLAIN = 0,
    ROW_PART,   /* of the last plain one, which has its numbers too */
    ROW_MINOR,  /* people see it in the sum of what is not shown */
    ROW_APART,  /* people see it in a sum of its own, which table->apart names */
    ROW_HIDDEN, /* people don't see it */
    ROW_REST,   /* what is in no other row, after those; `rest` says what */
};

enum { TABLE_COLUMNS_MAX = 40, TABLE_LABEL_SIZE = 8192, TABLE_TEXT_SIZE = 5 * TABLE_LABEL_SIZE };

/* 40 KiB: not for small stacks. */
struct table_row {
    uint8_t role;     /* enum row_role */
    uint8_t owner;    /* of a function: enum code_owner, which colours go by */
    bool few;         /* it is made of few samples, which its label says */
    bool observed;    /* it was told by an observer, not by the program itself */
    bool sums_only;   /* asked for: cells that neither add up nor are rare may be left out */
    uint64_t wanted;  /* asked for: cells of other columns may be left out, which are bits here */
    const char *rest; /* ROW_REST: "outside". Constant text */
    struct cell cells[TABLE_COLUMNS_MAX];
    size_t used; /* of texts */
    char texts[TABLE_TEXT_SIZE];
};

/* A line below a table: both texts, with the number between if there is a second one. */
struct table_note {
    const char *before, *after;
    uint64_t count;
    bool always; /* also if the table is not shown */
    bool apart;  /* with an empty line before it */
};

enum { TABLE_NOTES_MAX = 6 };

struct table {
    const char *name; /* for programs, "ranges" */
    char *title;      /* for people; owned. NULL: they don't see it */
    struct table_column columns[TABLE_COLUMNS_MAX];
    unsigned column_count;
    struct table_note notes[TABLE_NOTES_MAX];
    unsigned note_count;
    uint64_t row_count;
    uint64_t limit;    /* people see so many of the rows */
    const char *apart; /* "imports" */
    bool is_single;    /* one row of facts */
    bool sorted;       /* by the column of report_options.sort */
    bool has_sum;      /* people see a row with all sums */
    bool rest_alone;   /* people see it also if it has nothing but a rest */
    bool long_labels;  /* of hundreds of columns: people see a part of them */
    bool brief;        /* times with the digits that people compare */
    bool tells_hidden; /* a line says how many columns had no room */
    const char *few;   /* the line that explains the mark of few samples; NULL: there is none */

    /* Makes row `index`, which is zeroed but for its texts. */
    void (*fill)(const struct table *table, uint64_t index, struct table_row *row);
    const void *context;
    void *rows; /* owned: what fill goes by, or NULL */
};

/* The row; its texts are valid until the next call with the same `ret_row`. table_sums: only what
 * adds up, and what is rare. table_cells: only of `columns`, TABLE_COLUMN of each. */
void table_row(const struct table *table, uint64_t index, struct table_row *ret_row);
void table_sums(const struct table *table, uint64_t index, struct table_row *ret_row);
void table_cells(const struct table *table, uint64_t index, uint64_t columns,
                 struct table_row *ret_row);

#define TABLE_COLUMN(index) (UINT64_C(1) << (index))

static inline bool row_wants(const struct table_row *row, unsigned column)
{
    return (row->wanted & TABLE_COLUMN(column)) != 0;
}

/* Frees what the table owns. */
void table_fini(struct table *table);

/* For those that make tables. column: its index. */
unsigned table_add_column(struct table *table, struct table_column column);
void table_add_note(struct table *table, struct table_note note);

/* A cell is known. Texts are copied; one that has no room ends with an ellipsis. */
void row_text(struct table_row *row, unsigned column, const char *text);
void row_count(struct table_row *row, unsigned column, uint64_t count);
void row_number(struct table_row *row, unsigned column, int64_t number);
void row_value(struct table_row *row, unsigned column, double value);

/* Room for a text that is made in place, at least a byte; then row_take with the text's length
 * makes a cell of it. */
char *row_room(struct table_row *row, size_t *ret_size);
void row_take(struct table_row *row, unsigned column, size_t length);

/* What COLUMN_SHARE has: `part` is the number of the column `of`, `of_row` that of the row that it
 * is a part of. */
struct table_share {
    uint64_t part, whole;
};

static inline struct table_share table_share(const struct table_column *column, uint64_t part,
                                             uint64_t of_row)
{
    return (struct table_share){part, column->of_row ? of_row : column->whole};
}

#endif
