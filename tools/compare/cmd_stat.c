/* SPDX-License-Identifier: MIT */
/* `annot stat`: a command run several times, or two in turn: how long they take, what they use, and
 * whether they differ. Each run is recorded unless that is not wanted; what recordings say is
 * compared as `annot diff` does it. */
#include "cmd.h"
#include "compare_print.h"
#include "record_program.h"
#include "recording.h"
#include "stat_parts.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

enum { RECORD_WORDS_MAX = 16, STATUS_INTERRUPTED = 130 };

struct stat_values {
    struct compare_values compare;
    uint64_t runs, warmup;
    const char *vs, *output, *rate, *python;
    bool no_record, no_sample, off_cpu, shown, failures;
};

struct stat {
    const struct stat_values *values;
    struct program programs[COMPARE_SIDES];
    char **words[COMPARE_SIDES]; /* of the commands */
    wordexp_t expanded;          /* of --vs */
    bool two, interrupted;
    struct stat_folder folder;
    struct compare *compare;
    struct compare_limits limits;
};

/* ---- Commands -------------------------------------------------------------------------------- */

/* "./b -x 'a b'", as a shell would part it. */
static int take_text(struct stat *stat, const char *text)
{
    int rc = wordexp(text, &stat->expanded, WRDE_NOCMD | WRDE_UNDEF);
    if (rc != 0 || stat->expanded.we_wordc == 0)
        return cmd_fail(CMD_MISUSE,
                        "--vs \"%s\": not a command of plain words\nquote what a shell would take "
                        "for something else; with pipes: --vs \"sh -c '...'\"",
                        text);
    stat->words[COMPARE_B] = stat->expanded.we_wordv;
    stat->two = true;
    return CMD_OK;
}

/* "--vs" among the words of the first command begins the second one; with the option in front of
 * the commands, it is a word like others. */
static int take_commands(struct stat *stat, const struct cmd_call *call)
{
    stat->words[COMPARE_A] = call->operands;
    if (stat->values->vs)
        return take_text(stat, stat->values->vs);
    for (int i = 1; i < call->operand_count; i++) {
        if (strcmp(call->operands[i], "--vs") != 0)
            continue;
        call->operands[i] = NULL;
        stat->two = true;
        stat->words[COMPARE_B] = call->operands + i + 1;
        if (call->operands[i + 1] && strcmp(call->operands[i + 1], "--") == 0)
            stat->words[COMPARE_B]++;
        return stat->words[COMPARE_B][0]
                   ? CMD_OK
                   : cmd_fail(CMD_MISUSE, "no command behind --vs\nannot stat -- ./old --vs ./new");
    }
    return CMD_OK;
}

static int choose_programs(struct stat *stat)
{
    int status = program_choose(&stat->programs[COMPARE_A], stat->words[COMPARE_A]);
    if (status == 0 && stat->two)
        status = program_choose(&stat->programs[COMPARE_B], stat->words[COMPARE_B]);
    return status;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* `annot record` of the command, into a file. 0 or -errno. */
static int run_recorded(const struct stat *stat, unsigned side, char *path,
                        struct stat_usage *ret_usage)
{
    static char name[] = "annot", record[] = "record", quiet[] = "-q", output[] = "-o";
    static char off_cpu[] = "--off-cpu", no_sample[] = "--no-sample", end[] = "--";
    const struct stat_values *values = stat->values;
    char **command = stat->programs[side].argv;
    size_t count = 0, used = 0;
    char rate[64], python[PATH_MAX];
    while (command[count])
        count++;
    char **argv = calloc(RECORD_WORDS_MAX + count + 1, sizeof(*argv));
    if (!argv)
        return -ENOMEM;
    snprintf(rate, sizeof(rate), "--rate=%s", values->rate ? values->rate : "");
    snprintf(python, sizeof(python), "--python=%s", values->python ? values->python : "");
    char *const words[] = {name, record, quiet, output, path};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        argv[used++] = words[i];
    if (values->rate)
        argv[used++] = rate;
    if (values->python)
        argv[used++] = python;
    if (values->off_cpu)
        argv[used++] = off_cpu;
    if (values->no_sample)
        argv[used++] = no_sample;
    argv[used++] = end;
    memcpy(argv + used, command, count * sizeof(*argv));
    int rc = stat_run_annot(argv, values->shown, ret_usage);
    free(argv);
    return rc;
}

/* CMD_OK, or the message is out. */
static int check_end(struct stat *stat, unsigned side, unsigned run, int status)
{
    static const char *const names[] = {"A", "B"};
    char what[64];
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) {
        stat->interrupted = true;
        return STATUS_INTERRUPTED;
    }
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
                    run + 1, stat->two ? names[side] : stat->programs[side].argv[0],
                    stat->two ? ", " : "", stat->two ? stat->programs[side].argv[0] : "", what);
}

static int add_numbers(struct stat *stat, unsigned side, unsigned run,
                       const struct stat_usage *usage)
{
    const struct {
        const char *name;
        enum column_type unit;
        double value;
    } numbers[] = {
        {"wall", COLUMN_TIME, (double)usage->wall_ns}, /* of recordings: as reports have it */
        {"CPU", COLUMN_TIME, (double)(usage->user_ns + usage->system_ns)},
        {"user", COLUMN_TIME, (double)usage->user_ns},
        {"system", COLUMN_TIME, (double)usage->system_ns},
        {"memory", COLUMN_BYTES, (double)usage->memory_bytes},
    };

    for (size_t i = stat->values->no_record ? 0 : 1; i < sizeof(numbers) / sizeof(*numbers); i++) {
        struct compare_number number = {(enum compare_side)side, run, numbers[i].name,
                                        numbers[i].unit, numbers[i].value};
        if (numbers[i].unit == COLUMN_BYTES && usage->memory_bytes == 0)
            continue;
        if (compare_add_number(stat->compare, &number) < 0)
            return cmd_fail(CMD_FAILED, "out of memory");
    }
    return CMD_OK;
}

static int read_recording(struct stat *stat, unsigned side, const char *path)
{
    struct store_reader *reader = recording_open(path);
    if (!reader)
        return CMD_FAILED;
    int rc = compare_add(stat->compare, (enum compare_side)side, reader,
                         stat->folder.temporary ? "" : path);
    store_reader_close(reader);
    return rc < 0 ? recording_fail(path, rc) : CMD_OK;
}

/* `counted`: it is no run to warm up. */
static int run_once(struct stat *stat, unsigned side, unsigned run, bool counted)
{
    bool recorded = counted && !stat->values->no_record;
    struct stat_usage usage = {0};
    char path[PATH_MAX] = "";
    if (recorded)
        stat_folder_path(&stat->folder, side, run, path);
    int rc = recorded ? run_recorded(stat, side, path, &usage)
                      : stat_run_command(stat->programs[side].argv, stat->values->shown, &usage);
    if (rc < 0)
        return cmd_fail(CMD_FAILED, "cannot run %s: %s", stat->programs[side].argv[0],
                        strerror(-rc));
    int status = check_end(stat, side, run, usage.status);
    if (status == CMD_OK && recorded)
        status = read_recording(stat, side, path);
    return status == CMD_OK && counted ? add_numbers(stat, side, run, &usage) : status;
}

static void tell_progress(const struct stat *stat, uint64_t run)
{
    if (isatty(STDERR_FILENO) && !stat->values->shown)
        fprintf(stderr, "\rrun %" PRIu64 " of %" PRIu64 "\033[K", run + 1, stat->values->runs);
}

/* In turn, and each first as often as the other, so that neither has the better moments. */
static int run_all(struct stat *stat)
{
    unsigned sides = stat->two ? 2 : 1;
    int status = CMD_OK;
    for (uint64_t i = 0; i < stat->values->warmup * sides && status == CMD_OK; i++)
        status = run_once(stat, (unsigned)(i % sides), (unsigned)(i / sides), false);
    for (uint64_t i = 0; i < stat->values->runs && status == CMD_OK; i++) {
        tell_progress(stat, i);
        for (unsigned k = 0; k < sides && status == CMD_OK; k++)
            status = run_once(stat, (unsigned)((i + k) % sides), (unsigned)i, true);
    }
    if (isatty(STDERR_FILENO) && !stat->values->shown)
        fprintf(stderr, "\r\033[K");
    return status;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static void add_side(const struct stat *stat, struct text *text, enum compare_side side)
{
    static const char *const numbers[] = {"wall", "CPU", "memory"};
    char buffer[256];
    text_format(text, "%s", side == COMPARE_B ? "B: " : stat->two ? "A: " : "");
    for (char **word = stat->programs[side].argv; *word; word++) {
        char quoted[1024];
        cmd_quote(*word, quoted, sizeof(quoted));
        text_format(text, "%s%s", word == stat->programs[side].argv ? "" : " ", quoted);
    }
    text_format(text, ": %" PRIu64 " runs\n", stat->values->runs);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (compare_run_text(stat->compare, side, numbers[i], buffer, sizeof(buffer)) > 0)
            text_format(text, "  %-6s  %s\n", numbers[i], buffer);
}

static void add_notes(const struct stat *stat, struct text *text)
{
    if (!stat->values->no_record)
        text_format(text,
                    "Recorded runs are slower by what sampling costs. --no-record measures without,"
                    "\nand memory below annot\'s own.\n");
    if (!stat->folder.temporary && stat->values->output)
        text_format(text, "recordings: %s/A%s%s%s\n", stat->folder.path, stat->two ? " and " : "",
                    stat->two ? stat->folder.path : "", stat->two ? "/B" : "");
}

static int print_sides(struct stat *stat, struct table *sides)
{
    char lines[8192];
    struct text text = text_init(lines, sizeof(lines));
    uint64_t limit = stat->values->compare.all || stat->values->compare.limit == 0
                         ? UINT64_MAX
                         : 2 * stat->values->compare.limit;
    const struct compare_extra extra = {lines, sides, stat->two ? 2 : 1, !stat->two};
    if (stat->two)
        text_format(&text, "\n");
    for (unsigned i = 0; i < extra.side_count; i++) {
        add_side(stat, &text, (enum compare_side)i);
        if (compare_side_table(stat->compare, (enum compare_side)i, limit, &sides[i]) < 0)
            return cmd_fail(CMD_FAILED, "out of memory");
        sides[i].title = strdup(i == COMPARE_B ? "B" : stat->two ? "A" : "runs and ranges");
    }
    add_notes(stat, &text);
    return compare_print(stat->compare, &stat->values->compare, &stat->limits, &extra);
}

static int print(struct stat *stat)
{
    struct table *sides = calloc(COMPARE_SIDES, sizeof(*sides));
    bool made = sides && compare_finish(stat->compare) == 0;
    int status = made ? print_sides(stat, sides) : cmd_fail(CMD_FAILED, "out of memory");
    for (int i = 0; sides && i < COMPARE_SIDES; i++)
        table_fini(&sides[i]);
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
    if (values->no_record &&
        (values->output || values->rate || values->python || values->off_cpu || values->no_sample))
        return cmd_fail(CMD_MISUSE, "--no-record makes no recordings\nleave out --output and "
                                    "the options of recordings");
    return CMD_OK;
}

/* A limit that is about two commands needs both. */
static int check_limits(const struct stat *stat)
{
    for (uint32_t i = 0; i < stat->limits.count && !stat->two; i++)
        if (stat->limits.items[i].relative || stat->limits.items[i].difference)
            return cmd_fail(CMD_MISUSE,
                            "--fail-if \"%s\": there is no second command\n--vs names it; a limit "
                            "without a sign is about one: 'wall > 2s'",
                            stat->limits.items[i].text);
    return CMD_OK;
}

static int measure(struct stat *stat)
{
    size_t runs = (size_t)stat->values->runs;
    int status = stat->values->no_record
                     ? CMD_OK
                     : stat_folder_init(&stat->folder, stat->values->output, stat->two);
    if (status == CMD_OK) {
        stat->compare = compare_create(runs, stat->two ? runs : 0);
        status = stat->compare ? run_all(stat) : cmd_fail(CMD_FAILED, "out of memory");
    }
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
        status = take_commands(stat, call);
    if (status == CMD_OK)
        status = check_limits(stat);
    if (status == CMD_OK)
        status = choose_programs(stat);
    if (status == CMD_OK)
        status = measure(stat);
    compare_destroy(stat->compare);
    stat_folder_fini(&stat->folder);
    program_fini(&stat->programs[COMPARE_A]);
    program_fini(&stat->programs[COMPARE_B]);
    if (stat->expanded.we_wordv)
        wordfree(&stat->expanded);
    free(stat);
    return status;
}

#define AT(field) offsetof(struct stat_values, field)

static const struct option_spec stat_options[] = {
    {"runs", 'n', OPTION_COUNT, AT(runs), "N", "runs of each command", "10"},
    {"warmup", 0, OPTION_COUNT, AT(warmup), "N", "runs of each before these, which do not count",
     "1"},
    {"vs", 0, OPTION_TEXT, AT(vs), "COMMAND",
     "compare with this command, run in turn: one word for the shell, its words parted by blanks",
     NULL},
    {"no-record", 0, OPTION_FLAG, AT(no_record), NULL,
     "wall time, CPU time and memory alone: nothing is recorded, nothing slows the command down",
     NULL},
    {"output", 'o', OPTION_TEXT, AT(output), "DIR", "keep the recordings, in DIR/A and DIR/B",
     NULL},
    {"rate", 'r', OPTION_TEXT, AT(rate), "HZ", "samples per second, as annot record has it", NULL},
    {"off-cpu", 0, OPTION_FLAG, AT(off_cpu), NULL, "record every wait, however short", NULL},
    {"no-sample", 0, OPTION_FLAG, AT(no_sample), NULL, "record annotations only", NULL},
    {"python", 0, OPTION_TEXT, AT(python), "LIST", "what to observe in Python, as annot record",
     NULL},
    {"show-output", 0, OPTION_FLAG, AT(shown), NULL, "what the commands print is shown", NULL},
    {"ignore-failure", 'i', OPTION_FLAG, AT(failures), NULL,
     "runs that end with an exit status other than 0 count, too", NULL},
    COMPARE_OPTIONS(AT(compare), 0),
    {0},
};

static const char stat_details[] =
    "annot stat -n 10 -- ./old x --vs ./new x runs two commands in turn and compares them. Where\n"
    "--vs is a word of the first command itself, the option names the second one instead.\n\n"
    "exit status: 0; 1 if a command failed or a --fail-if is surely so; 2 wrong command line;\n"
    "3 with --undecided, if a --fail-if may be so; 126, 127 if a command could not be executed\n";

const struct cmd cmd_stat = {
    .name = "stat",
    .summary = "run a command several times, or two in turn, and compare",
    .usage = "[OPTIONS] COMMAND [ARGUMENT...] [--vs COMMAND [ARGUMENT...]]",
    .details = stat_details,
    .options = stat_options,
    .values_size = sizeof(struct stat_values),
    .operands_min = 1,
    .operands_max = -1,
    .command_follows = true,
    .run = run_stat,
};
