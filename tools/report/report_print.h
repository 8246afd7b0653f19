/* SPDX-License-Identifier: MIT */
/* Printers of a report (profile/report.h): each shows all its tables and knows none of them.
 *
 * Main thread only. */
#ifndef ANNOT_REPORT_PRINT_H
#define ANNOT_REPORT_PRINT_H

#include "code_owner.h"
#include "out_stream.h"
#include "report.h"

#include <stdio.h>

/* Those that were asked for. */
struct report_tables {
    const struct table *items[REPORT_TABLES_MAX];
    unsigned count;
};

/* For people, to standard output: facts, the tables that have rows, what is missing. */
struct report_view {
    const struct report_options *options;
    unsigned width; /* of the terminal; 0: unlimited */
    bool wide;      /* names as long as they are */
    bool limited;   /* the rows of tables were asked for */
    bool color;
};

/* ---- Colours ---- */

#define STYLE_PLAIN ""
#define STYLE_BOLD  "1"
#define STYLE_DIM   "2"
#define STYLE_OWN   "38;5;208"

/* Code by whose it is (enum code_owner): own stands out, libraries are pale, the interpreter grey.
 */
const char *owner_style(unsigned owner);

/* ---- How the command ended: command_end.c ---- */

/* "python3 a.py ended with exit status 1." Empty, and 0: its end is not known, or was as it should
 * be. */
size_t command_ending(const struct trace *trace, char *buffer, size_t size);

/* ---- For people ---- */

/* The answer, on one screen: 0 or -ENOMEM, or the status of a message. */
int report_screen(const struct report *report, const struct report_view *view);

/* The tree of own calls, as far as it has a hundredth of the time. 0 or -ENOMEM. */
int report_tree(const struct report *report, const struct report_view *view);

/* All tables: 0 or -ENOMEM. */
int report_text(const struct report *report, const struct report_view *view);

/* The lines below a table; where that is not shown, those that stand there all the same. */
void report_text_notes(const struct table *table, bool shown);

/* What is missing, if anything is: records, parts of samples, of the file. */
void report_text_missing(const struct report *report, const struct report_view *view, FILE *out);

/* One table with its notes, if it has rows for people. 0 or -ENOMEM; -ENODATA: it has columns for
 * programs only. */
int report_text_table(const struct table *table, const struct report_view *view);

/* The source, line by line, with CPU time, waits and samples: of hot functions, or of all files and
 * functions of that name. 0 or -ENOMEM, or the status of a message. */
int report_source(const struct report *report, const struct report_view *view, const char *name);

/* The same of lines that were counted. false: there are none of that name, and nothing was shown.
 */
bool report_counts_source(const struct report *report, const struct report_view *view,
                          const char *name, FILE *out);

/* A line of source, tabs as four blanks, cut to so many columns; 0: as far as there is room. */
void report_put_source(const struct report *report, uint32_t source, uint32_t line, size_t width,
                       FILE *out);

/* Does a name mean that file, that function? "parse.py" is "/home/me/lib/parse.py", too; "parse" is
 * "Parser.parse". */
bool report_names_file(const struct trace *trace, uint32_t source, const char *name);
bool report_names_function(const struct trace *trace, uint32_t label, const char *name);

/* For programs, all rows, of the tables that were asked for. Errors of the stream stick. 0 or
 * -ENOMEM. */
int report_json(const struct report_tables *tables, struct out_stream *out);
int report_csv(const struct report_tables *tables, struct out_stream *out);

#endif
