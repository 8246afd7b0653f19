/* SPDX-License-Identifier: MIT */
/* annot export: writes a recording in the formats of other viewers.
 *
 * The format comes from -f or from the output's extension, the output's name from the recording's;
 * options are those of the exporters (export.h). Of a damaged recording the intact part is
 * exported: the output is a complete file, missing parts are named in a message, and the status is
 * 1. Main thread only. */
#include "cmd_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "export_options.h"
#include "export_push.h"
#include "flame_diff.h"
#include "flame_svg.h"
#include "gpu_stacks.h"
#include "hints.h"
#include "losses.h"
#include "no_samples.h"
#include "operands.h"
#include "out_stream.h"
#include "pass.h"
#include "reader.h"
#include "recording.h"
#include "selection.h"
#include "term.h"
#include "text.h"

/* Decisions made before any file is opened. */
struct plan {
    const struct export_values *values;
    const struct exporter *exporter;
    const char *recording, *output;
    char *default_output; /* owned */
    struct out_stream_options options;
    struct out_folder *folder; /* of formats that write a folder */
    struct export_options wanted;
    char subtitle[1024]; /* of `wanted` */
    struct flame_counts flame;
    struct span_counts spans;
    struct gpu_stacks_totals gpu;
    struct export_push *push; /* NULL: the output is a file */
    struct store_reader *reader;
    struct selection selection;
};

/* ---- Choosing -------------------------------------------------------------------------------- */

static int choose_pushed(struct plan *plan)
{
    plan->exporter = exporter_by_address(plan->values->output);
    if (plan->exporter)
        return CMD_OK;
    return cmd_fail(CMD_MISUSE, "the address tells no format\n"
                                "name it with -f otlp or -f pprof");
}

/* Hint for a name with another program's extension. NULL: unknown extension. */
static const char *hint_of_name(const char *name)
{
    const char *dot = strrchr(text_base_name(name), '.');
    char choice[64];
    snprintf(choice, sizeof(choice), "format=%.40s", dot ? dot + 1 : "");
    return hint_find_choice("export", choice);
}

static int choose_exporter(struct plan *plan)
{
    const struct export_values *values = plan->values;
    char names[EXPORT_FORMATS_SIZE], extensions[EXPORT_FORMATS_SIZE];
    if (plan->exporter)
        return output_check(values->output, plan->exporter->extension + 1, CMD_MISUSE);
    if (values->format)
        plan->exporter = exporter_by_name(values->format);
    else if (export_is_address(values->output))
        return choose_pushed(plan);
    else if (values->output && strcmp(values->output, "-") != 0)
        plan->exporter = exporter_by_path(values->output);
    else
        plan->exporter = exporters[0];
    if (plan->exporter)
        return CMD_OK;
    if (hint_of_name(values->output))
        return cmd_fail(CMD_MISUSE, "the name %s tells no format\n%s", values->output,
                        hint_of_name(values->output));
    return cmd_fail(CMD_MISUSE,
                    "the name %s tells no format\nname it with -f %s, or end the name in %s "
                    "(and .gz)",
                    values->output, export_list_formats(", ", false, names),
                    export_list_formats(", ", true, extensions));
}

static int check_ranks(const struct plan *plan)
{
    const char *rank = plan->wanted.rank, *size = plan->wanted.world_size;
    uint64_t number = 0, ranks = UINT64_MAX;
    if ((rank && options_parse_count(rank, &number) != 0) ||
        (size && options_parse_count(size, &ranks) != 0))
        return cmd_fail(CMD_MISUSE, "options --rank and --world-size: they are numbers\n"
                                    "--rank 0 --world-size 8 is the first of eight");
    if (number >= ranks)
        return cmd_fail(CMD_MISUSE,
                        "option --rank: of %s ranks there is none with the number %s\n"
                        "they count from 0",
                        size, rank ? rank : "0");
    return CMD_OK;
}

static int check_duration(const struct plan *plan)
{
    const char *text = plan->wanted.min_duration;
    int64_t ns;
    if (text && options_parse_time(text, &ns) != 0)
        return cmd_fail(CMD_MISUSE,
                        "option --min-duration: %s is no time\n"
                        "use one like 250us or 1.5ms; bare numbers are seconds",
                        text);
    return check_ranks(plan);
}

static bool wants_gpu(const struct export_options *wanted)
{
    return wanted->gpu || wanted->gpu_value;
}

static int check_options(const struct plan *plan)
{
    const char *refused = export_refuses(plan->exporter, &plan->wanted);
    char formats[EXPORT_FORMATS_SIZE];
    const struct export_options *wanted = &plan->wanted;
    if (wanted->off_cpu + wanted->idle + (wanted->value != NULL) + wants_gpu(wanted) > 1)
        return cmd_fail(CMD_MISUSE,
                        "options --off-cpu, --idle, --value and --gpu: use only one\n--value "
                        "off-cpu:blocked is the time blocked alone");
    if (plan->wanted.off_cpu && plan->values->selection.gil)
        return cmd_fail(CMD_MISUSE,
                        "options --off-cpu and --gil: use only one\na thread that waits "
                        "for long does not hold the lock");
    if (!refused)
        return check_duration(plan);
    return cmd_fail(CMD_MISUSE, "the %s format has no option --%s\nit is an option of %s",
                    plan->exporter->name, refused, export_formats_of(refused, formats));
}

static int check_pushed(const struct plan *plan)
{
    if (plan->exporter == &export_otlp || plan->exporter == &export_pprof)
        return CMD_OK;
    return cmd_fail(CMD_MISUSE,
                    "the %s format cannot be pushed to a server\notlp and pprof can, as "
                    "-f otlp or -f pprof",
                    plan->exporter->name);
}

/* The default output: "dir/x.annot" gives "dir/x.pftrace". */
static int choose_output(struct plan *plan)
{
    plan->output = plan->values->output;
    if (export_is_address(plan->output))
        return check_pushed(plan);
    if (!plan->output) {
        size_t length = strlen(plan->recording);
        if (text_ends_with(plan->recording, ".annot"))
            length -= strlen(".annot");
        plan->default_output = output_default(plan->recording, length, plan->exporter->extension,
                                              plan->values->force ? output_any : NULL);
        if (!plan->default_output)
            return cmd_fail(CMD_FAILED, "out of memory");
        plan->output = plan->default_output;
    }
    plan->options.overwrite = plan->values->force;
    plan->options.gzip = plan->exporter->compressed || text_ends_with(plan->output, ".gz");
    plan->options.gzip_level = EXPORT_GZIP_LEVEL;
    if (plan->exporter->files && (strcmp(plan->output, "-") == 0 || plan->options.gzip))
        return cmd_fail(CMD_MISUSE, "the %s format is a folder, %s\nname it: -o NAME%s",
                        plan->exporter->name,
                        plan->options.gzip ? "which is not compressed" : "not a stream",
                        plan->exporter->extension);
    if (strcmp(plan->output, "-") == 0 && plan->exporter->binary && isatty(STDOUT_FILENO))
        return cmd_fail(CMD_MISUSE,
                        "the %s format is binary and standard output is a terminal\n"
                        "send it to a file: -o FILE, or to another program: | ...",
                        plan->exporter->name);
    return CMD_OK;
}

/* Lists the chosen options, for the subtitle of a picture. */
static void describe_choice(const struct plan *plan, struct text *text)
{
    text->length = selection_describe(&plan->values->selection, text->buffer, text->size);
    if (plan->wanted.by)
        text_format(text, "%sby %s", text->length ? ", " : "", plan->wanted.by);
    if (plan->wanted.python)
        text_format(text, "%sPython functions, with the native code that they call",
                    text->length ? ", " : "");
}

/* ---- Writing --------------------------------------------------------------------------------- */

static uint64_t sum_of_events(const struct pass_counts *counts)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < EVENT_KINDS; i++)
        sum += counts->events[i];
    return sum;
}

/* A picture of CPU time hides most of the time of a program that mainly waits. */
static void note_hidden(const struct plan *plan)
{
    const struct flame_counts *counts = &plan->flame;
    char cpu[NUMBER_TEXT_SIZE], hidden[NUMBER_TEXT_SIZE];
    if (counts->hidden_ns > 2 * counts->cpu_ns)
        cmd_note("%s is of %s CPU time; the program waited for %s, which --idle shows beside it",
                 plan->output, number_time_short(counts->cpu_ns, cpu),
                 number_time_short(counts->hidden_ns, hidden));
}

static void note_folded(const struct plan *plan)
{
    const struct flame_counts *counts = &plan->flame;
    double asked = plan->wanted.min_width > 0 ? plan->wanted.min_width : FLAME_WIDTH_MIN;
    char count[NUMBER_TEXT_SIZE], cut[NUMBER_TEXT_SIZE];
    if (counts->min_width > asked)
        cmd_note("%s: too many functions; boxes narrower than %.2g pixels are left out: %s",
                 plan->output, counts->min_width, number_count(counts->folded, count));
    if (counts->cut)
        cmd_note("%s: too many different stacks; the inner frames of some samples are left out: %s",
                 plan->output, number_count(counts->cut, cut));
}

/* Explains why GPU work has no stacks. */
static void note_stacks(const struct plan *plan)
{
    const struct trace_sampling *sampling = trace_sampling_get(store_reader_trace(plan->reader));
    if (plan->gpu.sampled > 0)
        return;
    cmd_note("no launch of %s has a stack, only its ranges: %s", plan->recording,
             sampling->rung == SAMPLING_BPF ? "--gpu=stacks was off, or no launch was sampled"
                                            : "they are taken with eBPF alone");
}

static const char *name_of_output(const struct plan *plan)
{
    return strcmp(plan->output, "-") == 0 ? "standard output" : plan->output;
}

static void add_left_out(struct text *text, const char *what, uint64_t count)
{
    char number[NUMBER_TEXT_SIZE];
    if (count)
        text_format(text, "%s%s (%s)", text->length ? ", " : "", what, number_count(count, number));
}

/* Number of events in the recording, regardless of the selection. */
static uint64_t all_events(const struct trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        sum += trace_process_get(trace, i)->event_count;
    return sum;
}

/* Names in one line the data that the format cannot hold. */
static void note_left_out(const struct plan *plan, const struct pass_counts *read)
{
    const uint64_t *events = read->events;

    const struct {
        uint32_t lack;
        const char *what;
        uint64_t count;
    } parts[] = {
        {EXPORT_LACKS_EVENTS, "records of ranges, marks and counters",
         all_events(store_reader_trace(plan->reader))},
        {EXPORT_LACKS_MARKS, "marks", events[EVENT_MARK] + events[EVENT_TRACK_MARK]},
        {EXPORT_LACKS_COUNTERS, "values of counters", events[EVENT_COUNTER]},
        {EXPORT_LACKS_NO_NUMBERS, "values of counters that are infinite or NaN", read->no_numbers},
        {EXPORT_LACKS_FLOWS, "points of flows",
         events[EVENT_FLOW_BEGIN] + events[EVENT_FLOW_STEP] + events[EVENT_FLOW_END]},
        {EXPORT_LACKS_SAMPLES, "samples of CPU time", read->samples},
        {EXPORT_LACKS_WAITS, "waits", read->stretches},
        {EXPORT_LACKS_OTHER_SAMPLES, "samples of other values",
         plan->wanted.value ? 0 : read->other_samples},
    };

    char left_out[512];
    struct text text = text_init(left_out, sizeof(left_out));
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (plan->exporter->lacks & parts[i].lack)
            add_left_out(&text, parts[i].what, parts[i].count);
    if (text.length)
        cmd_note("%s: the format has no place for %s", name_of_output(plan), left_out);
}

static void note_spans(const struct plan *plan)
{
    const struct span_counts *counts = &plan->spans;
    char left_out[256], about[NUMBER_TEXT_SIZE], number[NUMBER_TEXT_SIZE];
    struct text text = text_init(left_out, sizeof(left_out));
    snprintf(about, sizeof(about), "ranges under %s",
             plan->wanted.min_duration ? plan->wanted.min_duration : "1ms");
    add_left_out(&text, about, counts->brief);
    add_left_out(&text, "marks in no span, or too many in one", counts->marks);
    add_left_out(&text, "key-values, too many in one", counts->values);
    add_left_out(&text, "points of flows that make no link", counts->flows);
    if (text.length)
        cmd_note("%s: %s spans; left out: %s", name_of_output(plan),
                 number_count(counts->spans, number), left_out);
}

/* A file holds one table, and the user may not have chosen it. */
static void note_table(const struct plan *plan)
{
    if (plan->exporter->choose && !plan->wanted.table)
        cmd_note("%s has the ranges; --table samples, counters or marks writes those",
                 name_of_output(plan));
}

/* Prints notes about lost and omitted data, and about an empty export, which viewers show without a
 * message. */
static void note_written(const struct plan *plan, const struct pass_counts *read)
{
    const char *what = selection_is_all(&plan->selection) ? "" : "what was chosen of ";
    const struct sample_wholes wholes = {read->samples, read->stretches};
    bool events = exporter_wants(plan->exporter, &plan->wanted) & WANT_EVENTS;
    if (!plan->exporter->tells_missing)
        loss_note(store_reader_trace(plan->reader), &wholes);
    note_left_out(plan, read);
    note_table(plan);
    note_spans(plan);
    note_folded(plan);
    note_hidden(plan);
    if (wants_gpu(&plan->wanted) || plan->exporter->counts_calls || plan->exporter->counts_lines) {
        if (wants_gpu(&plan->wanted))
            note_stacks(plan);
        if (plan->default_output)
            recording_note_output(plan->output, plan->exporter->viewer);
        return;
    }
    bool cpu_time = !plan->wanted.off_cpu && !plan->wanted.idle && !plan->wanted.value;
    uint64_t samples = read->samples + (plan->exporter->waits ? read->stretches : 0);
    if (!events && samples == 0 && cpu_time)
        cmd_note("nothing to write: %s%s has no samples of CPU time", what, plan->recording);
    else if (!plan->wanted.value && read->samples + read->stretches + sum_of_events(read) == 0)
        cmd_note("nothing to show: %s%s has no samples and no events", what, plan->recording);
    if (plan->default_output)
        recording_note_output(plan->output, plan->exporter->viewer);
}

static int fail_export(const struct plan *plan, const struct no_samples *about, int error)
{
    if (error == -ENODATA)
        return no_samples_fail(about);
    if (error == -ENOSYS)
        return cmd_fail(CMD_FAILED,
                        "annot was built without SQLite, which the %s format needs\n"
                        "install libsqlite3-dev, then " ANNOT_REBUILD,
                        plan->exporter->name);
    if (error == -ENOSPC || error == -EDQUOT ||
        error == -EFBIG) /* while a temporary file was written */
        return recording_fail_output(plan->output, error);
    return recording_fail(plan->recording, error);
}

static int open_file(struct plan *plan, struct export_job *job)
{
    const struct exporter *exporter = plan->exporter;
    if (!exporter->files)
        return out_stream_open(plan->output, &plan->options, &job->out);
    int error =
        out_folder_open(plan->output, exporter->files, plan->options.overwrite, &plan->folder);
    if (error)
        return error;
    job->out = out_folder_stream(plan->folder, 0);
    job->metadata = out_folder_stream(plan->folder, 1);
    return 0;
}

static int close_output(const struct plan *plan, const struct export_job *job)
{
    return plan->folder ? out_folder_close(plan->folder) : out_stream_close(job->out);
}

static void abandon_output(const struct plan *plan, const struct export_job *job)
{
    if (plan->folder)
        out_folder_abandon(plan->folder);
    else
        out_stream_abandon(job->out);
}

static int open_output(struct plan *plan, struct export_job *job)
{
    if (!export_is_address(plan->output)) {
        int error = open_file(plan, job);
        return error ? recording_fail_output(plan->output, error) : CMD_OK;
    }
    int status = export_push_open(plan->output, plan->exporter, job, &plan->push);
    if (status == CMD_OK)
        plan->output = export_push_shown(plan->push);
    return status;
}

static int fail_output(const struct plan *plan, int error)
{
    return plan->push ? export_push_fail(plan->push, error)
                      : recording_fail_output(plan->output, error);
}

static int run_export(struct plan *plan)
{
    const struct pass_source source = recording_pass_source(plan->reader);
    struct export_job job = {
        .source = &source, .selection = &plan->selection.chosen, .options = &plan->wanted};
    const struct no_samples about = {.recording = plan->recording,
                                     .reader = plan->reader,
                                     .values = &plan->values->selection,
                                     .selection = &plan->selection,
                                     .off_cpu = plan->wanted.off_cpu,
                                     .gpu = wants_gpu(&plan->wanted),
                                     .calls = plan->exporter->counts_calls,
                                     .memory = plan->exporter->holds_memory,
                                     .lines = plan->exporter->counts_lines,
                                     .value = plan->wanted.value};
    struct pass_counts read;
    struct text text = text_init(plan->subtitle, sizeof(plan->subtitle));
    describe_choice(plan, &text);
    plan->wanted.subtitle = text.length ? plan->subtitle : NULL;
    plan->wanted.ret_flame = &plan->flame;
    plan->wanted.ret_gpu = &plan->gpu;
    plan->wanted.ret_spans = &plan->spans;
    int status = open_output(plan, &job);
    if (status != CMD_OK)
        return status;
    int error = export_run(plan->exporter, &job, &read);
    int output_error = out_error(job.out);
    if (error) {
        abandon_output(plan, &job);
        return output_error ? fail_output(plan, output_error) : fail_export(plan, &about, error);
    }
    error = close_output(plan, &job);
    if (error)
        return fail_output(plan, error);
    note_written(plan, &read);
    return plan->push ? export_push_end(plan->push) : CMD_OK;
}

/* Chooses another value as the weight of samples, if the recording has no CPU time and the format
 * can label it. */
static void choose_value(struct plan *plan, char name[SELECTION_VALUE_SIZE])
{
    struct export_options with = plan->wanted;
    with.value = name;
    bool chosen = plan->wanted.off_cpu || plan->wanted.idle || plan->wanted.value;
    if (!chosen && !wants_gpu(&plan->wanted) && !export_refuses(plan->exporter, &with) &&
        selection_other_value(plan->reader, name))
        plan->wanted.value = name;
}

static int open_and_export(struct plan *plan)
{
    char other[SELECTION_VALUE_SIZE];
    const struct selection_values *selection = &plan->values->selection;
    plan->reader = recording_open(plan->recording);
    if (!plan->reader)
        return CMD_FAILED;
    choose_value(plan, other);
    int status = selection_check_recording(selection, plan->reader, plan->recording);
    if (status == CMD_OK)
        status = selection_init(&plan->selection, selection, store_reader_trace(plan->reader),
                                plan->recording);
    struct sample_weight weight = {0};
    if (status == CMD_OK && plan->wanted.value)
        status = selection_weight(plan->wanted.value, &plan->selection, plan->reader,
                                  plan->recording, &weight);
    if (status == CMD_OK && plan->exporter->single_samples &&
        (weight.heap == HEAP_HELD || weight.heap == HEAP_PEAK))
        status =
            cmd_fail(CMD_MISUSE,
                     "%s cannot hold %s, a sum of allocations and frees: it has single samples\n"
                     "annot flame, -f folded and -f dot have sums",
                     plan->exporter->name, plan->wanted.value);
    if (status == CMD_OK)
        status = run_export(plan);
    uint32_t damage = recording_note_damage(plan->reader, plan->recording);
    return status == CMD_OK && damage > 0 ? CMD_FAILED : status;
}

int export_as(const struct cmd_call *call, const struct exporter *exporter)
{
    const struct export_values *values = call->values;
    char name[RECORDING_NAME_SIZE];
    struct plan plan = {.values = values, .exporter = exporter, .wanted = values->wanted};
    plan.recording = recording_choose(call, name);
    if (!plan.recording)
        return CMD_FAILED;
    int status = selection_check(&values->selection);
    if (status == CMD_OK)
        status = choose_exporter(&plan);
    if (status == CMD_OK)
        status = check_options(&plan);
    if (status == CMD_OK)
        status = choose_output(&plan);
    if (status == CMD_OK)
        status = open_and_export(&plan);
    export_push_close(plan.push);
    store_reader_close(plan.reader);
    selection_fini(&plan.selection);
    free(plan.default_output);
    return status;
}

/* Lists the formats. Lines are complete at any width; a terminal wraps long ones. */
static int print_list(void)
{
    static const struct grid_column columns[] = {
        {"format", 0, true}, {"extension", 0, true}, {"carries", 0, true}, {"opens", 0, true}};
    struct grid *table = grid_create(columns, sizeof(columns) / sizeof(columns[0]));
    size_t hidden;
    if (!table)
        return cmd_fail(CMD_FAILED, "out of memory");
    for (const struct exporter *const *at = exporters; *at; at++) {
        grid_add(table, (*at)->name);
        grid_add(table, (*at)->extension);
        grid_add(table, (*at)->carries);
        grid_add(table, (*at)->viewer ? (*at)->viewer : "with flame graph tools");
    }
    int error = grid_print(table, 0, term_color(STDOUT_FILENO, NULL), &hidden);
    grid_destroy(table);
    return error ? cmd_fail(CMD_FAILED, "cannot list: %s", strerror(-error)) : CMD_OK;
}

static int run_formats(const struct cmd_call *call)
{
    const struct export_values *values = call->values;
    if (!values->list)
        return export_as(call, NULL);
    if (call->operand_count > 0)
        return cmd_fail(CMD_MISUSE, "option --list: it reads no recording\nleave out %s",
                        call->operands[0]);
    return print_list();
}

/* ---- The command ----------------------------------------------------------------------------- */

static void print_formats(void)
{
    printf("Formats:\n");
    for (const struct exporter *const *at = exporters; *at; at++)
        printf("  %-10s %-16s %s\n", (*at)->name, (*at)->extension, (*at)->summary);
}

const struct cmd cmd_export = {
    .name = "export",
    .summary = "write a recording in the format of another viewer",
    .usage = "[OPTIONS] [FILE]",
    .details = RECORDING_CHOICE_HELP,
    .examples = "  annot export -o run.pftrace run.annot\n"
                "  annot export -f folded -o - run.annot\n"
                "  annot export -f otlp -o https://collector:4318 run.annot\n",
    .make_options = export_options_of_all,
    .print_details = print_formats,
    .values_size = sizeof(struct export_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_formats,
};
