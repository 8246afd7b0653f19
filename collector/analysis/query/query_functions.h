/* SPDX-License-Identifier: MIT */
/* The functions that annot adds to SQL. Thread-safety: one thread per query. */
#ifndef ANNOT_QUERY_FUNCTIONS_H
#define ANNOT_QUERY_FUNCTIONS_H

#include <sqlite3.h>

/* Returns an SQLite status. */
int query_register_functions(sqlite3 *db);

#endif
