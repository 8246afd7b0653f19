/* SPDX-License-Identifier: MIT */
/* States of threads by small slots: running, ready or waiting, with the cause. Memory: 68 KiB an
 * entry; the first threads have one each, the others share one per role. Thread-safety: one thread
 * per page. */
#ifndef ANNOT_PAGE_STATES_H
#define ANNOT_PAGE_STATES_H

#include "json_writer.h"
#include "page_data.h"
#include "pass.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page;
struct trace;

struct page_states {
    const struct trace *trace;
    struct page_span span;
    struct page_state **by_thread; /* NULL before a thread's first sample */
    struct thread_life *lives;     /* by thread */
    uint32_t thread_count;
    VEC(struct page_state *) items;
    VEC(struct page_state *) roles; /* items shared by several threads */
    size_t shown;                   /* number of items written, set at the end */
    bool off_cpu;
};

int page_states_init(struct page_states *states, const struct trace *trace,
                     const struct page_span *span);
void page_states_fini(struct page_states *states);
struct sink page_states_sink(struct page_states *states);
void page_states_finish(struct page_states *states);
int page_put_states(struct page *page, struct json_doc *doc);

#endif
