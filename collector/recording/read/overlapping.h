/* SPDX-License-Identifier: MIT */
/* Ranges that may overlap: starts and ends are matched by process and id, in any order.
 * Thread-safety: one thread per pass. */
#ifndef ANNOT_OVERLAPPING_H
#define ANNOT_OVERLAPPING_H

#include "event.h"
#include "pass_state.h"

#include <stdbool.h>

struct pass;
struct starts;

struct starts *starts_create(void);
void starts_destroy(struct starts *starts);

/* EVENT_START or EVENT_END. `wanted`: the start is selected. */
int starts_take(struct pass *pass, const struct event *event, const struct args *args, bool wanted);
int starts_begin(struct pass *pass); /* reports ITEM_OPENED of all open ranges */
int starts_finish(struct pass *pass);

#endif
