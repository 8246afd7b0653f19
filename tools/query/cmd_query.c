/* SPDX-License-Identifier: MIT */
/* annot query: SQL on a recording (query/query.h).
 *
 * Of a damaged recording the intact part is queried, with exit 1. A reader that closes the pipe (`|
 * head`) is no failure. Main thread only. */
#include "cmd.h"
#include "operands.h"
#include "query_print.h"
#include "reader.h"
#include "recording.h"
#include "selection.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `annot query --schema`: prints tables, columns and functions of SQL, one per line. */

enum { USAGE_WIDTH = 18, NAME_WIDTH = 16, TYPE_WIDTH = 9, INDENT = 2, WIDTH_DEFAULT = 100 };

static size_t width_of_output(void)
{
    size_t width = term_width(STDOUT_FILENO);
    return width ? width : WIDTH_DEFAULT;
}

static void print_columns(const struct schema_column *columns)
{
    const size_t before = INDENT + NAME_WIDTH + 1 + TYPE_WIDTH + 1;
    for (const struct schema_column *column = columns; column->name; column++) {
        const char *type = column->type[0] ? column->type : "any";
        printf("%*s%-*s %-*s ", INDENT, "", NAME_WIDTH, column->name, TYPE_WIDTH, type);
        size_t longer = strlen(column->name) > NAME_WIDTH ? strlen(column->name) - NAME_WIDTH : 0;
        if (column->help[0])
            term_wrap(stdout, column->help, width_of_output(), before + longer, before);
        else
            printf("\n");
    }
}

static int print_report_tables(struct query *query)
{
    for (const char *const *name = query_report_names; *name; name++) {
        const struct schema_column *columns;
        int error = query_report_columns(query, *name, &columns);
        if (error == -ENOENT)
            continue;
        if (error)
            return error;
        printf("\nreport_%s: the table %s of annot report --json\n", *name, *name);
        print_columns(columns);
    }
    return 0;
}

static void print_report_names(void)
{
    printf("\nTables of annot report --json, whose columns annot query --schema FILE lists:\n");
    for (const char *const *name = query_report_names; *name; name++)
        printf("%*sreport_%s\n", INDENT, "", *name);
}

static void print_functions(void)
{
    const size_t before = INDENT + USAGE_WIDTH + 1;
    printf("\nFunctions, beside those of SQLite:\n");
    for (const struct query_function *at = query_functions; at->usage; at++) {
        printf("%*s%-*s ", INDENT, "", USAGE_WIDTH, at->usage);
        term_wrap(stdout, at->help, width_of_output(), before, before);
    }
}

/* Prints all tables with their columns, and the functions; with `query` also the columns of the
 * report's tables. 0 or -errno. */
static int query_print_schema(struct query *query)
{
    for (const struct query_table *const *at = query_tables; *at; at++) {
        printf("%s%s: %s\n", at == query_tables ? "" : "\n", (*at)->name, (*at)->help);
        print_columns((*at)->columns);
    }
    int error = 0;
    if (query)
        error = print_report_tables(query);
    else
        print_report_names();
    print_functions();
    return error;
}

enum { SQL_BYTES_MAX = 1 << 20, EXIT_INTERRUPTED = 130 };

struct query_values {
    struct selection_values selection;
    const char *file, *output, *color;
    uint64_t memory;
    bool json, csv, schema, force, wide;
};

/* A query, its recording, and its output. */
struct job {
    const struct cmd_call *call;
    const struct query_values *values;
    const char *path; /* of the recording */
    char *sql;        /* owned */
    struct store_reader *reader;
    struct selection selection;
    struct query *query;
    struct query_printer printer;
    const char *output;
};

static volatile sig_atomic_t stop;

static void on_interrupt(int signal)
{
    (void)signal;
    stop = 1;
}

/* ---- The query ------------------------------------------------------------------------------- */

/* Reads all of a file or of standard input. NULL after a printed message. */
static char *read_sql(const char *path)
{
    bool input = strcmp(path, "-") == 0;
    FILE *file = input ? stdin : fopen(path, "re");
    char *sql = file ? calloc(1, SQL_BYTES_MAX + 1) : NULL;
    if (!file) {
        cmd_fail(0, "cannot read %s: %s\n--file names a file with SQL, or - for standard input",
                 path, strerror(errno));
        return NULL;
    }
    size_t size = sql ? fread(sql, 1, SQL_BYTES_MAX + 1, file) : 0;
    int error = ferror(file) ? errno : 0;
    if (!input)
        fclose(file);
    if (sql && !error && size <= SQL_BYTES_MAX && strlen(sql) == size)
        return sql;
    free(sql);
    cmd_fail(0, "cannot read %s: %s\n--file names a file with SQL, or - for standard input",
             input ? "standard input" : path,
             !sql                   ? "out of memory"
             : error                ? strerror(error)
             : size > SQL_BYTES_MAX ? "a query has at most 1 MiB"
                                    : "it is no text");
    return NULL;
}

static bool looks_like_file(const char *text)
{
    return text_ends_with(text, ".annot") || (!strpbrk(text, " \n\t") && access(text, F_OK) == 0);
}

static int fail_no_sql(const char *path)
{
    char quoted[256];
    cmd_quote(path, quoted, sizeof(quoted));
    return cmd_fail(CMD_MISUSE,
                    "no query is given\nannot query %s \"SELECT name, duration_ns FROM ranges\"; "
                    "annot query --schema lists the tables",
                    quoted);
}

/* The operands are FILE and SQL, either alone, or FILE alone with --file or --schema. */
static int choose_operands(struct job *job, struct cmd_call *ret_file)
{
    const struct query_values *values = job->values;
    int count = job->call->operand_count;
    bool has_sql = !values->file && !values->schema;
    if (!has_sql && count > 1)
        return cmd_fail(CMD_MISUSE,
                        "too many arguments: \"%s\"\nwith --%s the query is no argument",
                        job->call->operands[1], values->file ? "file" : "schema");
    if (has_sql && count == 0)
        return fail_no_sql("run.annot");
    const char *sql = has_sql ? job->call->operands[count - 1] : values->file;
    if (has_sql && count == 1 && strcmp(sql, "-") != 0 && looks_like_file(sql))
        return fail_no_sql(sql);
    ret_file->operand_count = count - has_sql;
    if (values->schema || !sql)
        return CMD_OK;
    bool reads = values->file || strcmp(sql, "-") == 0;
    job->sql = reads ? read_sql(sql) : strdup(sql);
    return job->sql ? CMD_OK : reads ? CMD_FAILED : cmd_fail(CMD_FAILED, "out of memory");
}

static bool has_name(const char *output, const char *ending)
{
    return output && text_ends_with(output, ending);
}

/* Chooses the output format from the options, or from the name of the output. */
static int choose_form(struct job *job)
{
    const struct query_values *values = job->values;
    const char *output = values->output;
    job->output = output ? output : "-";
    job->printer.form =
        values->json || (!values->csv && (has_name(output, ".json") || has_name(output, ".jsonl")))
            ? QUERY_FORM_JSON
        : values->csv || has_name(output, ".csv") ? QUERY_FORM_CSV
                                                  : QUERY_FORM_TABLE;
    if (values->json && values->csv)
        return cmd_fail(CMD_MISUSE, "options --json and --csv: use only one\neach has all rows");
    if (job->printer.form == QUERY_FORM_TABLE && strcmp(job->output, "-") != 0)
        return cmd_fail(CMD_MISUSE,
                        "the name %s tells no format\n--csv or --json names it, or end the name in "
                        ".csv or .jsonl",
                        output);
    job->printer.width = values->wide ? 0 : term_width(STDOUT_FILENO);
    job->printer.color = term_color(STDOUT_FILENO, values->color);
    return CMD_OK;
}

/* ---- Running it ------------------------------------------------------------------------------ */

static int fail_query(const struct job *job, int error)
{
    if (error == -EINTR)
        return EXIT_INTERRUPTED;
    if (error == -ENOSYS)
        return cmd_fail(CMD_FAILED, "annot was built without SQLite\ninstall libsqlite3-dev, "
                                    "then " ANNOT_REBUILD "; or use annot cat --json");
    if (error != -EINVAL)
        return recording_fail(job->path, error);
    const char *hint = query_hint(job->query);
    return hint[0] ? cmd_fail(CMD_FAILED, "%s\n%s", query_error(job->query), hint)
                   : cmd_fail(CMD_FAILED, "%s", query_error(job->query));
}

static int run_to_stream(struct job *job)
{
    const struct out_stream_options options = {.overwrite = job->values->force};
    int error = out_stream_open(job->output, &options, &job->printer.out);
    if (error)
        return recording_fail_output(job->output, error);
    const struct query_sink sink = query_printer_sink(&job->printer);
    error = query_run(job->query, job->sql, &sink);
    int output_error = out_error(job->printer.out);
    bool standard = strcmp(job->output, "-") == 0;
    if (output_error || (error && !standard))
        out_stream_abandon(job->printer.out);
    else
        output_error = out_stream_close(job->printer.out);
    if (output_error == -EPIPE)
        return CMD_OK;
    if (output_error)
        return recording_fail_output(job->output, output_error);
    return error ? fail_query(job, error) : CMD_OK;
}

static int run_to_screen(struct job *job)
{
    const struct query_sink sink = query_printer_sink(&job->printer);
    int error = query_run(job->query, job->sql, &sink);
    fflush(stdout);
    if (ferror(stdout)) /* annot_program.c reports it */
        return CMD_OK;
    return error ? fail_query(job, error) : CMD_OK;
}

static int ask(struct job *job)
{
    const struct sigaction interrupt = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    struct sigaction before;
    const struct query_options options = {
        .path = recording_path(job->reader, job->path),
        .reader = job->reader,
        .selection = &job->selection.chosen,
        .stop = &stop,
        .memory_bytes = job->values->memory,
    };
    int error = query_open(&options, &job->query);
    if (error)
        return fail_query(job, error);
    stop = 0;
    sigaction(SIGINT, &interrupt, &before);
    int status;
    if (job->values->schema) {
        error = query_print_schema(job->query);
        status = error ? fail_query(job, error) : CMD_OK;
    } else {
        status = job->printer.form == QUERY_FORM_TABLE ? run_to_screen(job) : run_to_stream(job);
    }
    sigaction(SIGINT, &before, NULL);
    query_printer_fini(&job->printer);
    if (recording_note_damage(query_reader(job->query), job->path) > 0 && status == CMD_OK)
        status = CMD_FAILED;
    return status;
}

static int open_and_ask(struct job *job)
{
    const struct selection_values *chosen = &job->values->selection;
    job->reader = recording_open(job->path);
    if (!job->reader)
        return CMD_FAILED;
    int status = selection_check_recording(chosen, job->reader, job->path);
    if (status == CMD_OK)
        status =
            selection_init(&job->selection, chosen, store_reader_trace(job->reader), job->path);
    if (status == CMD_OK)
        status = ask(job);
    return status;
}

static int run_query(const struct cmd_call *call)
{
    char name[RECORDING_NAME_SIZE];
    struct cmd_call file = *call;
    struct job job = {.call = call, .values = call->values};
    int status = selection_check(&job.values->selection);
    if (status == CMD_OK)
        status = choose_form(&job);
    if (status == CMD_OK)
        status = choose_operands(&job, &file);
    if (status == CMD_OK && job.values->schema && file.operand_count == 0) {
        status = query_tables[0] ? query_print_schema(NULL) : fail_query(&job, -ENOSYS);
    } else if (status == CMD_OK) {
        job.path = recording_choose(&file, name);
        status = job.path ? open_and_ask(&job) : CMD_FAILED;
    }
    query_close(job.query);
    selection_fini(&job.selection);
    store_reader_close(job.reader);
    free(job.sql);
    return status;
}

#define AT(field) offsetof(struct query_values, field)

static const struct option_spec query_options[] = {
    OPTIONS_GROUP("the query"),
    {"file", 'f', OPTION_TEXT, AT(file), "FILE", "read the query from FILE; \"-\": standard input",
     NULL},
    {"schema", 0, OPTION_FLAG, AT(schema), NULL, "list tables, columns and functions", NULL},
    {"memory-limit", 0, OPTION_SIZE, AT(memory), "SIZE", "memory that SQL may use", "256M"},
    OPTIONS_GROUP("what to write"),
    {"json", 'j', OPTION_FLAG, AT(json), NULL, "a JSON object a line for each row", NULL},
    {"csv", 0, OPTION_FLAG, AT(csv), NULL, "comma-separated values, with a line of names", NULL},
    {"output", 'o', OPTION_TEXT, AT(output), "FILE",
     "write to FILE: x.csv, x.jsonl; \"-\" is standard output", NULL},
    {"force", 0, OPTION_FLAG, AT(force), NULL, "replace an existing file", NULL},
    {"color", 0, OPTION_CHOICE, AT(color), "auto|always|never",
     "colours (default: auto, on a terminal unless NO_COLOR is set)", NULL},
    {"wide", 'w', OPTION_FLAG, AT(wide), NULL, "whole texts, whatever the terminal's width", NULL},
    OPTIONS_GROUP("of which part"),
    SELECTION_RANGE(AT(selection)),
    SELECTION_PROCESS(AT(selection)),
    SELECTION_THREAD(AT(selection)),
    SELECTION_TIMES(AT(selection)),
    {0},
};

static const char query_details[] = RECORDING_CHOICE_HELP
    "SQL is that of SQLite; it reads, and changes nothing. \"-\" reads it from standard input.\n"
    "Times are nanoseconds since the recording began; in tables for people, columns whose names\n"
    "end in _ns have units.\n"
    "\n"
    "exit status: 0; 1 if the query is wrong, or the recording could not be read or is damaged;\n"
    "2 wrong command line; 130 interrupted\n";

const struct cmd cmd_query = {
    .name = "query",
    .summary = "ask a recording with SQL",
    .usage = "[OPTIONS] [FILE] SQL",
    .details = query_details,
    .examples =
        "  annot query --schema\n"
        "  annot query run.annot 'select name, count(*), sum(dur_ns) from ranges group by 1'\n"
        "  annot query --csv -o calls.csv run.annot 'select * from calls'\n",
    .options = query_options,
    .values_size = sizeof(struct query_values),
    .operands_min = 0,
    .operands_max = 2,
    .run = run_query,
};
