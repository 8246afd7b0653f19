/* SPDX-License-Identifier: MIT */
/* Scopes of records, by their numbers of domains and categories. */
#include "segment_maker.h"
#include "test.h"

#include <annot/observers.h>

static struct maker_events seen;
static struct maker *maker;
static struct annot_block *block;

static const char *text(uint32_t ordinal)
{
    return trace_string(seen.trace, ordinal)->bytes;
}

static void begin(void)
{
    maker = maker_create();
    block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
}

static void mark(uint64_t time, uint16_t domain, uint16_t category)
{
    struct annot_attr attr = {.domain = domain, .category = category};
    struct annot_record record = {.time = time, .kind = ANNOT_REC_MARK, .flags = ANNOT_FLAG_ATTR};
    maker_record(block, record, &attr, sizeof(attr));
}

static void drain(unsigned count)
{
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, count);
}

static void end(void)
{
    maker_detach(&seen);
    maker_destroy(maker);
}

static void check(unsigned index, const char *domain, const char *category)
{
    const struct scope *scope = trace_scope(seen.trace, seen.events[index].scope);
    CHECK_STR(text(scope->domain), domain);
    CHECK_STR(text(scope->category), category);
    CHECK((seen.events[index].scope == 0) == (!domain[0] && !category[0]));
}

/* A record may combine a category with another domain than the category's string has. */
TEST(scopes_follow_both_numbers_of_a_record)
{
    begin();
    maker_string(maker, ANNOT_STRING_DOMAIN, 3, "io");
    maker_string(maker, ANNOT_STRING_CATEGORY, 4, "disk");
    mark(2000, 3, 4);
    mark(2001, 0, 4);
    mark(2002, 3, 4);
    mark(2003, 3, 0);
    mark(2004, 0, 0);
    mark(2005, 9, 0); /* an unknown number */
    mark(2006, 9, 4);
    drain(7);
    check(0, "io", "disk");
    check(1, "", "disk");
    check(2, "io", "disk");
    check(3, "io", "");
    check(4, "", "");
    check(5, "", "");
    check(6, "", "disk");
    CHECK_INT(seen.events[0].scope, seen.events[2].scope);
    end();
}

static void check_observer(unsigned index, unsigned observer, unsigned role)
{
    const struct scope *scope = trace_scope(seen.trace, seen.events[index].scope);
    CHECK_INT(scope->observer, observer);
    CHECK_INT(scope->role, role);
}

/* A category without an observer belongs to its domain; several may have one name. */
TEST(observers_are_told_by_numbers)
{
    begin();
    maker_string(maker, ANNOT_STRING_DOMAIN, 3, "python");
    maker_string(maker, ANNOT_STRING_OBSERVED, 4,
                 "6\x1f"
                 "1\x1f"
                 "pool");
    maker_string(maker, ANNOT_STRING_CATEGORY, 4, "pool");
    maker_string(maker, ANNOT_STRING_OBSERVED, 5,
                 "6\x1f"
                 "2\x1f"
                 "pool");
    maker_string(maker, ANNOT_STRING_CATEGORY, 5, "pool");
    maker_string(maker, ANNOT_STRING_CATEGORY, 6, "pool"); /* the program's own */
    maker_string(maker, ANNOT_STRING_OBSERVED, 7,
                 "11\x1f"
                 "0\x1f\x1f"
                 "cuda");
    maker_string(maker, ANNOT_STRING_DOMAIN, 7, "cuda");
    maker_string(maker, ANNOT_STRING_CATEGORY, 8, "copies");
    maker_string(maker, ANNOT_STRING_OBSERVED, 9,
                 "60000\x1f"
                 "60001\x1f"
                 "later");
    maker_string(maker, ANNOT_STRING_CATEGORY, 9, "later");
    mark(2000, 3, 4);
    mark(2001, 3, 5);
    mark(2002, 3, 6);
    mark(2003, 7, 0);
    mark(2004, 7, 8);
    mark(2005, 7, 4);
    mark(2006, 3, 9);
    mark(2007, 3, 0);
    drain(8);
    for (unsigned i = 0; i < 3; i++)
        check(i, "python", "pool");
    check_observer(0, OBSERVER_POOL, POOL_ROLE_SUBMIT);
    check_observer(1, OBSERVER_POOL, POOL_ROLE_SEND);
    check_observer(2, OBSERVER_PROGRAM, 0);
    check(3, "cuda", "");
    check_observer(3, OBSERVER_NVTX, 0);
    check_observer(4, OBSERVER_NVTX, 0);
    check_observer(5, OBSERVER_POOL, POOL_ROLE_SUBMIT);
    check(6, "python", "later");
    check_observer(6, 60000, 60001);
    check_observer(7, OBSERVER_PROGRAM, 0);
    CHECK_INT(seen.drain->decoder.names.broken, 0);
    end();
}

TEST(the_default_domain_of_an_observer_has_no_name)
{
    begin();
    maker_string(maker, ANNOT_STRING_OBSERVED, 4,
                 "9\x1f"
                 "3\x1f\x1f");
    maker_string(maker, ANNOT_STRING_DOMAIN, 4, "");
    for (unsigned i = 0; i < 3; i++)
        mark(2000 + i, 4, 0);
    mark(2003, 0, 0);
    drain(4);
    for (unsigned i = 0; i < 3; i++) {
        check_observer(i, OBSERVER_LOG, 3);
        CHECK_INT(trace_scope_domain(seen.trace, seen.events[i].scope), 0);
    }
    check(3, "", "");
    check_observer(3, OBSERVER_PROGRAM, 0);
    end();
}

TEST(what_is_no_observer_is_counted_and_left_out)
{
    static const char *const lies[] = {"", "6",
                                       "x\x1f"
                                       "1\x1f"
                                       "a",
                                       "6\x1f"
                                       "70000\x1f"
                                       "a",
                                       "99999999999999999999999999\x1f"
                                       "1\x1f"
                                       "a"};
    const unsigned count = sizeof(lies) / sizeof(*lies);
    begin();
    for (unsigned i = 0; i < count; i++) {
        maker_string(maker, ANNOT_STRING_OBSERVED, (uint16_t)(i + 1), lies[i]);
        maker_string(maker, ANNOT_STRING_CATEGORY, (uint16_t)(i + 1), "a");
        mark(2000 + i, 0, (uint16_t)(i + 1));
    }
    drain(count);
    for (unsigned i = 0; i < count; i++) {
        check(i, "", "a");
        check_observer(i, OBSERVER_PROGRAM, 0);
    }
    CHECK_INT(seen.drain->decoder.names.broken, count);
    end();
}

/* The collector does not include libannot's headers: both define these numbers. */
TEST(observers_roles_and_their_texts_are_those_that_programs_use)
{
    static const int pairs[][2] = {
        {ANNOT_OBSERVER_PROGRAM, OBSERVER_PROGRAM},
        {ANNOT_OBSERVER_SELFTEST, OBSERVER_SELFTEST},
        {ANNOT_OBSERVER_NATIVE_CALLS, OBSERVER_NATIVE_CALLS},
        {ANNOT_OBSERVER_PYTHON_CALLS, OBSERVER_PYTHON_CALLS},
        {ANNOT_OBSERVER_GC, OBSERVER_GC},
        {ANNOT_OBSERVER_IMPORT, OBSERVER_IMPORT},
        {ANNOT_OBSERVER_POOL, OBSERVER_POOL},
        {ANNOT_OBSERVER_ASYNCIO, OBSERVER_ASYNCIO},
        {ANNOT_OBSERVER_SUBPROCESS, OBSERVER_SUBPROCESS},
        {ANNOT_OBSERVER_LOG, OBSERVER_LOG},
        {ANNOT_OBSERVER_PROBE, OBSERVER_PROBE},
        {ANNOT_OBSERVER_NVTX, OBSERVER_NVTX},
        {ANNOT_OBSERVER_ITT, OBSERVER_ITT},
        {ANNOT_OBSERVER_CUPTI, OBSERVER_CUPTI},
        {ANNOT_OBSERVER_IMPORTER, OBSERVER_IMPORTER},
        {ANNOT_OBSERVER_INHERITED, OBSERVER_INHERITED},
        {ANNOT_POOL_SUBMIT, POOL_ROLE_SUBMIT},
        {ANNOT_POOL_SEND, POOL_ROLE_SEND},
        {ANNOT_POOL_UNPICKLE, POOL_ROLE_UNPICKLE},
        {ANNOT_POOL_RUN, POOL_ROLE_RUN},
        {ANNOT_POOL_FETCH, POOL_ROLE_FETCH},
        {ANNOT_POOL_START_UP, POOL_ROLE_START_UP},
        {ANNOT_POOL_START, POOL_ROLE_START},
        {ANNOT_POOL_INITIALIZER, POOL_ROLE_INITIALIZER},
        {ANNOT_POOL_COUNT, POOL_ROLE_COUNT},
        {ANNOT_ASYNCIO_TASK, ASYNCIO_ROLE_TASK},
        {ANNOT_ASYNCIO_BLOCKED, ASYNCIO_ROLE_BLOCKED},
        {ANNOT_ASYNCIO_AWAITED, ASYNCIO_ROLE_AWAITED},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        CHECK_INT(pairs[i][0], pairs[i][1]);
    CHECK_STR(ANNOT_IMPORT_PREFIX, OBSERVER_IMPORT_PREFIX);
    CHECK_STR(ANNOT_POOL_FLOW, POOL_FLOW);
    CHECK_STR(ANNOT_POOL_KEY_BYTES, POOL_KEY_BYTES);
    CHECK_STR(ANNOT_ASYNCIO_KEY_MS, ASYNCIO_KEY_MS);
    CHECK_STR(ANNOT_ASYNCIO_KEY_AWAITS, ASYNCIO_KEY_AWAITS);
    CHECK_STR(ANNOT_ASYNCIO_KEY_FUNCTION, ASYNCIO_KEY_FUNCTION);
    CHECK_STR(ANNOT_ASYNCIO_KEY_FILE, ASYNCIO_KEY_FILE);
    CHECK_STR(ANNOT_ASYNCIO_KEY_LINE, ASYNCIO_KEY_LINE);
    CHECK_STR(ANNOT_POOL_KEY_CHUNK, POOL_KEY_CHUNK);
    CHECK_STR(ANNOT_POOL_KEY_SINCE, POOL_KEY_SINCE);
}
