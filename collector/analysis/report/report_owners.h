/* SPDX-License-Identifier: MIT */
/* The tables of processes and threads. 0 or -ENOMEM. Thread-safety: one thread per report. */
#ifndef ANNOT_REPORT_OWNERS_H
#define ANNOT_REPORT_OWNERS_H

#include "report_model.h"

int report_add_owners(struct report *report);

#endif
