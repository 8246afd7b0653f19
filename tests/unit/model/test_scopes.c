/* SPDX-License-Identifier: MIT */
/* Scopes of a trace: unique for all writers; those set by readers; limits. */
#include "test.h"
#include "trace.h"

#include <errno.h>

static const struct scope in_pool = {.domain = 1, .category = 2, .observer = 6, .role = 3};

TEST(scope_0_is_the_default)
{
    static const struct scope none;
    struct trace *trace = trace_create();
    CHECK_INT(trace_scope_count(trace), 1);
    CHECK_INT(trace_scope_add(trace, &none), 0);
    CHECK_INT(trace_scope_of_domain(trace, 0), 0);
    CHECK(memcmp(trace_scope(trace, 0), &none, sizeof(none)) == 0);
    CHECK(memcmp(trace_scope(trace, UINT32_MAX), &none, sizeof(none)) == 0);
    trace_destroy(trace);
}

TEST(each_of_the_four_numbers_makes_another_scope)
{
    struct trace *trace = trace_create();
    struct scope others[] = {in_pool, in_pool, in_pool, in_pool};
    others[0].domain++;
    others[1].category++;
    others[2].observer++;
    others[3].role++;
    CHECK_INT(trace_scope_add(trace, &in_pool), 1);
    for (int i = 0; i < 4; i++)
        CHECK_INT(trace_scope_add(trace, &others[i]), 2 + i);
    for (int i = 0; i < 4; i++)
        CHECK_INT(trace_scope_add(trace, &others[i]), 2 + i);
    CHECK_INT(trace_scope_add(trace, &in_pool), 1);
    CHECK_INT(trace_scope_count(trace), 6);
    CHECK_INT(trace_scope_domain(trace, 2), 2);
    CHECK_INT(trace_scope_category(trace, 3), 3);
    trace_destroy(trace);
}

/* Scopes set by a reader are found by later additions; of equal ones the first. */
TEST(what_was_set_is_found_again)
{
    struct trace *trace = trace_create();
    CHECK_INT(trace_scope_set(trace, 3, &in_pool), 0);
    CHECK_INT(trace_scope_set(trace, 5, &in_pool), 0);
    CHECK_INT(trace_scope_set(trace, 0, &in_pool), 0);
    CHECK_INT(trace_scope_count(trace), 6);
    CHECK_INT(trace_scope_domain(trace, 0), 0);
    CHECK_INT(trace_scope_domain(trace, 4), 0);
    CHECK_INT(trace_scope_add(trace, &in_pool), 3);
    CHECK_INT(trace_scope_of_domain(trace, 1), 6);
    trace_destroy(trace);
}

TEST(there_are_only_so_many)
{
    struct trace *trace = trace_create();
    CHECK_INT(trace_scope_set(trace, TRACE_SCOPES_MAX, &in_pool), -ENOSPC);
    CHECK_INT(trace_scope_count(trace), 1);
    CHECK_INT(trace_scope_set(trace, TRACE_SCOPES_MAX - 1, &in_pool), 0);
    CHECK_INT(trace_scope_of_domain(trace, 77), -ENOSPC);
    CHECK_INT(trace_scope_add(trace, &in_pool), TRACE_SCOPES_MAX - 1);
    trace_destroy(trace);
}
