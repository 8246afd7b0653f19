/* SPDX-License-Identifier: MIT */
/* Sums of lines over stacks. */
#include "line_stats.h"
#include "made_sample.h"
#include "test.h"
#include "trace_maker.h"

TEST(time_ready_without_a_processor_counts_at_its_line)
{
    struct maker *maker = maker_create();
    uint32_t process = maker_process(maker, 100, 1, "python a.py", 0);
    uint32_t thread = maker_thread(maker, process, 100, "main");
    const struct maker_frame frame = {
        .kind = FRAME_PYTHON, .function = "main", .file = "/src/a.py", .module = "", .line = 3};
    struct sample sample = {.time_ns = 1000,
                            .end_ns = 5000,
                            .thread = thread,
                            .stack = maker_stack(maker, 0, &frame),
                            .reason = WAIT_PREEMPTED};
    sample = made_wait(sample, 1000); /* runnable from the start */
    struct own_time *own = own_time_create(maker_trace(maker));
    struct line_stats *stats = line_stats_create(maker_trace(maker), (struct sample_weight){0});
    line_stats_add(stats, &sample);
    CHECK_INT(own_time_add(own, &sample), 0);
    CHECK_INT(own_time_finish(own), 0);
    CHECK_INT(line_stats_finish(stats, own, true), 0);
    const struct file_line *lines;
    CHECK_INT(line_stats_files(stats, &lines), 1);
    CHECK_INT(lines->line, 3);
    CHECK_INT(lines->sums.runnable_ns, 4000);
    CHECK_INT(lines->own.runnable_ns, 4000);
    CHECK_INT(line_stats_totals(stats)->runnable_ns, 4000);
    line_stats_destroy(stats);
    own_time_destroy(own);
    maker_destroy(maker);
}
