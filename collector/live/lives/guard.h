/* SPDX-License-Identifier: MIT */
/* Access to memory that another process may take away: a file that shrinks while it is mapped
 * raises SIGBUS, and files on tmpfs cannot be sealed against that.
 *
 * Code that accesses a foreign mapping runs inside guard_call; a SIGBUS at an address of that
 * mapping ends the call with -EFAULT. Such code must hold no lock and no allocation.
 * Threads: each has its own guard; the handler is installed once. Any other SIGBUS goes to the
 * previous handler. */
#ifndef ANNOT_INTAKE_GUARD_H
#define ANNOT_INTAKE_GUARD_H

#include <stddef.h>

struct guard_range {
    const void *address;
    size_t size;
};

/* Installs the handler. 0 or -errno. Safe to repeat. */
int guard_install(void);

/* The result of work(context), or -EFAULT. Not reentrant. Cost: about 10 ns. */
int guard_call(const struct guard_range *range, int (*work)(void *context), void *context);

/* memcpy from inside the range. 0 or -EFAULT. */
int guard_copy(const struct guard_range *range, void *to, const void *from, size_t size);

#endif
