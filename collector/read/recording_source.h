/* SPDX-License-Identifier: MIT */
/* A recording as a pass reads it: from where the reader stands, or where the selection begins, to
 * its end. */
#ifndef ANNOT_READ_RECORDING_SOURCE_H
#define ANNOT_READ_RECORDING_SOURCE_H

#include "pass.h"
#include "store.h"

struct pass_source recording_pass_source(struct store_reader *reader);

#endif
