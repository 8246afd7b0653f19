/* SPDX-License-Identifier: MIT */
/* Registers all tables in SQLite. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_TABLES_H
#define ANNOT_QUERY_TABLES_H

struct query;

/* Returns an SQLite status. */
int query_register_tables(struct query *query);

#endif
