/* SPDX-License-Identifier: MIT */
/* `annot stat`: runs variants of a command several times, in turn, and compares times and resource
 * use. Each run is recorded unless --no-record is given; recordings are compared as by `annot
 * diff`, each variant with the first. */
#include "cmd.h"
#include "compare_facts.h"
#include "compare_print.h"
#include "compare_test.h"
#include "compare_variants.h"
#include "reader.h"
#include "record_options.h"
#include "recording.h"
#include "stat_run.h"
#include "stat_variants.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORD_WORDS_MAX = 16, STATUS_INTERRUPTED = 130 };

struct stat_values {
    struct compare_values compare;
    struct option_list vary;
    uint64_t runs, warmup;
    const char *vs, *output, *rate, *python, *sampling;
    struct sampling_values waits; /* --off-cpu alone */
    bool no_record, shown, failures;
};

struct stat {
    const struct stat_values *values;
    struct stat_variants variants;
    struct stat_usage *usages; /* [variant][run] */
    struct stat_folder folder;
    struct compare *pairs[STAT_VARIANTS_MAX]; /* the first variant with each other one */
    size_t pair_count;
    struct compare_limits limits;
};

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Runs `annot record` with the command, into a file. 0 or -errno. */
static int run_recorded(const struct stat *stat, size_t variant, char *path,
                        struct stat_usage *ret_usage)
{
    static char name[] = "annot", record[] = "record", quiet[] = "-q", output[] = "-o";
    static char end[] = "--";
    const struct stat_values *values = stat->values;
    char **command = stat->variants.items[variant].program.argv;
    size_t count = 0, used = 0;
    char rate[64], off_cpu[128], sampling[32], python[PATH_MAX];
    while (command[count])
        count++;
    char **argv = calloc(RECORD_WORDS_MAX + count + 1, sizeof(*argv));
    if (!argv)
        return -ENOMEM;
    snprintf(rate, sizeof(rate), "--rate=%s", values->rate ? values->rate : "");
    snprintf(python, sizeof(python), "--python=%s", values->python ? values->python : "");
    snprintf(off_cpu, sizeof(off_cpu), "--off-cpu=%s",
             values->waits.waits && *values->waits.waits ? values->waits.waits : "all");
    snprintf(sampling, sizeof(sampling), "--sampling=%s", values->sampling ? values->sampling : "");
    char *const words[] = {name, record, quiet, output, path};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        argv[used++] = words[i];
    if (values->rate)
        argv[used++] = rate;
    if (values->python)
        argv[used++] = python;
    if (values->waits.waits)
        argv[used++] = off_cpu;
    if (values->sampling)
        argv[used++] = sampling;
    argv[used++] = end;
    memcpy(argv + used, command, count * sizeof(*argv));
    int rc = stat_run_annot(argv, values->shown, ret_usage);
    free(argv);
    return rc;
}

/* CMD_OK, or the exit status after a printed message. */
static int check_end(const struct stat *stat, size_t variant, unsigned run, int status)
{
    const char *program = stat->variants.items[variant].program.argv[0];
    const char *label = stat->variants.items[variant].label;
    bool several = stat->variants.count > 1;
    char what[64];
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        return STATUS_INTERRUPTED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CMD_OK;
    if (WIFEXITED(status) && stat->values->failures && WEXITSTATUS(status) < 125)
        return CMD_OK;
    if (WIFSIGNALED(status))
        snprintf(what, sizeof(what), "was killed by signal %d", WTERMSIG(status));
    else
        snprintf(what, sizeof(what), "ended with exit status %d", WEXITSTATUS(status));
    return cmd_fail(CMD_FAILED,
                    "run %u of %s%s%s %s\n--show-output shows what it prints; --ignore-failure "
                    "counts such runs, too",
                    run + 1, several ? label : "", several ? ", " : "", program, what);
}

/* `counted`: false for a warm-up run. */
static int run_once(struct stat *stat, size_t variant, unsigned run, bool counted)
{
    bool recorded = counted && !stat->values->no_record;
    char **argv = stat->variants.items[variant].program.argv;
    struct stat_usage usage = {0};
    char path[PATH_MAX] = "";
    if (recorded)
        stat_folder_path(&stat->folder, variant, run, path);
    int rc = recorded ? run_recorded(stat, variant, path, &usage)
                      : stat_run_command(argv, stat->values->shown, &usage);
    if (rc < 0)
        return cmd_fail(CMD_FAILED, "cannot run %s: %s", argv[0], strerror(-rc));
    if (counted)
        stat->usages[variant * stat->values->runs + run] = usage;
    return check_end(stat, variant, run, usage.status);
}

static void report_progress(const struct stat *stat, uint64_t run)
{
    if (isatty(STDERR_FILENO) && !stat->values->shown)
        fprintf(stderr, "\rrun %" PRIu64 " of %" PRIu64 "\033[K", run + 1, stat->values->runs);
}

/* Runs the variants in turn and rotates the first one, so that no variant has a better position. */
static int run_all(struct stat *stat)
{
    size_t count = stat->variants.count;
    int status = CMD_OK;
    for (uint64_t i = 0; i < stat->values->warmup * count && status == CMD_OK; i++)
        status = run_once(stat, (size_t)(i % count), (unsigned)(i / count), false);
    for (uint64_t i = 0; i < stat->values->runs && status == CMD_OK; i++) {
        report_progress(stat, i);
        for (size_t k = 0; k < count && status == CMD_OK; k++)
            status = run_once(stat, (size_t)((i + k) % count), (unsigned)i, true);
    }
    if (isatty(STDERR_FILENO) && !stat->values->shown)
        fprintf(stderr, "\r\033[K");
    return status;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static int add_numbers(const struct stat *stat, struct compare *compare, enum compare_side side,
                       size_t variant, unsigned run)
{
    const struct stat_usage *usage = &stat->usages[variant * stat->values->runs + run];

    const struct {
        const char *name;
        enum column_type unit;
        double value;
    } numbers[] = {
        {"wall", COLUMN_TIME, (double)usage->wall_ns}, /* with recordings: from their reports */
        {"CPU", COLUMN_TIME, (double)(usage->user_ns + usage->system_ns)},
        {"user", COLUMN_TIME, (double)usage->user_ns},
        {"system", COLUMN_TIME, (double)usage->system_ns},
        {"memory", COLUMN_BYTES, (double)usage->memory_bytes},
    };

    for (size_t i = stat->values->no_record ? 0 : 1; i < sizeof(numbers) / sizeof(*numbers); i++) {
        struct compare_number number = {side, run, numbers[i].name, numbers[i].unit,
                                        numbers[i].value};
        if (numbers[i].unit == COLUMN_BYTES && usage->memory_bytes == 0)
            continue;
        if (compare_add_number(compare, &number) < 0)
            return cmd_fail(CMD_FAILED, "out of memory");
    }
    return CMD_OK;
}

static int add_recording(const struct stat *stat, struct compare *compare, enum compare_side side,
                         const char *path)
{
    struct store_reader *reader = recording_open(path);
    if (!reader)
        return CMD_FAILED;
    int rc = compare_add(compare, side, reader, stat->folder.temporary ? "" : path);
    store_reader_close(reader);
    return rc < 0 ? recording_fail(path, rc) : CMD_OK;
}

static int add_variant(const struct stat *stat, struct compare *compare, enum compare_side side,
                       size_t variant)
{
    int status = CMD_OK;
    for (unsigned run = 0; run < stat->values->runs && status == CMD_OK; run++) {
        char path[PATH_MAX];
        stat_folder_path(&stat->folder, variant, run, path);
        if (!stat->values->no_record)
            status = add_recording(stat, compare, side, path);
        if (status == CMD_OK)
            status = add_numbers(stat, compare, side, variant, run);
    }
    compare_name_side(compare, side, stat->variants.items[variant].command);
    return status;
}

/* Compares the first variant with another one; without another one, adds it alone. */
static int compare_pair(struct stat *stat, size_t other)
{
    size_t runs = (size_t)stat->values->runs;
    struct compare *compare = compare_create(runs, other ? runs : 0);
    if (!compare)
        return cmd_fail(CMD_FAILED, "out of memory");
    stat->pairs[stat->pair_count++] = compare;
    int status = add_variant(stat, compare, COMPARE_A, 0);
    if (status == CMD_OK && other)
        status = add_variant(stat, compare, COMPARE_B, other);
    if (status == CMD_OK && compare_finish(compare) < 0)
        status = cmd_fail(CMD_FAILED, "out of memory");
    return status;
}

static int compare_all_pairs(struct stat *stat)
{
    int status = stat->variants.count == 1 ? compare_pair(stat, 0) : CMD_OK;
    for (size_t i = 1; i < stat->variants.count && status == CMD_OK; i++)
        status = compare_pair(stat, i);
    if (status == CMD_OK && compare_adjust_walls(stat->pairs, stat->pair_count) < 0)
        status = cmd_fail(CMD_FAILED, "out of memory");
    return status;
}

/* ---- Output ---------------------------------------------------------------------------------- */

/* The numbers of a single command. */
static void add_alone(const struct stat *stat, struct text *text)
{
    static const char *const numbers[] = {"wall", "CPU", "memory"};
    char buffer[256];
    text_format(text, "%s: %" PRIu64 " runs\n", stat->variants.items[0].command,
                stat->values->runs);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (compare_run_text(stat->pairs[0], COMPARE_A, numbers[i], buffer, sizeof(buffer)) > 0)
            text_format(text, "  %-6s  %s\n", numbers[i], buffer);
}

/* "A  ./old --n={n}", and the number of runs. */
static void add_commands(const struct stat *stat, struct text *text)
{
    const struct stat_variants *variants = &stat->variants;
    for (size_t i = 0; i < variants->command_count; i++) {
        if (variants->command_count > 1)
            text_format(text, "%c  ", (char)('A' + i));
        for (char **word = variants->commands[i]; *word; word++)
            text_format(text, "%s%s", word == variants->commands[i] ? "" : " ", *word);
        text_format(text, "\n");
    }
    text_format(text, "%zu variants in turn, %" PRIu64 " run%s each\n\n", variants->count,
                stat->values->runs, stat->values->runs == 1 ? "" : "s");
}

static void add_notes(const struct stat *stat, struct text *text)
{
    if (!stat->values->no_record)
        text_format(text,
                    "\nRecorded runs are slower by the cost of sampling: --no-record measures "
                    "without.\n");
    if (!stat->folder.temporary && stat->values->output)
        text_format(text, "recordings: %s/\n", stat->folder.path);
}

/* Tables of each variant's own numbers, for --all and machine output. */
static int make_sides(const struct stat *stat, struct table *sides)
{
    static const char letters[] = "ab";
    const struct compare_values *values = &stat->values->compare;
    uint64_t limit = values->limit ? values->limit : values->all ? UINT64_MAX : 20;
    for (size_t i = 0; i < stat->variants.count; i++) {
        enum compare_side side = i ? COMPARE_B : COMPARE_A;
        if (compare_side_table(stat->pairs[i ? i - 1 : 0], side, limit, &sides[i]) < 0)
            return cmd_fail(CMD_FAILED, "out of memory");
        if (stat->variants.count > sizeof(letters) - 1)
            sides[i].name = stat->variants.items[i].label;
        sides[i].title =
            strdup(stat->variants.count > 1 ? stat->variants.items[i].label : "runs and ranges");
    }
    return CMD_OK;
}

static int print_pairs(struct stat *stat, struct table *sides, struct table *table)
{
    const struct stat_variants *all = &stat->variants;
    struct compare_variant rows[STAT_VARIANTS_MAX];
    char head[STAT_COMMAND_SIZE + 512], notes[PATH_MAX + 512];
    struct text text = text_init(head, sizeof(head)), after = text_init(notes, sizeof(notes));
    for (size_t i = 0; i < all->count; i++)
        rows[i] = (struct compare_variant){stat->pairs[i ? i - 1 : 0], i ? COMPARE_B : COMPARE_A,
                                           all->items[i].label, all->items[i].values};
    if (make_sides(stat, sides) != CMD_OK)
        return CMD_FAILED;
    if (all->count > 1 && compare_variants_table(rows, all->count, &all->parameters, table) < 0)
        return cmd_fail(CMD_FAILED, "out of memory");
    if (all->count == 1)
        add_alone(stat, &text);
    else if (all->count > 2)
        add_commands(stat, &text);
    add_notes(stat, &after);
    const struct compare_extra extra = {
        .head = head,
        .notes = notes,
        .sides = sides,
        .side_count = (unsigned)all->count,
        .variants = all->count > 1 ? table : NULL,
        .rows = rows,
    };
    return compare_print(stat->pairs, stat->pair_count, &stat->values->compare, &stat->limits,
                         &extra);
}

static int print(struct stat *stat)
{
    struct table *sides = calloc(stat->variants.count, sizeof(*sides));
    struct table table = {0};
    int status = sides ? print_pairs(stat, sides, &table) : cmd_fail(CMD_FAILED, "out of memory");
    for (size_t i = 0; sides && i < stat->variants.count; i++)
        table_fini(&sides[i]);
    table_fini(&table);
    free(sides);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int check(struct stat *stat)
{
    const struct stat_values *values = stat->values;
    int status = compare_check(&values->compare, &stat->limits);
    if (status != CMD_OK)
        return status;
    if (values->runs == 0 || values->runs > COMPARE_RUNS_MAX)
        return cmd_fail(CMD_MISUSE, "--runs: 1 to %d", COMPARE_RUNS_MAX);
    if (values->no_record && (values->output || values->rate || values->python ||
                              values->waits.waits || values->sampling))
        return cmd_fail(CMD_MISUSE, "--no-record makes no recordings\nleave out --output and "
                                    "the options of recordings");
    return CMD_OK;
}

/* A relative limit needs two commands. */
static int check_limits(const struct stat *stat)
{
    for (uint32_t i = 0; i < stat->limits.count && stat->variants.count == 1; i++)
        if (stat->limits.items[i].relative || stat->limits.items[i].difference)
            return cmd_fail(CMD_MISUSE,
                            "--fail-if \"%s\": there is no second command\n--vs names it; a limit "
                            "without a sign is about one: 'wall > 2s'",
                            stat->limits.items[i].text);
    return CMD_OK;
}

static int make_folder(struct stat *stat)
{
    const char *names[STAT_VARIANTS_MAX];
    for (size_t i = 0; i < stat->variants.count; i++)
        names[i] = stat->variants.items[i].label;
    return stat_folder_init(&stat->folder, stat->values->output, names, stat->variants.count);
}

static int measure(struct stat *stat)
{
    int status = stat->values->no_record ? CMD_OK : make_folder(stat);
    stat->usages = calloc(stat->variants.count * stat->values->runs, sizeof(*stat->usages));
    if (status == CMD_OK)
        status = stat->usages ? run_all(stat) : cmd_fail(CMD_FAILED, "out of memory");
    if (status == CMD_OK)
        status = compare_all_pairs(stat);
    return status == CMD_OK ? print(stat) : status;
}

static int run_stat(const struct cmd_call *call)
{
    struct stat *stat = calloc(1, sizeof(*stat));
    if (!stat)
        return cmd_fail(CMD_FAILED, "out of memory");
    stat->values = call->values;
    int status = check(stat);
    if (status == CMD_OK)
        status = stat_variants_init(&stat->variants, call->operands, stat->values->vs,
                                    &stat->values->vary);
    if (status == CMD_OK)
        status = check_limits(stat);
    if (status == CMD_OK)
        status = measure(stat);
    for (size_t i = 0; i < stat->pair_count; i++)
        compare_destroy(stat->pairs[i]);
    stat_folder_fini(&stat->folder);
    stat_variants_fini(&stat->variants);
    free(stat->usages);
    free(stat);
    return status;
}

#define AT(field) offsetof(struct stat_values, field)

static const struct option_spec stat_options[] = {
    OPTIONS_GROUP("what to run"),
    {"runs", 'n', OPTION_COUNT, AT(runs), "N", "runs of each command", "10"},
    {"warmup", 0, OPTION_COUNT, AT(warmup), "N", "runs of each before these, which do not count",
     "1"},
    {"vs", 0, OPTION_TEXT, AT(vs), "COMMAND",
     "compare with this command, run in turn: one word for the shell, its words parted by blanks",
     NULL},
    {"vary", 0, OPTION_LIST, AT(vary), "NAME=V,V,...",
     "run the command with each value in place of {NAME}; several of them: each combination", NULL},
    {"show-output", 0, OPTION_FLAG, AT(shown), NULL, "show what the commands print", NULL},
    {"ignore-failure", 'i', OPTION_FLAG, AT(failures), NULL,
     "also count runs that end with an exit status other than 0", NULL},
    OPTIONS_GROUP("what to record"),
    {"no-record", 0, OPTION_FLAG, AT(no_record), NULL,
     "wall time, CPU time and memory alone: nothing is recorded, nothing slows the command down",
     NULL},
    {"output", 'o', OPTION_TEXT, AT(output), "DIR",
     "keep the recordings, in a folder for each variant: DIR/A and DIR/B", NULL},
    {"rate", 'r', OPTION_TEXT, AT(rate), "HZ", "samples per second, as annot record has it", NULL},
    OFF_CPU_OPTION(AT(waits)),
    {"sampling", 0, OPTION_CHOICE, AT(sampling), "bpf|remote|none",
     "the best way of sampling to try, as annot record has it; none: annotations only", NULL},
    {"python", 0, OPTION_TEXT, AT(python), "LIST", "what to observe in Python, as annot record",
     NULL},
    OPTIONS_GROUP("limits, rows and columns"),
    COMPARE_OPTIONS(AT(compare), 0),
    OPTIONS_MORE_GROUP("waits"),
    OFF_CPU_DETAIL_OPTIONS(AT(waits)),
    {0},
};

static const char stat_details[] =
    "annot stat -n 10 -- ./old x --vs ./new x runs two commands in turn and compares them. Where\n"
    "--vs is a word of the first command itself, the option names the second one instead.\n"
    "annot stat --vary n=1,2,4 -- prog --workers={n} runs three variants: one table.\n\n"
    "exit status: 0; 1 if a command failed or a --fail-if is surely so; 2 wrong command line;\n"
    "3 with --undecided, if a --fail-if may be so; 126, 127 if a command could not be executed\n";

const struct cmd cmd_stat = {
    .name = "stat",
    .summary = "run variants of a command several times, in turn, and compare",
    .usage = "[OPTIONS] COMMAND [ARGUMENT...] [--vs COMMAND [ARGUMENT...]]...",
    .details = stat_details,
    .examples = "  annot stat -- ./solve input\n"
                "  annot stat --vs './solve --fast input' -- ./solve input\n"
                "  annot stat -n 5 --vary workers=1,2,4 -- python3 job.py --workers {workers}\n",
    .options = stat_options,
    .values_size = sizeof(struct stat_values),
    .operands_min = 1,
    .operands_max = -1,
    .command_follows = true,
    .run = run_stat,
};
