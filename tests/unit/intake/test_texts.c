/* SPDX-License-Identifier: MIT */
/* Texts beyond the collector's limit. */
#include "segment_maker.h"
#include "segment_source.h"
#include "test.h"

#include <string.h>

/* Each is counted, in the trace from which all outputs are made. */
TEST(texts_beyond_the_limit_are_counted)
{
    static struct maker_events seen;
    const struct annot_record record = {
        .time = 2001, .kind = ANNOT_REC_MARK, .flags = ANNOT_FLAG_NAME_INLINE, .name = 6};
    const struct directory nowhere = {.fd = -1};
    struct maker *maker = maker_create();
    struct annot_block *block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
    maker_record(block, record, "inline\0\0\0\0\0\0\0\0\0\0", 16);
    maker_record(block, record, "second\0\0\0\0\0\0\0\0\0\0", 16);
    maker_attach(&seen, maker);
    seen.drain->decoder.names.inline_bytes = NAMES_INLINE_BYTES + 1;
    CHECK(drain_visit(seen.drain, DRAIN_RELEASED) > 0);
    struct segment_source source = {
        .drain = seen.drain, .directory = &nowhere, .segment = seen.segment};
    CHECK_INT(source_publish(&source, seen.trace), 0);
    CHECK_INT(source_publish(&source, seen.trace), 0);
    const struct trace_fact *fact = trace_fact_get(seen.trace, 0);
    CHECK(fact && fact->kind == FACT_LOSS);
    CHECK_INT(fact->value, 2);
    CHECK(strncmp(trace_string(seen.trace, fact->name)->bytes, "texts: ", 7) == 0);
    maker_detach(&seen);
    maker_destroy(maker);
}
