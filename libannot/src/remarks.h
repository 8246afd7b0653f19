/* SPDX-License-Identifier: MIT */
/* What libraries inside of the process have to say about it (annot_process_note), for each session
 * that it joins: lines in the session's file (docs/wire-format.md, "Lines").
 *
 * Threads: any. Not async-signal-safe to add; to tell is. */
#ifndef ANNOT_REMARKS_H
#define ANNOT_REMARKS_H

#include <stdint.h>

/* All that there are. */
void remarks_tell(int directory_fd, uint64_t session_id);

#endif
