/* SPDX-License-Identifier: MIT */
/* The hosts during the walk over the changes of a wall time. Thread-safety: as the wall time. */
#ifndef ANNOT_WALL_HOSTS_H
#define ANNOT_WALL_HOSTS_H

#include "wall_parts.h"

/* A thread's state changes between leave and enter of its host, in order of time. 0 or -ENOMEM. */
int wall_begin_hosts(struct wall *wall);
struct host_now *wall_host_of(struct wall *wall, uint32_t thread);
void wall_host_leave(struct wall *wall, struct host_now *host, int64_t now_ns);
void wall_host_enter(struct wall *wall, struct host_now *host);
int wall_finish_hosts(struct wall *wall);

#endif
