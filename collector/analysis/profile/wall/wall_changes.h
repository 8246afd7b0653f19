/* SPDX-License-Identifier: MIT */
/* Changes of threads' states, of a wall time. Thread-safety: as the wall time. */
#ifndef ANNOT_WALL_CHANGES_H
#define ANNOT_WALL_CHANGES_H

#include "wall_parts.h"

/* Lists all changes, in order of time. 0 or -ENOMEM. */
int wall_list_changes(struct wall *wall);

#endif
