/* SPDX-License-Identifier: MIT */
/* Replaces this folder if annot is built without SQLite: query_open returns -ENOSYS. Thread-safety:
 * pure functions. */
#include "query.h"

#include <errno.h>

const struct query_table *const query_tables[] = {NULL};
const char *const query_report_names[] = {NULL};
const struct query_function query_functions[] = {{NULL, NULL}};

int query_open(const struct query_options *options, struct query **ret_query)
{
    (void)options;
    *ret_query = NULL;
    return -ENOSYS;
}

void query_close(struct query *query)
{
    (void)query;
}

int query_run(struct query *query, const char *sql, const struct query_sink *sink)
{
    (void)query;
    (void)sql;
    (void)sink;
    return -ENOSYS;
}

const char *query_error(const struct query *query)
{
    (void)query;
    return "";
}

const char *query_hint(const struct query *query)
{
    (void)query;
    return "";
}

const struct store_reader *query_reader(const struct query *query)
{
    (void)query;
    return NULL;
}

int query_report_columns(struct query *query, const char *name,
                         const struct schema_column **ret_columns)
{
    (void)query;
    (void)name;
    (void)ret_columns;
    return -ENOSYS;
}
