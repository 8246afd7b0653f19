/* SPDX-License-Identifier: MIT */
/* The tables of `annot query`. Main thread only. */
#ifndef ANNOT_QUERY_SCHEMA_H
#define ANNOT_QUERY_SCHEMA_H

struct query;

/* All tables with their columns, and the functions; with `query` also the columns of the report's.
 * 0 or -errno. */
int query_print_schema(struct query *query);

#endif
