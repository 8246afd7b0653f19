/* SPDX-License-Identifier: MIT */
/* Measures the stack use of a call: it runs on a painted stack, and overwritten paint was used.
 *
 * Not thread-safe. The program must be linked with -z now: the dynamic linker saves all vector
 * registers on the stack at a call that it resolves. */
#ifndef ANNOT_TEST_STACK_USE_H
#define ANNOT_TEST_STACK_USE_H

#include <stddef.h>

/* Bytes below the caller's frame that `call` used, including its own frame. */
size_t stack_use(void (*call)(void));

/* Runs `call` in a signal handler on an alternate stack with `size` bytes in addition to the
 * kernel's signal frame, directly above a page that must not be touched. */
void stack_handler_run(void (*call)(void), size_t size);

#endif
