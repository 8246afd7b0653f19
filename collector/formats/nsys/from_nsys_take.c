/* SPDX-License-Identifier: MIT */
/* Converts rows of Nsight Systems' tables to events. */

#include "from_nsys.h"
#include "input.h"
#include "json_reader.h"
#include "nsys_shape.h"
#include "sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int nsys_take_usage(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row);
static int nsys_take_overhead(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row);

/* ---- NVTX_EVENTS.jsonText: an object of key-values ------------------------------------------- */

enum { NESTED_SIZE = 4096 };

/* Nested values remain JSON text. */
static int take_nested(struct nsys *nsys, struct json_reader *reader,
                       const struct json_token *token, struct arg *arg)
{
    char bytes[NESTED_SIZE];
    struct text copy = text_init(bytes, sizeof(bytes));
    int error = json_copy(reader, token, &copy);
    if (copy.length + 1 >= copy.size)
        nsys->sink->left[LEFT_VALUES]++;
    arg->kind = VALUE_STRING;
    arg->value.string = import_string(nsys->sink, bytes, copy.length);
    return error;
}

static int read_member(struct nsys *nsys, struct json_reader *reader, const struct json_token *name)
{
    struct arg arg = {.key = import_string(nsys->sink, name->text, name->length)};
    struct json_token value;
    int status = json_next(reader, &value);
    if (status != 1)
        return status < 0 ? status : -EBADMSG;
    bool nested = value.kind == JSON_OBJECT || value.kind == JSON_ARRAY;
    if (nested)
        status = take_nested(nsys, reader, &value, &arg);
    else if (value.kind != JSON_NULL) /* null remains a value without a kind */
        status = import_scalar(nsys->sink, &value, &arg) ? 0 : -ERANGE;
    else
        status = 0;
    if (status == -ERANGE || nsys->args.count >= SINK_ARGS_MAX) {
        nsys->sink->left[LEFT_VALUES]++;
        return 0;
    }
    return status ? status : vec_push(&nsys->args, arg);
}

static int read_object(struct nsys *nsys, struct json_reader *reader)
{
    struct json_token token;
    int status = json_next(reader, &token);
    bool object = status == 1 && token.kind == JSON_OBJECT;
    while (object && (status = json_next(reader, &token)) == 1 && token.key) {
        status = read_member(nsys, reader, &token);
        if (status)
            return status;
    }
    return status < 0 ? status : object ? 0 : -EBADMSG;
}

/* Appends to the args of the current row. 0 or -ENOMEM. */
static int nsys_take_json(struct nsys *nsys, const char *bytes, size_t size)
{
    struct import_input *input = import_input_memory((const uint8_t *)bytes, size);
    struct json_reader reader;
    if (!input)
        return -ENOMEM;
    json_reader_init(&reader, input);
    int error = read_object(nsys, &reader);
    nsys->sink->left[LEFT_VALUES] += error == -EBADMSG;
    json_reader_fini(&reader);
    import_input_close(input);
    return error == -EBADMSG ? 0 : error;
}

enum { SHAPE_SIZE = 64 };

void nsys_fini(struct nsys *nsys)
{
    map64_free(&nsys->threads);
    map64_free(&nsys->domains);
    map64_free(&nsys->categories);
    map64_free(&nsys->devices);
    map64_free(&nsys->held);
    vec_free(&nsys->args);
    vec_free(&nsys->known);
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* A string, or 0 for "(no name)". */
static uint32_t nsys_text_at(struct nsys *nsys, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    int size = sqlite3_column_bytes(row, column);
    return text && size > 0 ? import_string(nsys->sink, text, (size_t)size) : 0;
}

static uint32_t nsys_name_at(struct nsys *nsys, sqlite3_stmt *row, int column)
{
    uint32_t name = nsys_text_at(nsys, row, column);
    return name ? name : import_text(nsys->sink, "(no name)");
}

/* Reads begin and end of the row; a missing end becomes INT64_MAX. Returns false and counts the row
 * as malformed if they are out of range or reversed. */
static bool nsys_times_at(struct nsys *nsys, sqlite3_stmt *row, struct event *event)
{
    event->time_ns = sqlite3_column_int64(row, 0);
    event->end_ns = nsys_is_null(row, 1) ? INT64_MAX : sqlite3_column_int64(row, 1);
    bool good = !nsys_is_null(row, 0) && event->time_ns >= -IMPORT_TIME_MAX &&
                event->time_ns <= IMPORT_TIME_MAX && event->end_ns >= event->time_ns &&
                (event->end_ns == INT64_MAX || event->end_ns <= IMPORT_TIME_MAX);
    nsys->sink->left[LEFT_MALFORMED] += !good;
    return good;
}

/* Map keys must not be 0. */
static uint64_t key_of(int64_t number)
{
    return number == -1 ? 1 : 1 + (uint64_t)number;
}

/* The process of a globalTid. */
static uint32_t process_of(struct nsys *nsys, int64_t global)
{
    const struct import_id id = {.number = global >> NSYS_TID_BITS & NSYS_TID_MASK};
    return import_process(nsys->sink, &id);
}

uint32_t nsys_thread_of(struct nsys *nsys, int64_t global)
{
    const uint64_t *found = map64_find(&nsys->threads, key_of(global));
    if (found)
        return (uint32_t)*found;
    const struct import_id id = {.number = global & NSYS_TID_MASK};
    uint32_t thread = import_thread(nsys->sink, process_of(nsys, global), &id);
    if (map64_put(&nsys->threads, key_of(global), thread) != 0)
        nsys->sink->error = -ENOMEM;
    return thread;
}

static uint32_t nsys_scope(struct nsys *nsys, uint16_t observer, uint8_t role, const char *category)
{
    const struct scope scope = {.observer = observer,
                                .role = role,
                                .category = category ? import_text(nsys->sink, category) : 0};
    return import_scope(nsys->sink, &scope);
}

static void nsys_add_arg(struct nsys *nsys, const char *key, struct arg arg)
{
    arg.key = import_text(nsys->sink, key);
    if (vec_push(&nsys->args, arg) != 0)
        nsys->sink->error = -ENOMEM;
}

static int add(struct nsys *nsys, struct event *event)
{
    event->arg_count = (uint16_t)nsys->args.count;
    return import_add(nsys->sink, event, nsys->args.items);
}

/* ---- Processes, threads, devices, domains ---------------------------------------------------- */

static int take_product(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, 0);
    const char *value = (const char *)sqlite3_column_text(row, 1);
    (void)table;
    if (name && value && strcmp(name, NSYS_PRODUCT) == 0)
        nsys->is_ours = strcmp(value, NSYS_PRODUCT_OURS) == 0;
    return 0;
}

static int take_start_time(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    int64_t realtime_ns = sqlite3_column_int64(row, 0);
    (void)table;
    if (realtime_ns > 0)
        nsys->sink->realtime_ns = realtime_ns;
    return 0;
}

static int take_device(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    int64_t device = sqlite3_column_int64(row, nsys_is_null(row, 0) ? 1 : 0);
    uint32_t name = nsys_text_at(nsys, row, 2);
    (void)table;
    return name ? map64_put(&nsys->devices, key_of(device), name) : 0;
}

static uint64_t domain_key(int64_t global, int64_t domain)
{
    uint64_t process = (uint64_t)(global >> NSYS_TID_BITS) * UINT64_C(0x9e3779b97f4a7c15);
    return (process ^ (uint64_t)domain) << 1 | 1;
}

/* Categories are numbered within each domain. */
static uint64_t category_key(uint64_t domain, int64_t category)
{
    return (domain ^ (uint64_t)category << 32) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* Takes the NVTX_EVENTS rows that name domains and categories. */
static int take_domain(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    int64_t type = sqlite3_column_int64(row, 0);
    uint64_t key = domain_key(sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2));
    (void)table;
    if (type != NSYS_DOMAIN && type != NSYS_CATEGORY)
        return 0;
    uint32_t text = nsys_text_at(nsys, row, 3), name = text ? text : nsys_text_at(nsys, row, 4);
    if (!name)
        return 0;
    if (type == NSYS_DOMAIN)
        return map64_put(&nsys->domains, key, name);
    return map64_put(&nsys->categories, category_key(key, sqlite3_column_int64(row, 5)), name);
}

static int take_process_name(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    int64_t global = sqlite3_column_int64(row, 0);
    const struct import_id id = {.number = global >> NSYS_TID_BITS & NSYS_TID_MASK};
    int64_t process = import_process_find(nsys->sink, &id);
    const char *path = (const char *)sqlite3_column_text(row, 1);
    (void)table;
    if (process >= 0 && path && *path)
        trace_process(nsys->sink->trace, (uint32_t)process)->name =
            import_text(nsys->sink, text_base_name(path));
    return 0;
}

static int take_thread_name(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    const uint64_t *found = map64_find(&nsys->threads, key_of(sqlite3_column_int64(row, 0)));
    uint32_t name = nsys_text_at(nsys, row, 1);
    (void)table;
    if (found && name)
        trace_thread(nsys->sink->trace, (uint32_t)*found)->name = name;
    return 0;
}

/* ---- NVTX ------------------------------------------------------------------------------------ */

/* start, end, globalTid, eventType, text, @textId, domainId, endGlobalTid, color, int64Value,
 * doubleValue, uint64Value, category, jsonText, @jsonTextId */
static void take_payload(struct event *event, sqlite3_stmt *row)
{
    if (!nsys_is_null(row, 9)) {
        event->value_kind = VALUE_INT64;
        event->value.int64 = sqlite3_column_int64(row, 9);
    } else if (!nsys_is_null(row, 10)) {
        event->value_kind = VALUE_DOUBLE;
        event->value.float64 = sqlite3_column_double(row, 10);
    } else if (!nsys_is_null(row, 11)) {
        event->value_kind = VALUE_UINT64;
        event->value.uint64 = (uint64_t)sqlite3_column_int64(row, 11);
    }
    if (!nsys_is_null(row, 8)) {
        event->color = (uint32_t)sqlite3_column_int64(row, 8);
        event->flags |= EVENT_HAS_COLOR;
    }
}

static int take_values(struct nsys *nsys, sqlite3_stmt *row)
{
    int column = nsys_is_null(row, 13) ? 14 : 13;
    const char *json = (const char *)sqlite3_column_text(row, column);
    int size = sqlite3_column_bytes(row, column);
    return json && size > 0 ? nsys_take_json(nsys, json, (size_t)size) : 0;
}

static uint32_t scope_of_domain(struct nsys *nsys, sqlite3_stmt *row)
{
    uint64_t key = domain_key(sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 6));
    const uint64_t *name = map64_find(&nsys->domains, key);
    const uint64_t *category =
        nsys_is_null(row, 12)
            ? NULL
            : map64_find(&nsys->categories, category_key(key, sqlite3_column_int64(row, 12)));
    const struct scope scope = {.domain = name ? (uint32_t)*name : 0,
                                .category = category ? (uint32_t)*category : 0};
    return import_scope(nsys->sink, &scope);
}

static int take_start_end(struct nsys *nsys, struct event *event, sqlite3_stmt *row)
{
    struct event end = {.kind = EVENT_END, .time_ns = event->end_ns, .thread = event->thread};
    event->kind = EVENT_START;
    event->id = end.id = ++nsys->ranges;
    event->end_ns = 0;
    int error = add(nsys, event);
    if (error || end.time_ns == INT64_MAX)
        return error;
    if (!nsys_is_null(row, 7))
        end.thread = nsys_thread_of(nsys, sqlite3_column_int64(row, 7));
    return import_add(nsys->sink, &end, NULL);
}

static int take_nvtx(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    int64_t type = sqlite3_column_int64(row, 3), global = sqlite3_column_int64(row, 2);
    struct event event = {.kind = type == NSYS_MARK ? EVENT_MARK : EVENT_PUSH};
    (void)table;
    if (type != NSYS_MARK && type != NSYS_PUSH_POP && type != NSYS_START_END)
        return 0; /* names domains, categories and resources */
    if (!nsys_times_at(nsys, row, &event))
        return 0;
    nsys->args.count = 0;
    event.thread = nsys_thread_of(nsys, global);
    event.name = nsys_text_at(nsys, row, 4);
    if (!event.name)
        event.name = nsys_name_at(nsys, row, 5);
    event.scope = scope_of_domain(nsys, row);
    take_payload(&event, row);
    int error = take_values(nsys, row);
    if (error)
        return error;
    nsys->sink->left[LEFT_OPEN] += type != NSYS_MARK && event.end_ns == INT64_MAX;
    if (type == NSYS_START_END)
        return take_start_end(nsys, &event, row);
    if (type == NSYS_MARK)
        event.end_ns = 0;
    return add(nsys, &event);
}

/* ---- Calls of CUDA and of the operating system ----------------------------------------------- */

/* True for rows of annot's databases that are not calls. Names such as "[lock]" are waits: see
 * nsys_read_samples. */
static bool is_made_up(const struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, 3);
    if (!nsys->is_ours || !name)
        return false;
    if (!table->role)
        return name[0] == '[';
    return strcmp(name, NSYS_LAUNCH) == 0 &&
           sqlite3_column_int64(row, 0) == sqlite3_column_int64(row, 1);
}

/* start, end, globalTid, @nameId */
static int take_call(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    struct event event = {.kind = EVENT_PUSH};
    if (is_made_up(nsys, table, row) || !nsys_times_at(nsys, row, &event))
        return 0;
    nsys->args.count = 0;
    event.thread = nsys_thread_of(nsys, sqlite3_column_int64(row, 2));
    event.name = nsys_name_at(nsys, row, 3);
    event.scope = table->role ? nsys_scope(nsys, OBSERVER_CUPTI, table->role, NULL)
                              : nsys_scope(nsys, 0, 0, "operating system");
    return add(nsys, &event);
}

/* ---- Work of GPUs ---------------------------------------------------------------------------- */

/* Columns common to all work tables; their own columns follow. */
#define WORK_COLUMNS "start", "end", "globalPid", "deviceId", "contextId", "streamId"

enum { WORK_OWN = 6 };

static void add_shape(struct nsys *nsys, sqlite3_stmt *row, const char *key, int column)
{
    char shape[SHAPE_SIZE];
    snprintf(shape, sizeof(shape), "%lld,%lld,%lld", (long long)sqlite3_column_int64(row, column),
             (long long)sqlite3_column_int64(row, column + 1),
             (long long)sqlite3_column_int64(row, column + 2));
    if (!nsys_is_null(row, column))
        nsys_add_arg(nsys, key,
                     (struct arg){.kind = VALUE_STRING,
                                  .value = {.string = import_text(nsys->sink, shape)}});
}

static void nsys_add_number(struct nsys *nsys, const char *key, int64_t number)
{
    nsys_add_arg(nsys, key, (struct arg){.kind = VALUE_INT64, .value = {.int64 = number}});
}

/* Names a new queue lane and its device lane. */
static void nsys_name_lanes(struct nsys *nsys, const struct import_lanes *lanes, int64_t device,
                            const char *queue)
{
    char text[256];
    const uint64_t *found = map64_find(&nsys->devices, key_of(device));
    const char *name = found ? trace_string(nsys->sink->trace, (uint32_t)*found)->bytes : "";
    snprintf(text, sizeof(text), "GPU %lld%s%s", (long long)device, *name ? ": " : "", name);
    import_lanes_name(nsys->sink, lanes, import_text(nsys->sink, queue),
                      import_text(nsys->sink, text));
}

static void name_lanes(struct nsys *nsys, const struct import_lanes *lanes,
                       const struct import_work *work)
{
    char queue[64];
    snprintf(queue, sizeof(queue), "stream %lld", (long long)work->stream);
    nsys_name_lanes(nsys, lanes, work->device, queue);
}

static struct import_work work_at(sqlite3_stmt *row, int launch)
{
    return (struct import_work){.device = sqlite3_column_int64(row, 3),
                                .context = sqlite3_column_int64(row, 4),
                                .stream = sqlite3_column_int64(row, 5),
                                .has_launch = !nsys_is_null(row, launch),
                                .launch_ns = sqlite3_column_int64(row, launch)};
}

/* `launch` is the column with the start of the launch. */
static int add_work(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row,
                    struct event *event, int launch)
{
    struct import_lanes lanes;
    const struct import_work work = work_at(row, launch);
    event->thread =
        nsys_thread_of(nsys, sqlite3_column_int64(row, work.has_launch ? launch + 1 : 2));
    event->scope = nsys_scope(nsys, OBSERVER_CUPTI, table->role, NULL);
    event->arg_count = (uint16_t)nsys->args.count;
    if (nsys->sink->error)
        return nsys->sink->error;
    int error = import_work(nsys->sink, &work, event, nsys->args.items, &lanes);
    if (error == 0 && lanes.is_new)
        name_lanes(nsys, &lanes, &work);
    return error;
}

/* Work without an end is malformed. */
static bool begin_work(struct nsys *nsys, sqlite3_stmt *row, struct event *event)
{
    nsys->args.count = 0;
    if (!nsys_times_at(nsys, row, event))
        return false;
    nsys->sink->left[LEFT_MALFORMED] += event->end_ns == INT64_MAX;
    return event->end_ns != INT64_MAX;
}

static int take_kernel(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    struct event event = {0};
    if (!begin_work(nsys, row, &event))
        return 0;
    event.name = nsys_text_at(nsys, row, WORK_OWN);
    if (!event.name)
        event.name = nsys_name_at(nsys, row, WORK_OWN + 1);
    add_shape(nsys, row, QUEUE_KEY_GRID, WORK_OWN + 2);
    add_shape(nsys, row, QUEUE_KEY_BLOCK, WORK_OWN + 5);
    if (!nsys_is_null(row, WORK_OWN + 8))
        nsys_add_number(nsys, QUEUE_KEY_REGISTERS, sqlite3_column_int64(row, WORK_OWN + 8));
    if (!nsys_is_null(row, WORK_OWN + 10))
        nsys_add_number(nsys, QUEUE_KEY_SHARED,
                        (int64_t)sqlite3_column_int(row, WORK_OWN + 9) +
                            sqlite3_column_int(row, WORK_OWN + 10));
    return add_work(nsys, table, row, &event, WORK_OWN + 11);
}

/* graphId */
static int take_graph(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    struct event event = {.name = import_text(nsys->sink, "graph")};
    if (!begin_work(nsys, row, &event))
        return 0;
    if (!nsys_is_null(row, WORK_OWN))
        nsys_add_number(nsys, QUEUE_KEY_GRAPH, sqlite3_column_int64(row, WORK_OWN));
    return add_work(nsys, table, row, &event, WORK_OWN + 1);
}

/* syncType */
static int take_wait(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    struct event event = {0};
    int64_t kind = sqlite3_column_int64(row, WORK_OWN);
    const struct import_work work = work_at(row, WORK_OWN + 1);
    if (!begin_work(nsys, row, &event))
        return 0;
    bool known = kind > 0 && kind < NSYS_WAIT_KINDS;
    event.name = import_text(nsys->sink, nsys_wait_kinds[known ? kind : 0]);
    event.thread =
        nsys_thread_of(nsys, sqlite3_column_int64(row, work.has_launch ? WORK_OWN + 2 : 2));
    event.scope = nsys_scope(nsys, OBSERVER_CUPTI, table->role, NULL);
    return nsys->sink->error ? nsys->sink->error : import_wait(nsys->sink, &work, &event);
}

static const char *direction_of(int64_t kind)
{
    return kind > 0 && kind < NSYS_COPY_KINDS ? nsys_copy_kinds[kind] : NULL;
}

/* bytes; for copies also copyKind */
static int take_memory(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
{
    struct event event = {0};
    char name[32] = "Memset";
    if (!begin_work(nsys, row, &event))
        return 0;
    if (table->role == QUEUE_ROLE_COPY) {
        const char *direction = direction_of(sqlite3_column_int64(row, WORK_OWN + 1));
        snprintf(name, sizeof(name), "Memcpy%s%s", direction ? " " : "",
                 direction ? direction : "");
        if (direction)
            nsys_add_arg(nsys, QUEUE_KEY_DIRECTION,
                         (struct arg){.kind = VALUE_STRING,
                                      .value = {.string = import_text(nsys->sink, direction)}});
    }
    event.name = import_text(nsys->sink, name);
    if (!nsys_is_null(row, WORK_OWN))
        nsys_add_number(nsys, QUEUE_KEY_BYTES, sqlite3_column_int64(row, WORK_OWN));
    return add_work(nsys, table, row, &event, WORK_OWN + 2);
}

/* ---- The tables ------------------------------------------------------------------------------ */

const struct nsys_table nsys_tables[] = {
    {.name = NSYS_EXPORT, .columns = {"name", "value"}, .take = take_product},
    {.name = NSYS_START_TIME, .columns = {"utcEpochNs"}, .take = take_start_time},
    {.name = NSYS_GPU, .columns = {"cuDevice", "id", "name"}, .take = take_device},
    {.name = NSYS_NVTX,
     .columns = {"eventType", "globalTid", "domainId", "text", "@textId", "category"},
     .take = take_domain},
    {.name = NSYS_NVTX,
     .columns = {"start", "end", "globalTid", "eventType", "text", "@textId", "domainId",
                 "endGlobalTid", "color", "int64Value", "doubleValue", "uint64Value", "category",
                 "jsonText", "@jsonTextId"},
     .take = take_nvtx},
    {.name = NSYS_OSRT, .columns = {"start", "end", "globalTid", "@nameId"}, .take = take_call},
    {.name = NSYS_CALLS,
     .columns = {"start", "end", "globalTid", "@nameId"},
     .take = take_call,
     .role = QUEUE_ROLE_CALL},
    {.name = "CUPTI_ACTIVITY_KIND_DRIVER",
     .columns = {"start", "end", "globalTid", "@nameId"},
     .take = take_call,
     .role = QUEUE_ROLE_CALL},
    {.name = NSYS_KERNELS,
     .columns = {WORK_COLUMNS, "@demangledName", "@shortName", "gridX", "gridY", "gridZ", "blockX",
                 "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
                 "dynamicSharedMemory"},
     .take = take_kernel,
     .is_work = true,
     .role = QUEUE_ROLE_KERNEL},
    {.name = NSYS_COPIES,
     .columns = {WORK_COLUMNS, "bytes", "copyKind"},
     .take = take_memory,
     .is_work = true,
     .role = QUEUE_ROLE_COPY},
    {.name = NSYS_SETS,
     .columns = {WORK_COLUMNS, "bytes", "memKind"},
     .take = take_memory,
     .is_work = true,
     .role = QUEUE_ROLE_SET},
    {.name = NSYS_GRAPHS,
     .columns = {WORK_COLUMNS, "graphId"},
     .take = take_graph,
     .is_work = true,
     .role = QUEUE_ROLE_GRAPH},
    {.name = NSYS_WAITS,
     .columns = {WORK_COLUMNS, "syncType"},
     .take = take_wait,
     .is_work = true,
     .role = QUEUE_ROLE_WAIT},
    {.name = NSYS_MEMORY,
     .columns = {"start", "start", "globalPid", "deviceId", "bytes", "memKind",
                 "memoryOperationType", "address", "name"},
     .take = nsys_take_usage,
     .is_work = true,
     .role = QUEUE_ROLE_MEMORY},
    {.name = NSYS_OVERHEAD,
     .columns = {"start", "end", "globalTid", "@nameId"},
     .take = nsys_take_overhead,
     .role = QUEUE_ROLE_OVERHEAD},
    {0},
};

const struct nsys_table nsys_names[] = {
    {.name = NSYS_PROCESSES, .columns = {"globalPid", "name"}, .take = take_process_name},
    {.name = NSYS_THREAD_NAMES, .columns = {"globalTid", "@nameId"}, .take = take_thread_name},
    {0},
};

/* ---- Memory of GPUs, and overhead of the profiler -------------------------------------------- */

#define KEY_KIND "memory"

#define KEY_HELD "held [bytes]"

#define KEY_ADDRESS "address"

enum { PROCESS = 2, DEVICE, BYTES, KIND, OPERATION, ADDRESS, VARIABLE, LAUNCH, LAUNCHER };

/* Pseudo stream number of the lane for a device's memory operations. */
#define MEMORY_LANE INT64_C(0xfffffffd)

/* Returns the bytes in use by a process, device and kind of memory. May see frees of memory
 * allocated before the report began. */
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

/* GPU memory allocations and frees: start, start, globalPid, deviceId, bytes, memKind,
 * memoryOperationType, address, name. */
static int nsys_take_usage(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
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

/* Profiler overhead on a thread: start, end, globalTid, @nameId. */
static int nsys_take_overhead(struct nsys *nsys, const struct nsys_table *table, sqlite3_stmt *row)
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
