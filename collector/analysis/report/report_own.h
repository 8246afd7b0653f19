/* SPDX-License-Identifier: MIT */
/* The tables of own functions, of the wall time, and of places of waits. 0 or -ENOMEM.
 * Thread-safety: one thread per report. */
#ifndef ANNOT_REPORT_OWN_H
#define ANNOT_REPORT_OWN_H

#include "report_model.h"

int report_add_own(struct report *report);

#endif
