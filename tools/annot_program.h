/* SPDX-License-Identifier: MIT */
/* Entry point of the program. Thread-safety: the main thread only. */
#ifndef ANNOT_PROGRAM_H
#define ANNOT_PROGRAM_H

struct cmd;

/* Called once by main, and repeatedly by fuzzers. Returns the exit status. */
int annot_main(int argc, char **argv);

/* NULL: unknown. */
const struct cmd *cmd_find(const char *name);

#endif
