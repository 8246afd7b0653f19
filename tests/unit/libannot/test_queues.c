/* SPDX-License-Identifier: MIT */
/* Spans of queues, clocks and counts, checked by a strict reader. */
#include "arena.h"
#include "test.h"

#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/values.h>
#include <annot_barrier.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIST_MAX = 4096 };

static struct seen_record list[LIST_MAX];
static uint32_t count;
static struct seen seen;

static void keep(const struct seen_record *record, void *context)
{
    (void)context;
    CHECK(count < LIST_MAX);
    list[count++] = *record;
}

static void read_all(int pid)
{
    count = 0;
    arena_read(pid, &seen, keep, NULL);
}

static void finish(void)
{
    arena_end();
    arena_clean();
}

/* Reads the counts in the only segment. */
static void read_counts(uint64_t counts[ANNOT_QUEUE_COUNTS])
{
    char names[2][64];
    struct mapped mapped;
    CHECK_INT(arena_list(names, 2), 1);
    CHECK(arena_map(names[0], &mapped));
    memcpy(counts, mapped.header->queues, sizeof(mapped.header->queues));
    arena_unmap(&mapped);
}

static struct annot_span span_at(annot_queue queue, uint64_t begin)
{
    return (struct annot_span){.name = annot_name_intern("kernel"),
                               .queue = queue,
                               .begin = begin,
                               .end = begin + 10,
                               .flags = ANNOT_SPAN_LAUNCHED};
}

static void set_wishes(uint64_t wishes)
{
    char names[2][64];
    struct mapped mapped;
    CHECK_INT(arena_list(names, 2), 1);
    CHECK(arena_map(names[0], &mapped));
    annot_store_relaxed(&mapped.control->wishes, wishes);
    arena_unmap(&mapped);
}

TEST(wishes_of_the_recording_are_read)
{
    CHECK_INT(annot_queue_wishes(), 0); /* without a recording */
    arena_begin(NULL);
    annot_mark("here");
    CHECK_INT(annot_queue_wishes(), 0);
    set_wishes(ANNOT_WISH_OFF);
    CHECK_INT(annot_queue_wishes(), ANNOT_QUEUE_OFF);
    set_wishes(ANNOT_WISH_ON | ANNOT_WISH_END);
    CHECK_INT(annot_queue_wishes(), ANNOT_QUEUE_ON | ANNOT_QUEUE_END);
    finish();
}

TEST(name_tells_its_text)
{
    char text[8];
    annot_name name = annot_name_intern("forward");
    CHECK_INT(annot_name_text(name, text, sizeof(text)), 7);
    CHECK_STR(text, "forward");
    CHECK_INT(annot_name_text(name, text, 4), 7);
    CHECK_STR(text, "for");
    CHECK_INT(annot_name_text(name, NULL, 0), 0);
    CHECK_INT(annot_name_text(0, text, sizeof(text)), 0);
    CHECK_STR(text, "");
    CHECK_INT(annot_name_text(UINT32_MAX, text, sizeof(text)), 0);
    struct annot_value value = annot_value_uint64("key", 1);
    CHECK_INT(annot_name_text(annot_queue_label("label", &value, 1), text, sizeof(text)), 0);
}

TEST(span_has_its_parts_in_48_bytes)
{
    arena_begin(NULL);
    annot_push("launch");
    struct annot_origin origin = annot_origin_here();
    annot_pop();
    CHECK(origin.time != 0);
    annot_queue device = annot_queue_create(ANNOT_QUEUE_DEVICE, 0, 0, "GPU 0");
    annot_queue queue =
        annot_queue_create(ANNOT_QUEUE_QUEUE, UINT64_C(1) << 32 | 7, device, "stream\x1f 7");
    CHECK(queue != 0 && queue != device);
    CHECK_INT(annot_queue_create(ANNOT_QUEUE_DEVICE, 0, 0, "GPU 0"), device);
    struct annot_span span = span_at(queue, 1000);
    struct annot_value value = annot_value_uint64(ANNOT_QUEUE_KEY_CORRELATION, 77);
    span.origin = origin;
    span.clock = ANNOT_SPAN_CLOCK_MONOTONIC;
    span.category = annot_category_observed(0, "kernels", ANNOT_OBSERVER_CUPTI, ANNOT_QUEUE_KERNEL);
    span.values = &value;
    span.value_count = 1;
    annot_emit_spans(&span, 1);
    read_all(getpid());
    CHECK_INT(count, 4);
    const struct seen_record *record = &list[2];
    CHECK_INT(record->kind, ANNOT_REC_SPAN);
    CHECK_STR(record->text, "kernel");
    CHECK(record->time == 1000 && record->value == 1010);
    CHECK_INT(record->color, queue);
    CHECK_INT(record->category, span.category);
    CHECK(record->id == origin.time);
    CHECK(record->parent == ((uint64_t)(list[0].serial + 1) << 32 | ANNOT_SPAN_MONOTONIC));
    CHECK_INT(list[3].kind, ANNOT_REC_PAYLOAD);
    CHECK(list[3].value == 77);
    finish();
}

TEST(what_is_untimed_is_counted_and_not_written)
{
    uint64_t counts[ANNOT_QUEUE_COUNTS];
    arena_begin(NULL);
    annot_queue queue = annot_queue_create(ANNOT_QUEUE_QUEUE, 3, 0, "queue");
    struct annot_span spans[4] = {span_at(queue, 5), span_at(queue, 0), span_at(queue, 7),
                                  span_at(0, 8)};
    spans[2].end = 6;
    annot_queue_count(ANNOT_QUEUE_LAUNCHED, 9);
    annot_queue_count(ANNOT_QUEUE_DROPPED, 2);
    annot_queue_count((enum annot_queue_count)99, 2);
    annot_emit_spans(spans, 4);
    read_all(getpid());
    CHECK_INT(seen.kinds[ANNOT_REC_SPAN], 1);
    CHECK_INT(seen.lost_total, 1); /* the span without a queue */
    read_counts(counts);
    CHECK(counts[ANNOT_QUEUE_TOTAL_LAUNCHED] == 9 && counts[ANNOT_QUEUE_TOTAL_REPORTED] == 4);
    CHECK(counts[ANNOT_QUEUE_TOTAL_DROPPED] == 2 && counts[ANNOT_QUEUE_TOTAL_UNTIMED] == 2);
    finish();
}

TEST(anchor_is_told_by_its_clock)
{
    arena_begin(NULL);
    annot_span_clock clock = annot_clock_create("GPU");
    const struct annot_clock_anchor anchor = {5000, annot_queue_time(), 30, 0};
    annot_clock_anchor(clock, &anchor);
    annot_clock_anchor(ANNOT_SPAN_CLOCK_OWN, &anchor);
    annot_clock_anchor(ANNOT_SPAN_CLOCK_MONOTONIC, &anchor);
    read_all(getpid());
    CHECK_INT(count, 1);
    CHECK_INT(list[0].kind, ANNOT_REC_CLOCK);
    CHECK_INT(list[0].name, clock);
    CHECK(list[0].time == anchor.time && list[0].value == 5000 && list[0].color == 30);
    finish();
}

TEST(label_keeps_its_values_when_its_name_is_cut)
{
    char name[2000];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    const struct annot_value values[] = {
        annot_value_string("grid", "64,1\x1e,1"), annot_value_int64("less", -5),
        annot_value_bool("truth", 1), annot_value_uint64("registers", UINT64_MAX),
        annot_value_struct(0, name, 4)};
    arena_begin(NULL);
    annot_queue queue = annot_queue_create(ANNOT_QUEUE_QUEUE, 3, 0, "queue");
    struct annot_span span = span_at(queue, 5);
    span.name = annot_queue_label(name, values, 5);
    CHECK_INT(annot_queue_label(name, values, 5), span.name);
    annot_emit_spans(&span, 1);
    read_all(getpid());
    static const char expected[] = "grid\x1f"
                                   "5\x1f"
                                   "64,1 ,1\x1e"
                                   "less\x1f"
                                   "1\x1f"
                                   "-5\x1e"
                                   "truth\x1f"
                                   "4\x1f"
                                   "1\x1e"
                                   "registers\x1f"
                                   "2\x1f"
                                   "18446744073709551615\x1ennn";
    CHECK(strncmp(list[0].text, expected, sizeof(expected) - 1) == 0);
    CHECK_INT(strlen(list[0].text), ANNOT_STRING_MAX);
    finish();
}

static void *emit_many(void *context)
{
    struct annot_span span = span_at(*(annot_queue *)context, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        span.begin++, span.end++;
        annot_queue_count(ANNOT_QUEUE_LAUNCHED, 1);
        annot_emit_spans(&span, 1);
    }
    return NULL;
}

TEST(counts_survive_a_kill)
{
    uint64_t counts[ANNOT_QUEUE_COUNTS];
    arena_begin(NULL);
    int status, child = fork();
    if (child == 0) {
        annot_queue queue = annot_queue_create(ANNOT_QUEUE_QUEUE, 3, 0, "queue");
        pthread_t threads[3];
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, emit_many, &queue);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        annot_queue_count(ANNOT_QUEUE_LAUNCHED, 5);
        raise(SIGKILL);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    read_all(child);
    CHECK_INT(seen.kinds[ANNOT_REC_SPAN] + seen.lost_total, 3000);
    read_counts(counts);
    CHECK(counts[ANNOT_QUEUE_TOTAL_LAUNCHED] == 3005 && counts[ANNOT_QUEUE_TOTAL_REPORTED] == 3000);
    finish();
}

TEST(nothing_is_told_while_nobody_records)
{
    struct annot_span span = span_at(annot_queue_create(ANNOT_QUEUE_QUEUE, 3, 0, "queue"), 5);
    CHECK(annot_origin_here().thread == 0);
    annot_queue_count(ANNOT_QUEUE_LAUNCHED, 1);
    annot_emit_spans(&span, 1);
    CHECK(annot_queue_time() != 0);
}
