/* SPDX-License-Identifier: MIT */
/* GPU work, and the calls that launched it.
 *
 * Readers find the launch of a kernel by correlationId and process. For launches without a recorded
 * call, a call "launch" without duration is written at the time and thread of the launch, with a
 * generated number for both. Work without a table of its own becomes a range of its queue:
 * nsys_ranges.c. */
#include "nsys.h"

#include "gpu_name.h"
#include "gpu_stats.h"
#include "nsys_database.h"
#include "nsys_shape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SHORT_NAME_SIZE = 256 };

/* Above all numbers of CUPTI. */
#define OWN_LAUNCHES (INT64_C(1) << 32)

/* ---- Devices and contexts -------------------------------------------------------------------- */

static uint64_t context_key(const struct trace_lane *lane)
{
    return (lane->process + UINT64_C(1)) << 32 | (lane->id >> 32);
}

/* Waits only have a context. Their device is that of the context's streams. */
int nsys_gpu_init(struct nsys *nsys)
{
    int error = gpu_keys_init(&nsys->keys, nsys->trace);
    for (uint32_t i = 0; i < trace_lane_count(nsys->trace) && !error; i++) {
        const struct trace_lane *lane = trace_lane_get(nsys->trace, i);
        uint32_t device = lane->kind == LANE_QUEUE ? gpu_device_of(nsys->trace, i) : 0;
        if (device)
            error = map64_put(&nsys->contexts, context_key(lane),
                              1 + (uint64_t)(uint32_t)trace_lane_get(nsys->trace, device - 1)->id);
        if (lane->kind == LANE_DEVICE && !error)
            error = vec_push(&nsys->devices,
                             ((struct nsys_device){.number = (uint32_t)lane->id, .lane = i}));
    }
    return error;
}

static void put_known(struct nsys_database *db, bool known, int64_t number)
{
    if (known)
        nsys_put(db, number);
    else
        nsys_skip(db, 1);
}

static void put_value(struct nsys_database *db, const struct arg *value)
{
    put_known(db, value != NULL, (int64_t)gpu_value_number(value));
}

/* deviceId, contextId */
static void put_device(struct nsys *nsys, const struct trace_lane *lane)
{
    const uint64_t *device = map64_find(&nsys->contexts, context_key(lane));
    uint32_t context = (uint32_t)(lane->id >> 32);
    put_known(&nsys->db, device != NULL, device ? (int64_t)*device - 1 : 0);
    put_known(&nsys->db, context < NSYS_CONTEXTS, context);
}

static int64_t process_of(const struct nsys *nsys, const struct item *item)
{
    int64_t thread = nsys_thread(nsys, item->event->thread);
    const struct trace_lane *lane = trace_lane_get(nsys->trace, item->event->lane);
    if (thread != NSYS_UNKNOWN)
        return thread & ~(int64_t)NSYS_TID_MASK;
    return lane ? nsys_process(nsys, lane->process) : NSYS_UNKNOWN;
}

/* ---- Launches -------------------------------------------------------------------------------- */

static int64_t correlation_of(const struct nsys *nsys, const struct item *item)
{
    const struct arg *value = gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_CORRELATION);
    return (int64_t)(gpu_value_number(value) & UINT32_MAX);
}

/* Finds the number of an existing launch row, of another span of the same launch. */
static int64_t find_launch(struct nsys_database *db, const struct nsys_launch *launch)
{
    int64_t number = launch->number;
    if (!db->find_launch)
        sqlite3_prepare_v3(db->file,
                           "SELECT number FROM temp.launched WHERE thread = ? AND start = ? AND "
                           "correlation = ?",
                           -1, SQLITE_PREPARE_PERSISTENT, &db->find_launch, NULL);
    sqlite3_bind_int64(db->find_launch, 1, launch->thread);
    sqlite3_bind_int64(db->find_launch, 2, launch->start_ns);
    sqlite3_bind_int64(db->find_launch, 3, launch->correlation);
    if (sqlite3_step(db->find_launch) == SQLITE_ROW)
        number = sqlite3_column_int64(db->find_launch, 0);
    sqlite3_reset(db->find_launch);
    return number;
}

static void put_launch(struct nsys *nsys, struct nsys_launch *launch)
{
    struct nsys_database *db = &nsys->db;
    launch->number =
        launch->correlation ? launch->correlation : OWN_LAUNCHES + nsys->own_launches + 1;
    nsys_begin_row(db, NSYS_TABLE_LAUNCHED);
    nsys_put(db, launch->thread);
    nsys_put(db, launch->start_ns);
    nsys_put(db, launch->correlation);
    nsys_put(db, launch->number);
    nsys_end_row(db);
    if (db->error || launch->correlation)
        return;
    if (sqlite3_changes(db->file) == 0)
        launch->number = find_launch(db, launch);
    else
        nsys->own_launches++;
}

/* The number that joins a span with its launch, or 0. */
static int64_t number_of(struct nsys *nsys, const struct item *item)
{
    const struct event *event = item->event;
    const struct nsys_launch *last = &nsys->last_launch;
    struct nsys_launch launch = {.thread = nsys_thread(nsys, event->thread),
                                 .correlation = correlation_of(nsys, item)};
    if (event->origin_ns == EVENT_NO_ORIGIN || launch.thread == NSYS_UNKNOWN)
        return launch.correlation;
    launch.start_ns = event->origin_ns - nsys->begin_ns;
    if (last->number && last->thread == launch.thread && last->start_ns == launch.start_ns &&
        last->correlation == launch.correlation)
        return last->number;
    put_launch(nsys, &launch);
    nsys->last_launch = launch;
    return launch.number;
}

void nsys_gpu_finish(struct nsys *nsys)
{
    struct nsys_database *db = &nsys->db;
    char sql[512];
    if (!db->tables[NSYS_TABLE_LAUNCHED].insert || db->error)
        return;
    int64_t name = nsys_text(db, NSYS_LAUNCH);
    nsys_begin_row(db, NSYS_TABLE_CALLS); /* creates the tables */
    nsys_begin_row(db, NSYS_TABLE_CALLED);
    snprintf(sql, sizeof(sql),
             "INSERT INTO " NSYS_CALLS " (start, end, eventClass, globalTid, correlationId, nameId)"
             " SELECT start, start, %d, thread, number, %lld FROM temp.launched WHERE NOT EXISTS "
             "(SELECT 1 FROM temp.called c WHERE c.process = launched.thread >> %d AND "
             "c.number = launched.number)",
             NSYS_CLASS_RUNTIME, (long long)name, NSYS_TID_BITS);
    nsys_run(db, sql);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* A call of an unknown thread lies on a queue with the thread's number. */
static int64_t caller_of(const struct nsys *nsys, const struct item *item)
{
    const struct trace_lane *lane = trace_lane_get(nsys->trace, item->event->lane);
    int64_t process = process_of(nsys, item);
    if (item->lane != LANE_QUEUE || !lane || process == NSYS_UNKNOWN)
        return nsys_thread(nsys, item->event->thread);
    return process | (int64_t)(lane->id & NSYS_TID_MASK);
}

static void note_call(struct nsys *nsys, int64_t caller, int64_t number)
{
    if (!number || caller == NSYS_UNKNOWN)
        return;
    nsys_begin_row(&nsys->db, NSYS_TABLE_CALLED);
    nsys_put(&nsys->db, caller >> NSYS_TID_BITS);
    nsys_put(&nsys->db, number);
    nsys_end_row(&nsys->db);
}

static void take_call(struct nsys *nsys, const struct item *item)
{
    struct nsys_database *db = &nsys->db;
    int64_t number = correlation_of(nsys, item), caller = caller_of(nsys, item);
    const char *name = trace_string(nsys->trace, item->event->name)->bytes;
    int64_t name_id = nsys_string(db, item->event->name);
    note_call(nsys, caller, number);
    nsys_begin_row(db, NSYS_TABLE_CALLS);
    nsys_put_time(nsys, item->event->time_ns);
    nsys_put_time(nsys, item->end_ns);
    nsys_put(db, strncmp(name, "cuda", 4) == 0 ? NSYS_CLASS_RUNTIME : NSYS_CLASS_DRIVER);
    nsys_put_who(nsys, caller);
    put_known(db, number != 0, number);
    nsys_put(db, name_id);
    nsys_put(db,
             (int64_t)gpu_value_number(gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_ERROR)));
    nsys_end_row(db);
}

static void take_overhead(struct nsys *nsys, const struct item *item)
{
    struct nsys_database *db = &nsys->db;
    int64_t name_id = nsys_string(db, item->event->name);
    nsys_begin_row(db, NSYS_TABLE_OVERHEAD);
    nsys_put_time(nsys, item->event->time_ns);
    nsys_put_time(nsys, item->end_ns);
    nsys_put_who(nsys, nsys_thread(nsys, item->event->thread));
    nsys_put(db, name_id);
    nsys_end_row(db);
}

/* ---- Work of streams ------------------------------------------------------------------------- */

/* Writes the columns common to all work tables. */
static void begin_work(struct nsys *nsys, enum nsys_table table, const struct item *item)
{
    const struct trace_lane *lane = trace_lane_get(nsys->trace, item->event->lane);
    struct nsys_database *db = &nsys->db;
    int64_t number = number_of(nsys, item);
    nsys_begin_row(db, table);
    nsys_put_time(nsys, item->event->time_ns);
    nsys_put_time(nsys, item->end_ns);
    put_device(nsys, lane);
    nsys_skip(db, 1);
    put_known(db, gpu_is_stream(lane), (uint32_t)lane->id);
    put_known(db, number != 0, number);
    nsys_put_who(nsys, process_of(nsys, item));
}

/* Writes "64,8,1" as three columns. */
static void put_shape(struct nsys *nsys, const struct item *item, enum gpu_value which)
{
    const struct arg *value = gpu_value_find(&nsys->keys, &item->args, which);
    unsigned x, y, z;
    if (sscanf(gpu_value_text(&nsys->keys, value), "%u,%u,%u", &x, &y, &z) != 3) {
        nsys_skip(&nsys->db, 3);
        return;
    }
    nsys_put(&nsys->db, x);
    nsys_put(&nsys->db, y);
    nsys_put(&nsys->db, z);
}

/* Reduces "at::native::vectorized_elementwise_kernel<...>" to "vectorized_elementwise_kernel". */
static int64_t short_name(struct nsys *nsys, uint32_t name)
{
    char text[SHORT_NAME_SIZE];
    const uint64_t *known = map64_find(&nsys->short_names, name + UINT64_C(1));
    if (known)
        return (int64_t)*known;
    gpu_short_name(trace_string(nsys->trace, name)->bytes, text, sizeof(text));
    char *bracket = strstr(text, "<\xe2\x80\xa6>");
    if (bracket && bracket > text)
        *bracket = '\0';
    const char *base = text;
    for (const char *at = text; (at = strstr(at, "::")); at += 2)
        base = at[2] ? at + 2 : base;
    int64_t id = nsys_text(&nsys->db, base);
    if (map64_put(&nsys->short_names, name + UINT64_C(1), (uint64_t)id) != 0)
        nsys->db.error = -ENOMEM;
    return id;
}

static void take_kernel(struct nsys *nsys, const struct item *item)
{
    struct nsys_database *db = &nsys->db;
    int64_t name = nsys_string(db, item->event->name);
    int64_t base = short_name(nsys, item->event->name);
    begin_work(nsys, NSYS_TABLE_KERNELS, item);
    nsys_put(db, name);
    nsys_put(db, base);
    nsys_skip(db, 3);
    put_value(db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_REGISTERS));
    put_shape(nsys, item, GPU_VALUE_GRID);
    put_shape(nsys, item, GPU_VALUE_BLOCK);
    nsys_put(db, 0); /* only the sum of static and dynamic shared memory is known */
    put_value(db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_SHARED));
    put_value(db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_LOCAL));
    nsys_end_row(db);
}

/* ENUM_CUDA_MEM_KIND */
static void put_memory_kind(struct nsys *nsys, const struct item *item, enum gpu_value which)
{
    const char *text = gpu_value_text(&nsys->keys, gpu_value_find(&nsys->keys, &item->args, which));
    int64_t kind = 0;
    while (kind < NSYS_MEMORY_KINDS && strcmp(nsys_memory_kinds[kind], text) != 0)
        kind++;
    put_known(&nsys->db, kind < NSYS_MEMORY_KINDS, kind);
}

static void take_copy(struct nsys *nsys, const struct item *item, bool unified)
{
    const char *direction = gpu_copy_direction(&nsys->keys, item->event, &item->args);
    int kind = unified ? NSYS_UNIFIED_HTOD : 0, end = unified ? NSYS_COPY_KINDS : NSYS_UNIFIED_HTOD;
    if (unified && strcmp(direction, "PtoP") == 0)
        direction = "DtoD";
    while (kind < end && strcmp(nsys_copy_kinds[kind], direction) != 0)
        kind++;
    begin_work(nsys, NSYS_TABLE_COPIES, item);
    put_value(&nsys->db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_BYTES));
    nsys_put(&nsys->db, kind < end ? kind : 0);
    nsys_skip(&nsys->db, 1);
    put_memory_kind(nsys, item, GPU_VALUE_SOURCE);
    put_memory_kind(nsys, item, GPU_VALUE_DESTINATION);
    nsys_end_row(&nsys->db);
}

static void take_set(struct nsys *nsys, const struct item *item)
{
    begin_work(nsys, NSYS_TABLE_SETS, item);
    nsys_skip(&nsys->db, 1);
    put_value(&nsys->db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_BYTES));
    nsys_skip(&nsys->db, 1);
    put_memory_kind(nsys, item, GPU_VALUE_MEMORY);
    nsys_end_row(&nsys->db);
}

static void take_wait(struct nsys *nsys, const struct item *item)
{
    const char *name = trace_string(nsys->trace, item->event->name)->bytes;
    int kind = NSYS_WAIT_KINDS - 1;
    while (kind > 0 && strcmp(nsys_wait_kinds[kind], name) != 0)
        kind--;
    begin_work(nsys, NSYS_TABLE_WAITS, item);
    nsys_put(&nsys->db, kind);
    nsys_end_row(&nsys->db);
}

static void take_graph(struct nsys *nsys, const struct item *item)
{
    begin_work(nsys, NSYS_TABLE_GRAPHS, item);
    put_value(&nsys->db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_GRAPH));
    nsys_end_row(&nsys->db);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void take_memory(struct nsys *nsys, const struct item *item, bool gives_back)
{
    const struct trace_lane *lane = trace_lane_get(nsys->trace, item->event->lane);
    struct nsys_database *db = &nsys->db;
    int64_t number = number_of(nsys, item);
    nsys_begin_row(db, NSYS_TABLE_MEMORY);
    nsys_put_time(nsys, item->event->time_ns);
    nsys_put_who(nsys, process_of(nsys, item));
    put_device(nsys, lane);
    put_value(db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_ADDRESS));
    nsys_skip(db, 1);
    put_value(db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_BYTES));
    put_memory_kind(nsys, item, GPU_VALUE_MEMORY);
    nsys_put(db, gives_back);
    nsys_skip(db, 1);
    put_known(db, number != 0, number);
    nsys_skip(db, 1);
    put_value(db, gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_POOL));
    nsys_end_row(db);
}

/* Memory allocations, frees and automatic migrations. Faults have no table. */
static bool take_of_memory(struct nsys *nsys, const struct item *item)
{
    const char *name = trace_string(nsys->trace, item->event->name)->bytes;
    bool gives_back = strcmp(name, "give memory back") == 0;
    bool moves = gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_DIRECTION) != NULL;
    if (gives_back || strcmp(name, "take memory") == 0)
        take_memory(nsys, item, gives_back);
    else if (moves)
        take_copy(nsys, item, true);
    else
        return false;
    return true;
}

/* ---- Items ----------------------------------------------------------------------------------- */

bool nsys_gpu_take(struct nsys *nsys, const struct item *item)
{
    enum queue_role role = gpu_role_of(nsys->trace, item->event->scope);
    if (role == QUEUE_ROLE_CALL && (item->lane == LANE_QUEUE || item->lane == LANE_THREAD)) {
        take_call(nsys, item);
        return true;
    }
    if (item->lane != LANE_QUEUE || item->event->lane >= trace_lane_count(nsys->trace))
        return false;
    switch (role) {
    case QUEUE_ROLE_KERNEL:
        take_kernel(nsys, item);
        return true;
    case QUEUE_ROLE_COPY:
        take_copy(nsys, item, false);
        return true;
    case QUEUE_ROLE_SET:
        take_set(nsys, item);
        return true;
    case QUEUE_ROLE_WAIT:
        take_wait(nsys, item);
        return true;
    case QUEUE_ROLE_GRAPH:
        take_graph(nsys, item);
        return true;
    case QUEUE_ROLE_OVERHEAD:
        take_overhead(nsys, item);
        return true;
    case QUEUE_ROLE_MEMORY:
        return take_of_memory(nsys, item);
    default:
        return false;
    }
}

void nsys_gpu_mark(struct nsys *nsys, const struct item *item)
{
    const struct arg *number = gpu_value_find(&nsys->keys, &item->args, GPU_VALUE_DEVICE);
    if (!number || trace_scope(nsys->trace, item->event->scope)->observer != OBSERVER_CUPTI)
        return;
    for (size_t i = 0; i < nsys->devices.count; i++) {
        struct nsys_device *device = &nsys->devices.items[i];
        for (uint32_t at = 0; device->number == gpu_value_number(number) && at < item->args.count;
             at++)
            device->values[gpu_key_value(&nsys->keys, item->args.items[at].key)] =
                item->args.items[at];
    }
}
