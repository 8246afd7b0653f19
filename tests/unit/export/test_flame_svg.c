/* SPDX-License-Identifier: MIT */
/* Flame graphs are escaped, bounded and reproducible, and account for all time. */
#include "call_tree.h"
#include "export.h"
#include "flame_diff.h"
#include "flame_svg.h"
#include "out_stream.h"
#include "sampled_trace.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drawn {
    char *text;
    struct flame_counts counts;
};

static struct drawn draw(struct maker *maker, double min_width)
{
    struct call_tree_options tree_options = {.groups = CALL_BY_PROCESS | CALL_BY_RANGE,
                                             .frames = FRAMES_ALL};
    struct call_tree *tree = call_tree_create(maker_trace(maker), &tree_options);
    struct out_stream *out = out_stream_memory();
    struct flame_options options = {
        .measure = "CPU time", .piece = "sample", .min_width = min_width};
    struct drawn drawn;
    const struct sample *samples;
    uint32_t count;
    size_t size;
    CHECK(tree && out);
    while (maker_next_samples(maker, &samples, &count) > 0) {
        for (uint32_t i = 0; i < count; i++)
            CHECK_INT(call_tree_add(tree, &samples[i]), 0);
    }
    CHECK_INT(call_tree_finish(tree), 0);
    CHECK_INT(flame_svg_write(maker_trace(maker), tree, &options, out, &drawn.counts), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    drawn.text = strndup((const char *)bytes, size);
    CHECK_INT(strlen(drawn.text), size);
    out_stream_abandon(out);
    call_tree_destroy(tree);
    return drawn;
}

/* The sum of the self times of all boxes, and the number of boxes. */
static uint64_t self_sum(const char *text, uint32_t *ret_boxes)
{
    uint64_t sum = 0;
    *ret_boxes = 0;
    for (const char *at = text; (at = strstr(at, "\" data-d=\"")); at++) {
        unsigned long long start, total, self;
        CHECK_INT(sscanf(at, "\" data-d=\"%llu %llu %llu", &start, &total, &self), 3);
        sum += self;
        ++*ret_boxes;
    }
    return sum;
}

TEST(all_time_is_in_the_boxes)
{
    struct maker *maker = sampled_trace_create();
    const double widths[] = {0, 5, 50, 200, 2000};
    for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
        uint32_t boxes;
        struct drawn drawn = draw(maker, widths[i]);
        uint64_t sum = self_sum(drawn.text, &boxes);
        CHECK_INT(sum + drawn.counts.unseen_ns, 41000000 + 31900000);
        CHECK_INT(boxes, drawn.counts.drawn);
        CHECK(widths[i] < 50 || drawn.counts.folded > 0);
        free(drawn.text);
    }
    maker_destroy(maker);
}

TEST(the_same_recording_gives_the_same_file)
{
    struct maker *maker = sampled_trace_create();
    struct drawn first = draw(maker, 0), second = draw(maker, 0);
    CHECK_STR(first.text, second.text);
    free(first.text);
    free(second.text);
    maker_destroy(maker);
}

static char endless[10001];

TEST(names_cannot_break_out)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    const char *names[] = {"</title><script>alert(1)</script>",
                           "]]>",
                           "a\"b'c&d;",
                           "\x01\x1f\x7f",
                           "\xef\xbf\xbe",
                           "--><!--",
                           "two\nlines",
                           "\xe2\x80\xaeshell \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                           endless};
    memset(endless, 'x', sizeof(endless) - 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        uint32_t stack = maker_stack(
            maker, 0,
            &(struct maker_frame){
                .kind = FRAME_PYTHON, .function = names[i], .file = names[i], .first_line = 1});
        maker_sample(maker, &(struct sample){.set = SAMPLE_SET_CPU,
                                             .stack = stack,
                                             .path = maker_path(maker, 0, names[i]),
                                             SAMPLE_VALUES(1000)});
    }
    maker_finish(maker, 100);
    struct drawn drawn = draw(maker, 0);
    const char *boxes = strstr(drawn.text, "<g id=\"frames\">");
    CHECK(!strstr(drawn.text, "<script") && !strstr(boxes, "<!--"));
    CHECK(strstr(boxes, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; ("));
    CHECK(strstr(boxes, "a&quot;b&#39;c&amp;d;"));
    CHECK(strstr(boxes, "two lines (two lines:1)"));
    for (const char *at = drawn.text; *at; at++)
        CHECK((unsigned char)*at >= 0x20 || *at == '\n');
    free(drawn.text);
    maker_destroy(maker);
}

/* The number after a key of the legend; 0: missing. */
static unsigned long long legend_ns(const char *text, const char *class)
{
    char begin[64];
    unsigned long long ns = 0;
    snprintf(begin, sizeof(begin), "<g class=\"%s\"><rect", class);
    const char *legend = strstr(text, "<g id=\"legend\">"), *at = strstr(legend, begin);
    if (at && at < strstr(text, "<g id=\"frames\">"))
        sscanf(strstr(at, "data-ns="), "data-ns=\"%llu\"", &ns);
    return ns;
}

TEST(the_legend_has_the_time_of_what_ran)
{
    struct maker *maker = sampled_trace_create();
    struct drawn drawn = draw(maker, 200);
    const char *classes[] = {"own", "lib", "interp", "native", "kernel", "gc", "role"};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        sum += legend_ns(drawn.text, classes[i]);
    CHECK_INT(sum, 41000000);
    CHECK_INT(legend_ns(drawn.text, "kernel"), 8000000);
    CHECK_INT(legend_ns(drawn.text, "gc"), 3000000);
    CHECK_INT(legend_ns(drawn.text, "role"), 1000000);
    free(drawn.text);
    maker_destroy(maker);
}

/* A tower of 40 functions at the top of one of 100 samples, and a second one. */
TEST(rows_without_a_box_to_read_are_left_out_and_told)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t stack = 0;
        for (uint32_t level = 0; level < (i == 0 ? 40 : 3); level++) {
            char name[32];
            snprintf(name, sizeof(name), "f%u", level);
            stack = maker_stack(maker, stack,
                                &(struct maker_frame){.kind = FRAME_NATIVE, .function = name});
        }
        maker_sample(maker,
                     &(struct sample){.set = SAMPLE_SET_CPU, .stack = stack, SAMPLE_VALUES(1000)});
    }
    maker_finish(maker, 100);
    struct drawn drawn = draw(maker, 0), all = draw(maker, 0.001);
    CHECK(strstr(drawn.text, ">Not drawn, as too narrow to see: 37 boxes, together 1.0 % of"));
    CHECK_INT(drawn.counts.folded, 37);
    CHECK_INT(all.counts.folded, 0);
    CHECK(!strstr(all.text, "Not drawn"));
    free(all.text);
    free(drawn.text);
    maker_destroy(maker);
}

/* 400,000 functions of very different weights, ten levels deep. */
TEST(a_huge_tree_makes_a_bounded_file)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    uint64_t total = 0;
    for (uint32_t i = 0; i < 40000; i++) {
        uint32_t stack = 0;
        for (uint32_t level = 0; level < 10; level++) {
            char name[32];
            snprintf(name, sizeof(name), "f%u", level == 0 ? i % 100 : i);
            stack = maker_stack(maker, stack,
                                &(struct maker_frame){.kind = FRAME_NATIVE, .function = name});
        }
        uint64_t weight = 1000000 / (i + 1) + 50;
        maker_sample(
            maker, &(struct sample){.set = SAMPLE_SET_CPU, .stack = stack, SAMPLE_VALUES(weight)});
        total += weight;
    }
    maker_finish(maker, 100);
    uint32_t boxes;
    struct drawn drawn = draw(maker, 0);
    CHECK_INT(self_sum(drawn.text, &boxes) + drawn.counts.unseen_ns, total);
    CHECK(boxes <= FLAME_FRAMES_MAX && drawn.counts.folded > 300000);
    CHECK(strlen(drawn.text) < 16 << 20);
    free(drawn.text);
    maker_destroy(maker);
}

TEST(nothing_is_a_picture_too)
{
    struct maker *maker = maker_create();
    maker_finish(maker, 100);
    uint32_t boxes;
    struct drawn drawn = draw(maker, 0);
    CHECK_INT(self_sum(drawn.text, &boxes), 0);
    CHECK_INT(boxes, 1);
    CHECK(!strstr(drawn.text, "nan") && !strstr(drawn.text, "inf\""));
    free(drawn.text);
    maker_destroy(maker);
}

static int export_made(struct maker *maker, const struct export_options *options)
{
    const struct pass_source source = maker_pass_source(maker);
    struct out_stream *out = out_stream_memory();
    const struct export_job job = {.source = &source, .options = options, .out = out};
    CHECK(out != NULL);
    int error = export_run(&export_svg, &job, NULL);
    CHECK((out_bytes(out) == 0) == (error != 0));
    out_stream_abandon(out);
    return error;
}

TEST(an_export_of_no_samples_draws_nothing)
{
    struct maker *maker = sampled_trace_create();
    struct flame_counts counts = {0};
    struct export_options options = {.by = "range", .ret_flame = &counts};
    CHECK_INT(export_made(maker, &options), 0);
    CHECK(counts.drawn > 0 && counts.cut == 0);
    options.off_cpu = true;
    CHECK_INT(export_made(maker, &options), 0);
    maker_destroy(maker);
    maker = maker_create();
    maker_finish(maker, 1000);
    CHECK_INT(export_made(maker, &options), -ENODATA);
    maker_destroy(maker);
}
