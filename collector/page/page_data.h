/* SPDX-License-Identifier: MIT */
/* Limits of a page, time slots, and texts and bytes in its data. Thread-safety: one thread per
 * page. */
#ifndef ANNOT_PAGE_DATA_H
#define ANNOT_PAGE_DATA_H

#include "json_writer.h"
#include "wait_kind.h"

#include <stddef.h>
#include <stdint.h>

struct page;
struct out_stream;

enum {
    PAGE_SLOTS = 128, /* of the time filter */
    PAGE_NODES_MAX = 20000,
    PAGE_SUMS_MAX = 160000,   /* of CPU time and waits together */
    PAGE_SUMS_READ = 1 << 18, /* while the recording is read */
    PAGE_ROWS_MAX = 500,      /* per table */
    PAGE_OWNERS_MAX = 1000,   /* each of threads and processes */
    PAGE_STATE_SLOTS = 4096,
    PAGE_STATES_MAX = 64,   /* threads with their own states */
    PAGE_SPANS_MAX = 60000, /* drawn ranges */
    PAGE_LANES_MAX = 500,
    PAGE_DENSITY_SLOTS = 1024,
    PAGE_TASKS_MAX = 20000, /* each of pool tasks, event loop tasks and requests */
    PAGE_CELLS_MAX = 100000,
    PAGE_COUNTERS_MAX = 50,
    PAGE_COUNTER_SLOTS = 240,
    PAGE_BINS = 32,       /* of durations: four per decade from 1 us */
    PAGE_TEXT_MAX = 1000, /* bytes of a text from the recording */
    PAGE_CPU = 0xff,      /* used as a cause */
    PAGE_RUNNABLE = WAIT_KINDS,
};

#define PAGE_NONE UINT32_MAX

/* The wall time that slots divide, as known before the recording is read. */
struct page_span {
    int64_t begin_ns;
    uint64_t length_ns; /* not 0 */
};

/* page_slot returns the one of `slots` equal parts that contains a time, page_slot_begin the start
 * of a part. Times outside of the span belong to the first or last slot. */
uint32_t page_slot(const struct page_span *span, uint32_t slots, int64_t time_ns);
int64_t page_slot_begin(const struct page_span *span, uint32_t slots, uint32_t slot);
void page_put_text(const struct page *page, struct json_doc *doc, const char *key,
                   const char *text);
int64_t page_since_begin(const struct page *page, int64_t time_ns);

/* Append base64: to the stream; as a member of the document, 0 or -ENOMEM. */
void page_write_base64(struct out_stream *out, const uint8_t *bytes, size_t size);
int page_put_bytes(struct json_doc *doc, const char *key, const uint8_t *bytes, size_t size);

#endif
