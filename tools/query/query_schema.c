/* SPDX-License-Identifier: MIT */
/* `annot query --schema`: prints tables, columns and functions of SQL, one per line. */
#include "query_schema.h"

#include "query_print.h"

#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { USAGE_WIDTH = 18, NAME_WIDTH = 16, TYPE_WIDTH = 9, INDENT = 2, WIDTH_DEFAULT = 100 };

static size_t width_of_output(void)
{
    size_t width = term_width(STDOUT_FILENO);
    return width ? width : WIDTH_DEFAULT;
}

static void print_columns(const struct schema_column *columns)
{
    const size_t before = INDENT + NAME_WIDTH + 1 + TYPE_WIDTH + 1;
    for (const struct schema_column *column = columns; column->name; column++) {
        const char *type = column->type[0] ? column->type : "any";
        printf("%*s%-*s %-*s ", INDENT, "", NAME_WIDTH, column->name, TYPE_WIDTH, type);
        size_t longer = strlen(column->name) > NAME_WIDTH ? strlen(column->name) - NAME_WIDTH : 0;
        if (column->help[0])
            term_wrap(stdout, column->help, width_of_output(), before + longer, before);
        else
            printf("\n");
    }
}

static int print_report_tables(struct query *query)
{
    for (const char *const *name = query_report_names; *name; name++) {
        const struct schema_column *columns;
        int error = query_report_columns(query, *name, &columns);
        if (error == -ENOENT)
            continue;
        if (error)
            return error;
        printf("\nreport_%s: the table %s of annot report --json\n", *name, *name);
        print_columns(columns);
    }
    return 0;
}

static void print_report_names(void)
{
    printf("\nTables of annot report --json, whose columns annot query --schema FILE lists:\n");
    for (const char *const *name = query_report_names; *name; name++)
        printf("%*sreport_%s\n", INDENT, "", *name);
}

static void print_functions(void)
{
    const size_t before = INDENT + USAGE_WIDTH + 1;
    printf("\nFunctions, beside those of SQLite:\n");
    for (const struct query_function *at = query_functions; at->usage; at++) {
        printf("%*s%-*s ", INDENT, "", USAGE_WIDTH, at->usage);
        term_wrap(stdout, at->help, width_of_output(), before, before);
    }
}

int query_print_schema(struct query *query)
{
    for (const struct query_table *const *at = query_tables; *at; at++) {
        printf("%s%s: %s\n", at == query_tables ? "" : "\n", (*at)->name, (*at)->help);
        print_columns((*at)->columns);
    }
    int error = 0;
    if (query)
        error = print_report_tables(query);
    else
        print_report_names();
    print_functions();
    return error;
}
