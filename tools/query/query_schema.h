/* SPDX-License-Identifier: MIT */
/* Prints the tables of `annot query`. Main thread only. */
#ifndef ANNOT_QUERY_SCHEMA_H
#define ANNOT_QUERY_SCHEMA_H

struct query;

/* Prints all tables with their columns, and the functions; with `query` also the columns of the
 * report's tables. 0 or -errno. */
int query_print_schema(struct query *query);

#endif
