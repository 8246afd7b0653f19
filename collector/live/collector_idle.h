/* SPDX-License-Identifier: MIT */
/* Options that had no effect on the recording. Thread-safety: as the trace. */
#ifndef ANNOT_COLLECTOR_IDLE_H
#define ANNOT_COLLECTOR_IDLE_H

#include "collector.h"
#include "intake_filter.h"

struct trace;

/* Adds the notes; call when all events and facts are in the trace. 0 or -errno. */
int collector_idle_note(const struct collector_requested *requested,
                        const struct filter_rules *rules, struct trace *trace);

#endif
