/* SPDX-License-Identifier: MIT */
/* The tables of pools, of their workers and tasks. 0 or -ENOMEM. Thread-safety: one thread per
 * report. */
#ifndef ANNOT_REPORT_POOLS_H
#define ANNOT_REPORT_POOLS_H

#include "report_model.h"

int report_add_tasks(struct report *report);
int report_add_pools(struct report *report); /* pools, their workers */

#endif
