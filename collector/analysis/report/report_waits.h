/* SPDX-License-Identifier: MIT */
/* The tables of waits, of awaits, and of blocks of event loops. 0 or -ENOMEM. Thread-safety: one
 * thread per report. */
#ifndef ANNOT_REPORT_WAITS_H
#define ANNOT_REPORT_WAITS_H

#include "report_model.h"

int report_add_waits(struct report *report);

int report_add_awaits(struct report *report);

int report_add_loops(struct report *report); /* functions that blocked event loops */

#endif
