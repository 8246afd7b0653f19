/* SPDX-License-Identifier: MIT */
/* One line about a recovered session, for `annot recover` and `annot record`. Main thread only. */
#ifndef ANNOT_RECOVER_NOTE_H
#define ANNOT_RECOVER_NOTE_H

#include "collector.h"

void recover_note(const struct collector_recovered *what);

#endif
