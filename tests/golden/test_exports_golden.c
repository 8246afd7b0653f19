/* SPDX-License-Identifier: MIT */
/* The sample recording in each format, byte for byte: tests/golden/export/sample.*
 *
 * The Perfetto trace is kept as the text of tests/lib/perfetto_text.h, for people to review. After
 * a wanted change, run with ANNOT_UPDATE_GOLDEN=1 and read the difference. */
#include "export.h"
#include "perfetto_text.h"
#include "sample_trace.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

static struct out_stream *export_sample(const char *format)
{
    struct maker *maker = sample_trace_create();
    struct out_stream *out = out_stream_memory();
    struct batch_reader reader = {maker_next, maker};
    CHECK(maker && out);
    CHECK_INT(export_run(exporter_by_name(format), maker_trace(maker), &reader, out), 0);
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

TEST(sample_as_chrome_json)
{
    struct out_stream *out = export_sample("chrome");
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    compare("sample.json", (const char *)bytes, size);
    out_stream_abandon(out);
}

TEST(sample_as_perfetto_trace)
{
    struct out_stream *out = export_sample("perfetto");
    size_t size;
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = perfetto_text(bytes, size);
    CHECK(strchr(text, '!') == NULL);
    compare("sample.pftrace.txt", text, strlen(text));
    free(text);
    out_stream_abandon(out);
}
