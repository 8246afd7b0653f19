/* SPDX-License-Identifier: MIT */
/* The sample recordings in each format, byte for byte: tests/golden/export/sample.*, sampled.*,
 * toolkit.*
 *
 * Protocol buffers are kept as the text of tests/lib/proto_text.h, for people to review. Parquet
 * and Arrow files depend on the installed zstd, so their readers in tests/viewers read them back
 * row for row. After a wanted change, run with ANNOT_UPDATE_GOLDEN=1 and read the difference. */
#include "call_label.h"
#include "call_tree.h"
#include "export.h"
#include "flame_svg.h"
#include "proto_text.h"
#include "sample_trace.h"
#include "sampled_trace.h"
#include "test.h"
#include "toolkit_trace.h"

#include <stdio.h>
#include <stdlib.h>

static struct out_stream *export_made(struct maker *maker, const char *format, const char *table)
{
    struct out_stream *out = out_stream_memory();
    CHECK(maker && out);
    const struct pass_source source = maker_pass_source(maker);
    const struct export_options options = {.native = true, .scheduler = true, .table = table};
    const struct export_job job = {.source = &source, .options = &options, .out = out};
    CHECK_INT(export_run(exporter_by_name(format), &job, NULL), 0);
    maker_destroy(maker);
    return out;
}

static char *read_golden(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    CHECK(file && text);
    CHECK(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void compare(const char *name, const char *actual, size_t size)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", ANNOT_GOLDEN_FOLDER, name);
    if (getenv("ANNOT_UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "w");
        CHECK(file && fwrite(actual, 1, size, file) == size && fclose(file) == 0);
        return;
    }
    char *expected = read_golden(path);
    size_t same = 0, line = 1;
    while (same < size && expected[same] == actual[same])
        line += actual[same++] == '\n';
    if (same != size || expected[size] != 0)
        test_fail(path, (int)line, "differs from here: %.200s", actual + same);
    free(expected);
}

/* `text` makes the bytes readable for people; NULL if they are. */
static void check_export(struct maker *maker, const char *format, const char *golden,
                         char *text(const uint8_t *bytes, size_t size))
{
    struct out_stream *out =
        export_made(maker, format, strstr(golden, "samples") ? "samples" : NULL);
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    if (text) {
        char *made = text(bytes, size);
        CHECK(strchr(made, '!') == NULL);
        compare(golden, made, strlen(made));
        free(made);
    } else {
        compare(golden, (const char *)bytes, size);
    }
    out_stream_abandon(out);
}

TEST(sample_in_each_format)
{
    check_export(sample_trace_create(), "chrome", "sample.json", NULL);
    check_export(sample_trace_create(), "perfetto", "sample.pftrace.txt", perfetto_text);
    check_export(sample_trace_create(), "speedscope", "sample.speedscope.json", NULL);
    check_export(sample_trace_create(), "firefox", "sample.firefox.json", NULL);
    check_export(sample_trace_create(), "csv", "sample.csv", NULL);
    check_export(sample_trace_create(), "jsonl", "sample.jsonl", NULL);
}

TEST(toolkit_in_each_format)
{
    check_export(toolkit_trace_create(), "chrome", "toolkit.json", NULL);
    check_export(toolkit_trace_create(), "perfetto", "toolkit.pftrace.txt", perfetto_text);
    check_export(toolkit_trace_create(), "firefox", "toolkit.firefox.json", NULL);
}

TEST(sampled_in_each_format)
{
    check_export(sampled_trace_create(), "perfetto", "sampled.pftrace.txt", perfetto_text);
    check_export(sampled_trace_create(), "chrome", "sampled.json", NULL);
    check_export(sampled_trace_create(), "folded", "sampled.folded", NULL);
    check_export(sampled_trace_create(), "speedscope", "sampled.speedscope.json", NULL);
    check_export(sampled_trace_create(), "firefox", "sampled.firefox.json", NULL);
    check_export(sampled_trace_create(), "pprof", "sampled.pb.txt", pprof_text);
    check_export(sampled_trace_create(), "dot", "sampled.dot", NULL);
    check_export(sampled_trace_create(), "csv", "sampled.samples.csv", NULL);
}

/* Without the style, which is made of the page's. */
TEST(sampled_as_flame_graph)
{
    struct maker *maker = sampled_trace_create();
    struct call_tree_options tree_options = {
        .groups = CALL_BY_RANGE, .prefixes = CALL_STRIP_LIBRARIES, .frames = FRAMES_OWNERS};
    struct call_tree *tree = call_tree_create(maker_trace(maker), &tree_options);
    struct out_stream *out = out_stream_memory();
    struct flame_options options = {
        .measure = "CPU time", .piece = "sample", .rate = "1,000 Hz", .min_width = 30};
    struct flame_counts counts;
    const struct sample *samples;
    uint32_t count;
    size_t size;
    while (maker_next_samples(maker, &samples, &count) > 0) {
        for (uint32_t i = 0; i < count; i++)
            CHECK(samples[i].set != SAMPLE_SET_CPU || call_tree_add(tree, &samples[i]) == 0);
    }
    CHECK_INT(call_tree_finish(tree), 0);
    CHECK_INT(flame_svg_write(maker_trace(maker), tree, &options, out, &counts), 0);
    const char *bytes = (const char *)out_stream_memory_bytes(out, &size);
    const char *begin = memmem(bytes, size, "<rect class=\"page\"", 18);
    CHECK(begin != NULL);
    compare("sampled.svg.txt", begin, (size_t)(bytes + size - begin));
    out_stream_abandon(out);
    call_tree_destroy(tree);
    maker_destroy(maker);
}
