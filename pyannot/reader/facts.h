/* SPDX-License-Identifier: MIT */
/* Facts of a recording as Python objects: definitions before the first event, and the tables of a
 * report. Thread-safety: one thread per recording. */
#ifndef ANNOT_FACTS_H
#define ANNOT_FACTS_H

#include "objects.h"

struct store_reader;

/* New references: lists of tuples; or NULL with an exception. */
PyObject *facts_processes(struct text_cache *texts);
PyObject *facts_threads(struct text_cache *texts);
PyObject *facts_tracks(struct text_cache *texts);
PyObject *facts_session(struct text_cache *texts);
PyObject *facts_sample_sets(struct text_cache *texts);
PyObject *facts_file(const struct store_reader *reader);

/* Options of a report. */
struct report_wish {
    int grouping;       /* enum range_grouping */
    const char *inside; /* samples in ranges of that name, or NULL */
    const char *value;  /* of samples, of functions; or NULL: CPU time */
};

/* Returns the tables of a report, by name: a dict for facts, else a list of dicts. Reads all of
 * it. */
PyObject *report_object(struct store_reader *store, PyObject *path, const struct report_wish *wish);

#endif
