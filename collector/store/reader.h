/* SPDX-License-Identifier: MIT */
/* What the writer asks a reader when it resumes a recording. Thread-safety: as the reader. */
#ifndef ANNOT_STORE_READER_H
#define ANNOT_STORE_READER_H

#include "event_code.h"
#include "scan.h"
#include "store.h"

/* Opens it; the trace has nothing that is not in the file. */
int store_reader_open_bare(const char *path, struct store_reader **ret_reader);

/* Of the last batch. */
uint32_t store_reader_stream(const struct store_reader *reader);

const struct scan *store_reader_scan(const struct store_reader *reader);

/* After the last batch. `thread` < count. */
uint32_t store_reader_thread_count(const struct store_reader *reader);
struct thread_state store_reader_thread_state(const struct store_reader *reader, uint32_t thread);

#endif
