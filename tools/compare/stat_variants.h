/* SPDX-License-Identifier: MIT */
/* The variants of `annot stat`: each command with each combination of the values of --vary. Main
 * thread only. */
#ifndef ANNOT_STAT_VARIANTS_H
#define ANNOT_STAT_VARIANTS_H

#include "compare.h"
#include "compare_variants.h"
#include "options.h"
#include "record_program.h"

#include <wordexp.h>

enum {
    STAT_VARIANTS_MAX = 32,
    STAT_VALUES_MAX = 32, /* of a parameter */
    STAT_COMMANDS_MAX = 8,
    STAT_LABEL_SIZE = 200,
    STAT_COMMAND_SIZE = 1024,
};

struct stat_variant {
    struct program program;
    char **words; /* of the command, each owned */
    const char *values[COMPARE_PARAMETERS_MAX];
    char label[STAT_LABEL_SIZE];     /* "workers=2", "B" */
    char command[STAT_COMMAND_SIZE]; /* quoted for a shell */
};

struct stat_variants {
    struct stat_variant *items;
    size_t count;
    struct compare_parameters parameters;

    struct stat_parameter {
        char *text; /* owned: "workers\0" "1\0" "2" */
        const char *values[STAT_VALUES_MAX];
        size_t count;
    } varied[COMPARE_PARAMETERS_MAX];

    char **commands[STAT_COMMANDS_MAX];
    size_t command_count;
    wordexp_t expanded; /* of the option --vs */
};

/* `operands`: a command, and another one after each word "--vs"; with `vs`, that is the second
 * command, and "--vs" is an ordinary word in `operands`. CMD_OK, or the exit status after a printed
 * message. fini accepts a zeroed object. */
int stat_variants_init(struct stat_variants *variants, char **operands, const char *vs,
                       const struct option_list *vary);
void stat_variants_fini(struct stat_variants *variants);

#endif
