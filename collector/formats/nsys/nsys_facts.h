/* SPDX-License-Identifier: MIT */
/* Rows about the whole recording: processes, threads, times, devices, enums. Thread-safety: one
 * thread per exporter. */
#ifndef ANNOT_NSYS_FACTS_H
#define ANNOT_NSYS_FACTS_H

#include "export_nsys.h"

void nsys_put_facts(struct nsys *nsys);

#endif
