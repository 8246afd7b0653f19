/* SPDX-License-Identifier: MIT */
/* Collapsed stacks, read back by a parser of the bare format: each line is frames between ';', one
 * blank, and a whole number. */
#include "export.h"
#include "sampled_trace.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static char *folded(struct maker *maker, const struct export_options *options)
{
    const struct pass_source source = maker_pass_source(maker);
    struct out_stream *out = out_stream_memory();
    const struct export_job job = {.source = &source, .options = options, .out = out};
    size_t size;
    CHECK(out != NULL);
    CHECK_INT(export_run(exporter_by_name("folded"), &job, NULL), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strndup((const char *)bytes, size);
    CHECK_INT(strlen(text), size);
    out_stream_abandon(out);
    return text;
}

/* Checks the form of every line; sums the weights of those that begin with `head`. */
static unsigned long long weight_below(const char *text, const char *head)
{
    unsigned long long sum = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        char *end;
        const char *newline = strchr(line, '\n');
        CHECK(newline != NULL);
        const char *blank = memrchr(line, ' ', (size_t)(newline - line));
        CHECK(blank && blank > line && blank[-1] != ';' && line[0] != ';');
        CHECK(!memmem(line, (size_t)(blank - line), ";;", 2));
        unsigned long long weight = strtoull(blank + 1, &end, 10);
        CHECK(end == newline && weight > 0);
        sum += strncmp(line, head, strlen(head)) == 0 ? weight : 0;
    }
    return sum;
}

TEST(every_sample_is_in_it)
{
    struct maker *maker = sampled_trace_create();
    char *text = folded(maker, NULL);
    CHECK_INT(weight_below(text, ""), 41000);
    CHECK_INT(
        weight_below(text, "clone3;thread_run;load (/home/me/app/app.py:50);read;ksys_read_[k] "),
        7000);
    CHECK_INT(weight_below(text, "[stack cut: no unwind table];memcpy "), 5000);
    CHECK_INT(weight_below(text, "[no stack] "), 1000);
    CHECK(strstr(text, "train (/home/me/app/app.py:20);py::kernel,fused \"a\" & <b> 2000\n"));
    CHECK(strstr(text, ";größe (/home/me/app/ünï,code.py:30) 1000\n"));
    CHECK(strstr(text, "/usr/lib/python3/dist-packages/net/model.py:40"));
    free(text);
    maker_destroy(maker);
}

TEST(groups_and_prefixes_are_as_asked_for)
{
    struct maker *maker = sampled_trace_create();
    struct export_options options = {.by = "process", .strip_prefix = "lib:/home/me"};
    char *text = folded(maker, &options);
    CHECK_INT(weight_below(text, "python app.py (worker 1) (pid 5002);"), 14000);
    CHECK(strstr(text, "load (app/app.py:50)") && strstr(text, "Model.step (net/model.py:40)"));
    free(text);
    options.by = "thread";
    text = folded(maker, &options);
    CHECK_INT(weight_below(text, "python app.py (pid 5000);loader (tid 5001);clone3;"), 9000);
    free(text);
    maker_destroy(maker);
}

/* 99 Hz: 10,101,010.1 ns per sample, and lines of one sample each. */
TEST(rounding_loses_nothing)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%03d", i);
        uint32_t stack =
            maker_stack(maker, 0, &(struct maker_frame){.kind = FRAME_NATIVE, .function = name});
        maker_sample(maker,
                     &(struct sample){
                         .set = SAMPLE_SET_CPU, .time_ns = i, .stack = stack, SAMPLE_VALUES(333)});
    }
    maker_finish(maker, 1000);
    char *text = folded(maker, NULL);
    CHECK_INT(weight_below(text, ""), 333);
    free(text);
    maker_destroy(maker);
}

static int fail_read(void *context, struct sample_batch *ret_batch)
{
    (void)context;
    (void)ret_batch;
    return -EIO;
}

TEST(an_error_of_the_samples_is_passed_on)
{
    struct maker *maker = sampled_trace_create();
    for (int i = 0; exporters[i]; i++) {
        struct pass_source source = maker_pass_source(maker);
        struct out_stream *out = out_stream_memory();
        const struct export_job job = {.source = &source, .out = out};
        bool wanted = exporters[i]->wants & WANT_SAMPLES;
        source.next_samples = fail_read;
        int error = export_run(exporters[i], &job, NULL);
        if (error != -ENOSYS && error != -ENODATA) /* built without SQLite; without memory */
            CHECK_INT(error, wanted ? -EIO : 0);
        out_stream_abandon(out);
    }
    maker_destroy(maker);
}
