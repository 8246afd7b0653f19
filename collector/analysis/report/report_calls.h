/* SPDX-License-Identifier: MIT */
/* The tables of counted calls. 0 or -ENOMEM. Thread-safety: one thread per report. */
#ifndef ANNOT_REPORT_CALLS_H
#define ANNOT_REPORT_CALLS_H

#include "report_model.h"

int report_add_calls(struct report *report); /* calls, and edges from callers to callees */

int report_add_calls_made(struct report *report); /* by task and range; coroutines as a whole */

#endif
