/* SPDX-License-Identifier: MIT */
/* Workers of pools and the times of each task, counted as in the tables. Thread-safety: one thread
 * per page. */
#ifndef ANNOT_PAGE_POOLS_H
#define ANNOT_PAGE_POOLS_H

#include "json_writer.h"
#include "pool_tasks.h"
#include "vec.h"

#include <stddef.h>
#include <stdint.h>

struct page;
struct page_names;

struct page_task {
    struct pool_task told;
    uint32_t name;
};

struct page_pools {
    struct page_names *names;
    VEC(struct page_task) items;
    uint64_t least_ns, dropped; /* minimum run time; tasks dropped below it */
};

int page_pools_take(void *pools, const struct pool_task *task);
int page_pools_limit(struct page_pools *pools, size_t limit);
int page_pools_finish(struct page_pools *pools);
int page_put_pools(struct page *page, struct json_doc *doc);

#endif
