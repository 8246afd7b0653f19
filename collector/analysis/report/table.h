/* SPDX-License-Identifier: MIT */
/* A table of a report: columns with types, and rows that are made on demand.
 *
 * Printers iterate over the rows and are independent of the statistics: a column has the type of
 * its numbers, whether they add up, and its names for programs and for readers. Data is not copied,
 * so a table takes no memory beside the statistics it shows. Thread-safety: one thread per
 * table. */
#ifndef ANNOT_TABLE_H
#define ANNOT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column_type {
    COLUMN_TEXT = 0, /* untrusted text, UTF-8 unless a recording was forged */
    COLUMN_TIME,     /* nanoseconds */
    COLUMN_COUNT,
    COLUMN_BYTES,
    COLUMN_FLAG,   /* 0 or 1 */
    COLUMN_NUMBER, /* identifies something: a process ID. Signed */
    COLUMN_VALUE,  /* a double, in the unit of its source */
    COLUMN_SHARE,  /* without cells: column `of` as a part of `whole` */
};

struct table_column {
    const char *name;  /* for programs, "self_ns"; NULL: for readers only */
    const char *title; /* for readers, "self"; NULL: for programs only */
    uint8_t type;      /* enum column_type */
    uint8_t rank;      /* if space is short, the highest is dropped first; 0 is kept */
    bool adds_up;      /* the sum over all rows is the whole */
    bool rare;         /* shown if any row has a value */
    bool right;        /* right-aligned text, as numbers */
    bool fills;        /* a text that takes the remaining width, and is cut at its end */
    uint8_t of;        /* COLUMN_SHARE: the index of a column */
    bool of_row;    /* COLUMN_SHARE without a whole: of the row that it is a part of, or of the row
                       itself */
    uint64_t whole; /* COLUMN_SHARE; 0: see `of_row` */
};

enum cell_state {
    CELL_NONE = 0, /* not applicable */
    CELL_KNOWN,
    CELL_UNKNOWN, /* exists, but is unknown: "-" */
};

struct cell {
    uint8_t state; /* enum cell_state */
    bool rough;    /* an estimate from few samples */
    bool quiet;    /* not shown to readers */

    union {
        uint64_t count; /* times, counts, bytes, flags */
        int64_t number;
        double value;
        const char *text;
    };
};

enum row_role {
    ROW_PLAIN = 0,
    ROW_PART,   /* part of the last plain row, and of its numbers */
    ROW_MINOR,  /* shown in the sum of the rows that are not listed */
    ROW_APART,  /* shown in a separate sum, named by table->apart */
    ROW_HIDDEN, /* not shown */
    ROW_REST,   /* the remainder outside of all other rows, at the end; named by `rest` */
};

enum { TABLE_COLUMNS_MAX = 40, TABLE_LABEL_SIZE = 8192, TABLE_TEXT_SIZE = 5 * TABLE_LABEL_SIZE };

/* 40 KiB: not for small stacks. */
struct table_row {
    uint8_t role;     /* enum row_role */
    uint8_t owner;    /* of a function: enum code_owner, for its colour */
    bool few;         /* from few samples, which its label says */
    bool observed;    /* made by an observer, not by the program itself */
    bool sums_only;   /* requested: cells that neither add up nor are rare may be left out */
    uint64_t wanted;  /* requested columns, as bits; cells of others may be left out */
    const char *rest; /* ROW_REST: "outside". Constant text */
    struct cell cells[TABLE_COLUMNS_MAX];
    size_t used; /* of texts */
    char texts[TABLE_TEXT_SIZE];
};

/* A line below a table: `before`, or with `after` both texts and the number between them. */
struct table_note {
    const char *before, *after;
    uint64_t count;
    bool always; /* also if the table is not shown */
    bool apart;  /* with an empty line before it */
};

enum { TABLE_NOTES_MAX = 6 };

struct table {
    const char *name; /* for programs, "ranges" */
    char *title;      /* for readers; owned. NULL: not shown */
    struct table_column columns[TABLE_COLUMNS_MAX];
    unsigned column_count;
    struct table_note notes[TABLE_NOTES_MAX];
    unsigned note_count;
    uint64_t row_count;
    uint64_t limit;    /* rows shown to readers */
    const char *apart; /* "imports" */
    bool is_single;    /* one row of facts */
    bool sorted;       /* by the column of report_options.sort */
    bool has_sum;      /* readers see a row with all sums */
    bool rest_alone;   /* shown even if a rest is its only row */
    bool long_labels;  /* labels of hundreds of columns: readers see a part of them */
    bool brief;        /* times with fewer digits, for comparison by readers */
    bool tells_hidden; /* a line reports the number of hidden columns */
    const char *few;   /* the line that explains the mark of few samples; NULL: no line */

    /* Makes row `index`, which is zeroed except its texts. */
    void (*fill)(const struct table *table, uint64_t index, struct table_row *row);
    const void *context;
    void *rows; /* owned: data for fill, or NULL */
};

/* Fill a row; its texts are valid until the next call with the same `ret_row`. table_sums: only
 * columns that add up or are rare. table_cells: only `columns`, a bit TABLE_COLUMN for each. */
void table_row(const struct table *table, uint64_t index, struct table_row *ret_row);
void table_sums(const struct table *table, uint64_t index, struct table_row *ret_row);
void table_cells(const struct table *table, uint64_t index, uint64_t columns,
                 struct table_row *ret_row);

#define TABLE_COLUMN(index) (UINT64_C(1) << (index))

static inline bool row_wants(const struct table_row *row, unsigned column)
{
    return (row->wanted & TABLE_COLUMN(column)) != 0;
}

/* Frees the title and the rows. */
void table_fini(struct table *table);

/* For makers of tables. Returns the column's index. */
unsigned table_add_column(struct table *table, struct table_column column);
void table_add_note(struct table *table, struct table_note note);

/* Set a known cell. Texts are copied; a cut text ends with an ellipsis. */
void row_text(struct table_row *row, unsigned column, const char *text);
void row_count(struct table_row *row, unsigned column, uint64_t count);
void row_number(struct table_row *row, unsigned column, int64_t number);
void row_value(struct table_row *row, unsigned column, double value);

/* Returns space for a text made in place, at least a byte; row_take with the text's length makes a
 * cell of it. */
char *row_room(struct table_row *row, size_t *ret_size);
void row_take(struct table_row *row, unsigned column, size_t length);

/* The numbers of a COLUMN_SHARE: `part` is from the column `of`, `of_row` that of the row that it
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
