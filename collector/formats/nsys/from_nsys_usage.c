/* SPDX-License-Identifier: MIT */
/* Memory of GPUs, and overhead of the profiler, in databases of Nsight Systems. */
#include "from_nsys_parts.h"

#include "nsys_shape.h"

#include <errno.h>

#define KEY_KIND    "memory"
#define KEY_HELD    "held [bytes]"
#define KEY_ADDRESS "address"

enum { PROCESS = 2, DEVICE, BYTES, KIND, OPERATION, ADDRESS, VARIABLE, LAUNCH, LAUNCHER };

/* No number of a stream: what memory of a device does has a lane of its own. */
#define MEMORY_LANE INT64_C(0xfffffffd)

/* What is taken and not given back, of a process's memory of a kind. Memory that was taken before
 * the report began is given back without having been taken. */
static uint64_t hold(struct nsys *nsys, sqlite3_stmt *row, bool takes, uint64_t bytes)
{
    uint64_t process = (uint64_t)sqlite3_column_int64(row, PROCESS) >> NSYS_TID_BITS;
    uint64_t key = (process << 16 ^ (uint64_t)sqlite3_column_int64(row, DEVICE)) << 8 ^
                   (uint64_t)sqlite3_column_int64(row, KIND);
    const uint64_t *found = map64_find(&nsys->held, key + 1);
    uint64_t held = found ? *found : 0;
    held = takes ? held + bytes : held - (bytes < held ? bytes : held);
    if (map64_put(&nsys->held, key + 1, held) != 0)
        nsys->sink->error = -ENOMEM;
    return held;
}

static const char *kind_of(int64_t kind)
{
    return kind >= 0 && kind < NSYS_MEMORY_KINDS ? nsys_memory_kinds[kind] : "unknown";
}

static void add_text(struct nsys *nsys, const char *key, uint32_t string)
{
    if (string)
        nsys_add_arg(nsys, key, (struct arg){.kind = VALUE_STRING, .value = {.string = string}});
}

static int add_to_memory(struct nsys *nsys, sqlite3_stmt *row, struct event *event)
{
    bool launched = !nsys_is_null(row, LAUNCH);
    const struct import_work work = {.device = sqlite3_column_int64(row, DEVICE),
                                     .stream = MEMORY_LANE,
                                     .is_own = true,
                                     .has_launch = launched,
                                     .launch_ns = sqlite3_column_int64(row, LAUNCH)};
    struct import_lanes lanes;
    event->thread = nsys_thread_of(nsys, sqlite3_column_int64(row, launched ? LAUNCHER : PROCESS));
    event->arg_count = (uint16_t)nsys->args.count;
    if (nsys->sink->error)
        return nsys->sink->error;
    int error = import_work(nsys->sink, &work, event, nsys->args.items, &lanes);
    if (error == 0 && lanes.is_new)
        nsys_name_lanes(nsys, &lanes, work.device, "memory");
    return error;
}

int nsys_take_usage(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    struct event event = {0};
    int64_t operation = sqlite3_column_int64(row, OPERATION);
    int64_t bytes = sqlite3_column_int64(row, BYTES);
    bool takes = operation == NSYS_TAKES;
    nsys->args.count = 0;
    if (!nsys_times_at(nsys, row, &event))
        return 0;
    if ((!takes && operation != NSYS_GIVES_BACK) || bytes < 0) {
        nsys->sink->left[LEFT_UNKNOWN]++;
        return 0;
    }
    event.name = import_text(nsys->sink, takes ? "take memory" : "give memory back");
    event.scope = nsys_scope(nsys, OBSERVER_CUPTI, table->role, NULL);
    add_text(nsys, KEY_KIND, import_text(nsys->sink, kind_of(sqlite3_column_int64(row, KIND))));
    nsys_add_number(nsys, QUEUE_KEY_BYTES, bytes);
    nsys_add_number(nsys, KEY_HELD, (int64_t)hold(nsys, row, takes, (uint64_t)bytes));
    nsys_add_number(nsys, KEY_ADDRESS, sqlite3_column_int64(row, ADDRESS));
    add_text(nsys, "variable", nsys_text_at(nsys, row, VARIABLE));
    return add_to_memory(nsys, row, &event);
}

int nsys_take_overhead(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    struct event event = {0};
    struct import_lanes lanes;
    const struct import_work work = {.device = IMPORT_NO_DEVICE, .is_own = true};
    nsys->args.count = 0;
    if (!nsys_times_at(nsys, row, &event))
        return 0;
    if (event.end_ns == INT64_MAX) {
        nsys->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    event.thread = nsys_thread_of(nsys, sqlite3_column_int64(row, 2));
    event.name = nsys_name_at(nsys, row, 3);
    event.scope = nsys_scope(nsys, OBSERVER_CUPTI, table->role, NULL);
    if (nsys->sink->error)
        return nsys->sink->error;
    int error = import_work(nsys->sink, &work, &event, NULL, &lanes);
    uint32_t name = import_text(nsys->sink, "overhead");
    if (error == 0 && lanes.is_new)
        import_lanes_name(nsys->sink, &lanes, name, name);
    return error;
}
