/* SPDX-License-Identifier: MIT */
/* One call of each kind of libannot, for measuring stack use.
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

/* Emits enough events to fill several blocks. */
void stack_call_blocks(void);

#endif
