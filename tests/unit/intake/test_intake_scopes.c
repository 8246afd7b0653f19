/* SPDX-License-Identifier: MIT */
/* What records belong to, by the numbers of domains and categories that they have. */
#include "segment_maker.h"
#include "test.h"

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

/* A record may put a category into another domain than its string does. */
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
    mark(2005, 9, 0); /* nobody knows that one */
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
