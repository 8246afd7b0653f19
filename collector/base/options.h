/* SPDX-License-Identifier: MIT */
/* Command line options: one table per subcommand parses them and prints their help.
 *
 * Understands -o FILE, -oFILE, -abc for flags, --output FILE, --output=FILE, and -- as the end of
 * options. Prints nothing and never exits: an error is left as a text and a hint. Option strings
 * are foreign bytes. Thread-safety: none needed, no globals. */
#ifndef ANNOT_OPTIONS_H
#define ANNOT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C type of the value in the command's struct. */
enum option_kind {
    OPTION_FLAG = 0,    /* bool, no value on the command line */
    OPTION_TEXT = 1,    /* const char *, into argv */
    OPTION_COUNT = 2,   /* uint64_t: "20" */
    OPTION_TIME = 3,    /* int64_t nanoseconds: "12.5s", "300ms", "2min", bare = seconds */
    OPTION_SIZE = 4,    /* uint64_t bytes: "16M", "1.5GiB", "4096" */
    OPTION_CHOICE = 5,  /* const char *, one of the words of value_name: "path|name|thread" */
    OPTION_LIST = 6,    /* struct option_list; several options may share one */
    OPTION_NUMBER = 7,  /* double above 0: "0.1" */
    OPTION_COMMAND = 8, /* no value: it is the first operand, as in "-m MODULE ARGUMENT..." */
    OPTION_PARTS = 9,   /* const char *, "--name" alone ("") or "--name=PART,PART": see below */
    OPTION_GROUP = 10,  /* the heading of the options below it: OPTIONS_GROUP */
};

struct option_spec {
    const char *name; /* long name without dashes, or the heading; NULL ends the table */
    char letter;      /* short name; 0 = long name only */
    enum option_kind kind;
    size_t offset;          /* of the value in the command's struct */
    const char *value_name; /* name of the value in the help: "FILE" */
    const char *help;       /* a phrase; help adds the default. NULL: accepted, but not listed */
    const char *fallback;   /* default value, as one would type it; NULL = zero */
};

/* A family of options is one option with parts: the row "gpu" of kind PARTS, and for each part a
 * row "gpu=nodes" or "gpu=-counters", of kind FLAG, or COUNT, TIME, SIZE, NUMBER with a value. In
 * --gpu=nodes,period=8 each part sets its own value. "-nodes" and "counters" set the values of
 * those flags to false. */

/* A row that begins a group. --help lists the names of a MORE group's options only, --help-all
 * describes them. */
#define OPTIONS_GROUP(heading)                                                                     \
    {                                                                                              \
        (heading), 0, OPTION_GROUP, 0, NULL, NULL, NULL                                            \
    }
#define OPTIONS_MORE_GROUP(heading)                                                                \
    {                                                                                              \
        (heading), 0, OPTION_GROUP, 0, "more", NULL, NULL                                          \
    }

/* Returns the part's name in a row of a part, and NULL in any other row. */
const char *option_part_name(const struct option_spec *spec);
bool option_is_part(const struct option_spec *spec, const struct option_spec *family);

enum { OPTION_LIST_MAX = 32, OPTIONS_MAX = 128 };

/* Values given, in the order of the command line. */
struct option_list {
    uint32_t count;

    struct {
        const struct option_spec *spec; /* the option */
        const char *text;               /* into argv */
    } items[OPTION_LIST_MAX];
};

/* One parse. The caller sets the first part, options_parse the second. */
struct options {
    const struct option_spec *specs;
    void *values;         /* zeroed by the caller */
    bool command_follows; /* the first operand ends the options; another command follows */

    char **operands; /* inside argv, which is reordered */
    int operand_count;
    bool help;        /* -h, --help or --help-all was given; later words were not parsed */
    bool help_all;    /* --help-all was given */
    char unknown[40]; /* the option that is in no table, with its dashes; else "" */
    bool near;        /* the hint names an option of similar spelling */
    char choice[40];  /* "NAME=WORD": an option whose choices lack that word; or empty */
    uint64_t given[OPTIONS_MAX / 64]; /* bits of the rows of the table: options_given */
    char error[192];
    char hint[320];
};

/* argv[0] is the first word to parse. 0, or -EINVAL with error and hint. */
int options_parse(struct options *options, int argc, char **argv);

/* After a parse: true if the option of this long name was on the command line. */
bool options_given(const struct options *options, const char *name);

/* 0, -EINVAL (not of that form), -ERANGE (too large). */
int options_parse_time(const char *text, int64_t *ret_ns);
int options_parse_size(const char *text, uint64_t *ret_bytes);
int options_parse_count(const char *text, uint64_t *ret_count);
int options_parse_number(const char *text, double *ret_number);

/* Number of letters to change to turn one word into the other (swapped neighbours are one change);
 * large for words without anything in common. For "did you mean": the best below
 * options_near_limit(). */
unsigned options_distance(const char *a, const char *b);
unsigned options_near_limit(const char *word);

#endif
