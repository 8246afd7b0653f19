/* SPDX-License-Identifier: MIT */
/* The whole program. Thread-safety: the main thread only. */
#ifndef ANNOT_PROGRAM_H
#define ANNOT_PROGRAM_H

struct cmd;

/* What main calls, and what fuzzers call again and again. Its exit status. */
int annot_main(int argc, char **argv);

/* NULL: unknown. */
const struct cmd *cmd_find(const char *name);

#endif
