/* SPDX-License-Identifier: MIT */
/* Limits of a page, slots of its time, and texts and bytes in its data. Thread-safety: one thread
 * per page. */
#ifndef ANNOT_PAGE_DATA_H
#define ANNOT_PAGE_DATA_H

#include "json_writer.h"
#include "wait_kind.h"

#include <stddef.h>
#include <stdint.h>

struct page;
struct out_stream;

enum {
    PAGE_SLOTS = 128, /* of the brush */
    PAGE_NODES_MAX = 20000,
    PAGE_SUMS_MAX = 160000,   /* of CPU time and waits together */
    PAGE_SUMS_READ = 1 << 18, /* while the recording is read */
    PAGE_ROWS_MAX = 500,      /* of a table */
    PAGE_OWNERS_MAX = 1000,   /* threads, and processes */
    PAGE_STATE_SLOTS = 4096,
    PAGE_STATES_MAX = 64,   /* threads with states of their own */
    PAGE_SPANS_MAX = 60000, /* ranges that are drawn */
    PAGE_LANES_MAX = 500,
    PAGE_DENSITY_SLOTS = 1024,
    PAGE_TASKS_MAX = 20000, /* of pools, of event loops, requests: each */
    PAGE_CELLS_MAX = 100000,
    PAGE_COUNTERS_MAX = 50,
    PAGE_COUNTER_SLOTS = 240,
    PAGE_BINS = 32,       /* of durations: four a decade from a microsecond on */
    PAGE_TEXT_MAX = 1000, /* bytes of a foreign text */
    PAGE_CPU = 0xff,      /* in place of a cause */
    PAGE_READY = WAIT_KINDS,
};

#define PAGE_NONE UINT32_MAX

/* What slots divide: the wall time, as far as it is known before the recording is read. */
struct page_span {
    int64_t begin_ns;
    uint64_t length_ns; /* not 0 */
};

/* Of `slots` equal parts, the one that an instant is in, and where one begins. What is outside
 * counts for the first or the last. */
uint32_t page_slot(const struct page_span *span, uint32_t slots, int64_t time_ns);
int64_t page_slot_begin(const struct page_span *span, uint32_t slots, uint32_t slot);
void page_put_text(const struct page *page, struct json_doc *doc, const char *key,
                   const char *text);
int64_t page_since_begin(const struct page *page, int64_t time_ns);

/* Base64: at the end of the stream; as a member of the document: 0 or -ENOMEM. */
void page_write_base64(struct out_stream *out, const uint8_t *bytes, size_t size);
int page_put_bytes(struct json_doc *doc, const char *key, const uint8_t *bytes, size_t size);

#endif
