/* SPDX-License-Identifier: MIT */
/* States of threads: whether each ran, was ready or waited, and for which reason, by small slots.
 * Memory: 80 KiB a thread, of which the first ones have their own, the others one for their role.
 * Thread-safety: one thread per page. */
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
    struct page_state **by_thread; /* NULL: not seen */
    struct thread_life *lives;     /* by thread */
    uint32_t thread_count;
    VEC(struct page_state *) items;
    VEC(struct page_state *) roles; /* of the items: those of several threads */
    size_t shown;                   /* of the items, after finish */
    bool off_cpu;
};

int page_states_init(struct page_states *states, const struct trace *trace,
                     const struct page_span *span);
void page_states_fini(struct page_states *states);
struct sink page_states_sink(struct page_states *states);
void page_states_finish(struct page_states *states);
int page_put_states(struct page *page, struct json_doc *doc);

#endif
