/* SPDX-License-Identifier: MIT */
/* The functions that annot adds to SQLite's own. */
#include "query_functions.h"

#include "query_state.h"

#include "histogram.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

const struct query_function query_functions[] = {
    {"quantile(X, P)",
     "aggregate: the smallest X that a part P (0 to 1) of all is at or below, to within 0.8%: "
     "quantile(duration_ns, 0.99)"},
    {"inside(PATH, NAME)",
     "1: one of the ranges of the path has this name, or the pattern with *, ? and []: "
     "inside(path, 'request')"},
    {NULL, NULL},
};

/* ---- Quantiles ------------------------------------------------------------------------------- */

enum { QUANTILE_BYTES = 1 << 20 };

struct quantile {
    struct histogram_pool *pool; /* NULL: no values */
    struct histogram values;
    double part;
};

static void step(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct quantile *quantile = sqlite3_aggregate_context(context, sizeof(*quantile));
    (void)count;
    if (!quantile || sqlite3_value_numeric_type(arguments[0]) == SQLITE_NULL)
        return;
    if (!quantile->pool)
        quantile->pool = histogram_pool_create(QUANTILE_BYTES);
    if (!quantile->pool) {
        sqlite3_result_error_nomem(context);
        return;
    }
    int64_t value = sqlite3_value_int64(arguments[0]);
    quantile->part = sqlite3_value_double(arguments[1]);
    histogram_add(quantile->pool, &quantile->values, value > 0 ? (uint64_t)value : 0);
}

static void finish(sqlite3_context *context)
{
    struct quantile *quantile = sqlite3_aggregate_context(context, 0);
    if (!quantile || !quantile->pool)
        return;
    double part = quantile->part;
    if (part > 0 && part <= 1)
        sqlite3_result_int64(context,
                             (int64_t)histogram_quantile(quantile->pool, &quantile->values, part));
    else
        sqlite3_result_error(context, "the second argument of quantile() is a part from 0 to 1",
                             -1);
    histogram_pool_destroy(quantile->pool);
    quantile->pool = NULL;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* Names may contain slashes: tries all parts of the path between two slashes. */
static bool begins_with_name(char *begin, const char *name)
{
    for (char *end = strchr(begin, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        bool matches = text_matches(name, begin);
        *end = '/';
        if (matches)
            return true;
    }
    return text_matches(name, begin);
}

static bool has_name(char *path, const char *name)
{
    for (char *begin = path; begin; begin = strchr(begin, '/')) {
        begin += *begin == '/';
        if (begins_with_name(begin, name))
            return true;
    }
    return false;
}

static void inside(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    enum { PATH_BYTES_MAX = 1 << 14 };

    const char *path = (const char *)sqlite3_value_text(arguments[0]);
    const char *name = (const char *)sqlite3_value_text(arguments[1]);
    (void)count;
    if (!path || !name) {
        sqlite3_result_int(context, 0);
        return;
    }
    char *copy = strndup(path, PATH_BYTES_MAX);
    if (copy)
        sqlite3_result_int(context, has_name(copy, name));
    else
        sqlite3_result_error_nomem(context);
    free(copy);
}

int query_register_functions(sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    int status = sqlite3_create_function(db, "quantile", 2, flags, NULL, NULL, step, finish);
    return status == SQLITE_OK
               ? sqlite3_create_function(db, "inside", 2, flags, NULL, inside, NULL, NULL)
               : status;
}
