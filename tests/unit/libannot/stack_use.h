/* SPDX-License-Identifier: MIT */
/* How much stack a call takes: it runs on a painted one, and what is no longer paint was used.
 *
 * Not thread-safe. The program must be linked with -z now: the dynamic linker saves all vector
 * registers on the stack at a call that it has to look up. */
#ifndef ANNOT_TEST_STACK_USE_H
#define ANNOT_TEST_STACK_USE_H

#include <stddef.h>

/* Bytes below the caller's frame that `call` used, its own frame included. */
size_t stack_use(void (*call)(void));

/* Runs `call` in a signal handler on an alternate stack with `size` bytes for it beside what the
 * kernel stores there, right above a page that must not be touched. */
void stack_handler_run(void (*call)(void), size_t size);

#endif
