/* SPDX-License-Identifier: MIT */
/* The table of findings. 0 or -ENOMEM. Thread-safety: one thread per report. */
#ifndef ANNOT_REPORT_FINDINGS_H
#define ANNOT_REPORT_FINDINGS_H

#include "report_model.h"

int report_add_findings(struct report *report);

#endif
