/* SPDX-License-Identifier: MIT */
/* Calls of libannot, of each kind one, whose stack is measured.
 *
 * Threads: any, one at a time. */
#ifndef ANNOT_TEST_STACK_CALLS_H
#define ANNOT_TEST_STACK_CALLS_H

struct stack_call {
    const char *name;
    void (*call)(void);
};

extern const struct stack_call stack_calls[];
extern const int stack_call_count;

/* Events enough for some blocks. */
void stack_call_blocks(void);

#endif
