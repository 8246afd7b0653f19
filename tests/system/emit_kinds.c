/* SPDX-License-Identifier: MIT */
/* emit_kinds MODE [COUNT]: flows, tracks, key-values, structs, groups of counters, logs.
 *
 * kinds   some of each, from a parent and its forked child
 * abort   a last word from a handler of SIGABRT
 * stream  COUNT ranges on 100 tracks with three key-values each, each followed by a pause, so that
 *         the collector can be killed meanwhile
 * many    COUNT tracks with one range each, which has ten key-values
 * wide    COUNT marks, each with a struct of more values than are shown; then waits for SIGINT
 * One thread. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <annot/annot.h>
#include <annot/logs.h>
#include <annot/tracks.h>
#include <annot/values.h>

#include "account.h"

struct point {
    int32_t x, y;
    double weight;
    char label[8];
    uint16_t near[2];
};

static annot_schema point_schema(void)
{
    static const struct annot_field fields[] = {
        {"x", "mm", offsetof(struct point, x), 1, ANNOT_FIELD_INT32, {0}},
        {"y", "mm", offsetof(struct point, y), 1, ANNOT_FIELD_INT32, {0}},
        {"weight", NULL, offsetof(struct point, weight), 1, ANNOT_FIELD_DOUBLE, {0}},
        {"label", NULL, offsetof(struct point, label), 8, ANNOT_FIELD_CHARS, {0}},
        {"near", NULL, offsetof(struct point, near), 2, ANNOT_FIELD_UINT16, {0}},
    };
    return annot_schema_create("point", sizeof(struct point), fields, 5);
}

static void values_of_each_kind(void)
{
    static const struct point point = {-1, 2, 0.5, "here", {3, 4}}; /* padding is 0 */
    const struct annot_value values[] = {
        annot_value_int64("int", INT64_MIN),
        annot_value_uint64("uint", UINT64_MAX),
        annot_value_double("double", -0.25),
        annot_value_bool("bool", 5),
        annot_value_string("string", "text \xc3\xa4\n"),
        annot_value_struct(point_schema(), &point, sizeof(point)),
        annot_value_struct(point_schema(), &point, sizeof(point) - 1), /* not its size */
    };
    const struct annot_event event = {.text = "valued", .values = values, .value_count = 7};
    annot_push_event(&event);
    annot_pop();
    annot_mark_event(&event);
}

static void counters(void)
{
    const struct annot_value values[] = {
        annot_value_int64("depth", 3),
        annot_value_double("age", 1.5),
    };
    annot_counter_unit(0, "queue/age", "ms");
    annot_counters("queue", values, 2);
}

static void kinds(void)
{
    struct annot_track group = annot_track_create("requests", NULL);
    struct annot_track request = annot_track_create("request 1", &group);
    const struct annot_event half = {.text = "half"};
    annot_flow flow = annot_flow_new();
    annot_push("send");
    annot_flow_begin(flow, "order");
    annot_track_begin(&request, "serve");
    annot_pop();
    pid_t pid = fork();
    if (pid == 0) {
        annot_push("receive");
        annot_flow_end(flow);
        annot_track_mark_event(&request, &half);
        annot_track_end(&request); /* the parent's range */
        annot_pop();
        exit(0);
    }
    waitpid(pid, NULL, 0);
    annot_flow_step(annot_flow_id("order", 17));
    values_of_each_kind();
    counters();
    annot_log(ANNOT_SEVERITY_WARNING, "nearly");
}

static void on_abort(int number)
{
    (void)number;
    annot_abort_note("out of cheese");
}

static void stream(long count)
{
    struct annot_track tracks[100];
    char name[32];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "track %d", i);
        tracks[i] = annot_track_create(name, NULL);
    }
    for (long i = 0; i < count; i++) {
        const struct annot_value values[] = {
            annot_value_int64("number", i),
            annot_value_string("text", "some text"),
            annot_value_double("half", (double)i / 2),
        };
        const struct annot_event event = {.text = "step", .values = values, .value_count = 3};
        annot_track_begin_event(&tracks[i % 100], &event);
        annot_track_end(&tracks[i % 100]);
        if (i % 8 == 0)
            usleep(50);
    }
}

static void many(long count)
{
    char name[32];
    for (long i = 0; i < count; i++) {
        struct annot_value values[10];
        snprintf(name, sizeof(name), "request %ld", i);
        struct annot_track track = annot_track_create(name, NULL);
        for (int k = 0; k < 10; k++)
            values[k] = annot_value_int64("key", i + k);
        const struct annot_event event = {.text = "serve", .values = values, .value_count = 10};
        annot_track_begin_event(&track, &event);
        annot_track_end(&track);
        if (i % 16 == 0)
            usleep(50);
    }
}

/* One uint8 value more than the collector shows of a struct. */
static void wide(long count)
{
    static const struct annot_field fields[] = {{"a", NULL, 0, 257, ANNOT_FIELD_UINT8, {0}}};
    static const uint8_t bytes[257];
    annot_schema schema = annot_schema_create("wide", sizeof(bytes), fields, 1);
    const struct annot_value value = annot_value_struct(schema, bytes, sizeof(bytes));
    const struct annot_event event = {.text = "wide", .values = &value, .value_count = 1};
    sigset_t interrupt;
    int number;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, NULL);
    for (long i = 0; i < count; i++)
        annot_mark_event(&event);
    sigwait(&interrupt, &number);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long count = argc > 2 ? atol(argv[2]) : 1000;
    if (strcmp(mode, "kinds") == 0) {
        kinds();
    } else if (strcmp(mode, "abort") == 0) {
        signal(SIGABRT, on_abort);
        annot_push("work");
        abort();
    } else if (strcmp(mode, "stream") == 0) {
        stream(count);
    } else if (strcmp(mode, "many") == 0) {
        many(count);
    } else if (strcmp(mode, "wide") == 0) {
        wide(count);
    }
    printf("%ld\n", count);
    return 0;
}
