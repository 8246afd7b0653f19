/* SPDX-License-Identifier: MIT */
/* The page: one file for browsers that shows where the time of a recording went, and needs nothing
 * else. docs/page-data.md describes the data in it.
 *
 * The recording is read once, with the report (profile/report.h), whose tables are on the page; the
 * rest are sums of bounded number, so that a page is PAGE_BYTES_MAX long at most, whatever the
 * recording. What did not fit is said on the page. Thread-safety: one thread per object. */
#ifndef ANNOT_PAGE_H
#define ANNOT_PAGE_H

#include "gpu_stacks.h"
#include "out_stream.h"
#include "report.h"

enum { PAGE_BYTES_MAX = 5000000 };

/* A second recording, as tables that compare the two. */
struct page_compare {
    const char *file; /* what the other one is called; NULL: there is none */
    const struct table *const *tables;
    unsigned count;
};

struct page_options {
    struct report_options report; /* `sinks` are the page's own */
    const char *title;            /* NULL: the program's name */
    const char *ending;           /* how the command ended, in a sentence; "": as it should */
    bool no_source;               /* no text of source files */
    bool flame;                   /* the views of stacks alone: flame graph, trees, source */
    const struct gpu_stacks_totals *gpu; /* `report.source` tells GPU time; NULL: CPU time */
    struct page_compare compare;
};

struct page;

/* In the first lines of each page. */
#define PAGE_MARK "<meta name=\"generator\" content=\"annot\">"

/* Reads the recording. What the options point to outlives the page. 0 or -errno; destroy accepts
 * NULL. */
int page_create(const struct page_options *options, struct page **ret_page);
void page_destroy(struct page *page);

/* Whether any sample or wait is in it. */
bool page_has_stacks(const struct page *page);

/* The data alone, as JSON, or all of the page. Errors of the stream stick. 0 or -errno. */
int page_write_data(struct page *page, struct out_stream *out);
int page_write(struct page *page, struct out_stream *out);

#endif
