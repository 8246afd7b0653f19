/* SPDX-License-Identifier: MIT */
/* Writes the page of a recording to a file, and prints notes about both. */
#include "page_file.h"

#include "cmd.h"
#include "compare.h"
#include "compare_facts.h"
#include "compare_tables.h"
#include "compare_test.h"
#include "file_io.h"
#include "gpu_stacks.h"
#include "no_samples.h"
#include "operands.h"
#include "out_stream.h"
#include "page.h"
#include "reader.h"
#include "recording.h"
#include "report_text.h"
#include "selection.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
    const struct page_file *wanted;
    const char *recording, *output;
    char *default_output; /* owned */
    struct store_reader *reader;
    struct selection selection;
    char only[1024], ending[1024];
    struct store_reader *again; /* second reader, for the events of a page of GPU time */
    struct gpu_stacks *gpu;
    struct pass_source source; /* of `gpu` */
    struct compare *compare;
    const struct table *tables[COMPARE_TABLES_MAX];
    int table_count;
};

/* An existing page may be replaced. */
static bool is_page(const char *path)
{
    char head[1024];
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    ssize_t size = fd >= 0 ? file_read_at(fd, head, sizeof(head) - 1, 0) : -1;
    if (fd >= 0)
        close(fd);
    head[size > 0 ? size : 0] = 0;
    return strstr(head, PAGE_MARK) != NULL;
}

/* "dir/x.annot" gives "dir/x.html"; with flame, "dir/x.flame.html". */
static int choose_output(struct job *job)
{
    size_t length = strlen(job->recording);
    job->output = job->wanted->output ? job->wanted->output : job->wanted->data ? "-" : NULL;
    if (job->output)
        return CMD_OK;
    if (text_ends_with(job->recording, ".annot"))
        length -= strlen(".annot");
    const char *ending = job->wanted->flame ? ".flame.html" : ".html";
    job->default_output =
        output_default(job->recording, length, ending, job->wanted->force ? output_any : is_page);
    if (!job->default_output)
        return cmd_fail(CMD_FAILED, "out of memory");
    job->output = job->default_output;
    return CMD_OK;
}

static int write_page(struct job *job, struct page *page)
{
    const struct out_stream_options options = {
        .overwrite = job->wanted->force || (job->default_output && is_page(job->default_output))};
    struct out_stream *out;
    int error = out_stream_open(job->output, &options, &out);
    if (error)
        return recording_fail_output(job->output, error);
    error = job->wanted->data ? page_write_data(page, out) : page_write(page, out);
    if (error) {
        out_stream_abandon(out);
        return recording_fail(job->recording, error);
    }
    if (job->wanted->data)
        out_text(out, "\n");
    error = out_stream_close(out);
    if (error == -EPIPE && strcmp(job->output, "-") == 0)
        return CMD_OK;
    if (error)
        return recording_fail_output(job->output, error);
    if (job->default_output)
        recording_note_output(job->output, "in a browser");
    return CMD_OK;
}

/* ---- A second recording ---------------------------------------------------------------------- */

/* Differences other than the command are noted: comparing commands is common. */
static void note_differences(const struct compare *compare)
{
    struct compare_difference found[COMPARE_DIFFERENCES_MAX];
    size_t count = compare_differences(compare, found);
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].what, "command") != 0)
            cmd_note("the recordings are not alike: %s: %s and %s", found[i].what, found[i].a,
                     found[i].b);
}

static int read_side(struct job *job, enum compare_side side, const char *path)
{
    struct store_reader *reader = recording_open(path);
    if (!reader)
        return CMD_FAILED;
    int error = compare_add(job->compare, side, reader, path);
    store_reader_close(reader);
    return error ? recording_fail(path, error) : CMD_OK;
}

static int compare_both(struct job *job)
{
    if (job->only[0])
        return cmd_fail(CMD_MISUSE, "--compare is about whole recordings\n"
                                    "leave out what chooses a part of this one");
    job->compare = compare_create(1, 1);
    if (!job->compare)
        return cmd_fail(CMD_FAILED, "out of memory");
    int status = read_side(job, COMPARE_A, job->wanted->compare);
    if (status == CMD_OK)
        status = read_side(job, COMPARE_B, job->recording);
    if (status != CMD_OK)
        return status;
    note_differences(job->compare);
    int error = compare_finish(job->compare);
    job->table_count = error ? error : compare_tables(job->compare, UINT64_MAX, job->tables);
    return job->table_count < 0 ? cmd_fail(CMD_FAILED, "out of memory") : CMD_OK;
}

/* ---- The page -------------------------------------------------------------------------------- */

/* Converts samples to GPU time by the stack of the launch. */
static int read_gpu(struct job *job)
{
    const struct pass_source stored = recording_pass_source(job->reader);
    const struct gpu_stacks_options options = {0};
    int error = gpu_stacks_read(&stored, &job->selection.chosen, &options, &job->gpu);
    if (!error)
        error = store_reader_again(job->reader, &job->again);
    if (error)
        return recording_fail(job->recording, error);
    const struct pass_source events = recording_pass_source(job->again);
    job->source = gpu_stacks_source(job->gpu, &events);
    return CMD_OK;
}

static int make_page(struct job *job)
{
    selection_describe(job->wanted->selection, job->only, sizeof(job->only));
    int read = job->wanted->gpu ? read_gpu(job) : CMD_OK;
    if (read != CMD_OK)
        return read;
    int compared = job->wanted->compare ? compare_both(job) : CMD_OK;
    if (compared != CMD_OK)
        return compared;
    const struct page_options options = {
        .report = {.path = job->recording,
                   .only = job->only,
                   .reader = job->reader,
                   .source = job->gpu ? &job->source : NULL,
                   .selection = &job->selection.chosen,
                   .sort = RANGE_COLUMN_SELF,
                   .range = job->wanted->selection->range,
                   .limit = UINT64_MAX,
                   .functions = UINT64_MAX,
                   .all = true,
                   .lines = true},
        .title = job->wanted->title,
        .ending = job->ending,
        .no_source = job->wanted->no_source,
        .flame = job->wanted->flame,
        .gpu = job->gpu ? gpu_stacks_totals(job->gpu) : NULL,
        .compare = {job->wanted->compare, job->tables, (unsigned)job->table_count},
    };
    struct page *page;
    command_ending(store_reader_trace(job->reader), job->ending, sizeof(job->ending));
    int error = page_create(&options, &page);
    if (error)
        return recording_fail(job->recording, error);
    const struct no_samples about = {.recording = job->recording,
                                     .reader = job->reader,
                                     .values = job->wanted->selection,
                                     .gpu = job->wanted->gpu,
                                     .selection = &job->selection};
    int status = job->wanted->flame && !page_has_stacks(page) ? no_samples_fail(&about)
                                                              : write_page(job, page);
    page_destroy(page);
    return status;
}

static int open_and_make(struct job *job)
{
    const struct selection_values *values = job->wanted->selection;
    struct selection_values chosen = *values;
    chosen.range = NULL;
    job->reader = recording_open(job->recording);
    if (!job->reader)
        return CMD_FAILED;
    int status = selection_check_recording(values, job->reader, job->recording);
    if (status == CMD_OK)
        status = selection_init(&job->selection, &chosen, store_reader_trace(job->reader),
                                job->recording);
    if (status == CMD_OK)
        status = make_page(job);
    uint32_t damage = recording_note_damage(job->reader, job->recording);
    selection_fini(&job->selection);
    return status == CMD_OK && damage > 0 ? CMD_FAILED : status;
}

int page_file_write(const struct page_file *wanted, const char *recording)
{
    struct job job = {.wanted = wanted, .recording = recording};
    int status = choose_output(&job);
    if (status == CMD_OK)
        status = open_and_make(&job);
    compare_destroy(job.compare);
    gpu_stacks_destroy(job.gpu);
    store_reader_close(job.again);
    store_reader_close(job.reader);
    free(job.default_output);
    return status;
}
