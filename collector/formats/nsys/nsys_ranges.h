/* SPDX-License-Identifier: MIT */
/* Rows of ranges and marks, samples and waits. Thread-safety: one thread per exporter. */
#ifndef ANNOT_NSYS_RANGES_H
#define ANNOT_NSYS_RANGES_H

#include "export_nsys.h"
#include "pass.h"
#include "sample.h"

void nsys_take_range(struct nsys *nsys, const struct item *item);
void nsys_take_mark(struct nsys *nsys, const struct item *item);
void nsys_take_sample(struct nsys *nsys, const struct sample *sample);

#endif
