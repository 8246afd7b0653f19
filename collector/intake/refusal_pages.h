/* SPDX-License-Identifier: MIT */
/* The slots of processes that cannot take part, behind the wake page: foreign bytes, copied. A slot
 * is for the sessions whose generations have its own between them; when no file is left of any of
 * these, it is given back. Thread-safety: pure functions. */
#ifndef ANNOT_INTAKE_REFUSAL_PAGES_H
#define ANNOT_INTAKE_REFUSAL_PAGES_H

#include "session_file.h"

/* What is not to be believed, or is being written, has owner 0 in the copy. 0; -ENOENT: the file
 * has no such pages; or -errno. */
int refusal_pages_read(const struct directory *directory, struct annot_refusals *ret_pages);

/* Before the gate opens: what is there by then is others', as the session's file says from now on.
 * 0 or -errno. */
int refusal_pages_begin(const struct directory *directory, const struct session_file *file);

/* Gives slots back. One whose owner died while it took it stays taken: nothing is counted there. */
void refusal_pages_sweep(const struct directory *directory);

#endif
