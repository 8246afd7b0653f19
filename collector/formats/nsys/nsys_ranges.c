/* SPDX-License-Identifier: MIT */
/* Ranges and marks as rows of NVTX_EVENTS. Those of tracks and queues, which Nsight Systems does
 * not have, are ranges of start and end, as they may overlap; their lane is among the key-values.
 */
#include "export_rows.h"
#include "nsys_parts.h"

#include <errno.h>
#include <string.h>

/* Longer texts are in StringIds, once. Most queries of other people read `text` only. */
enum { TEXT_IN_ROW = 256 };

/* ---- Names of domains and categories --------------------------------------------------------- */

/* Each process has its own. */
static void put_name(struct nsys *nsys, const struct event *event, enum nsys_event_type type,
                     uint32_t name)
{
    const struct trace_string *text = trace_string(nsys->trace, name);
    uint32_t domain = trace_scope_domain(nsys->trace, event->scope);
    struct nsys_database *db = &nsys->db;
    bool is_category = type == NSYS_CATEGORY;
    nsys_begin_row(db, NSYS_TABLE_NVTX);
    nsys_put_time(nsys, event->time_ns);
    nsys_skip(db, 1);
    nsys_put(db, type);
    nsys_skip(db, 1);
    if (is_category)
        nsys_put(db, name);
    else
        nsys_skip(db, 1);
    nsys_skip(db, 1);
    nsys_put_lasting(db, text->bytes, text->length);
    nsys_put_who(nsys, nsys_thread(nsys, event->thread));
    nsys_skip(db, 2);
    nsys_put(db, domain);
    nsys_end_row(db);
}

/* Readers join with these rows, so there is one of each name in a process: `category` 0, of the
 * domain. */
static void name_once(struct nsys *nsys, const struct event *event, uint64_t process,
                      uint32_t category)
{
    uint32_t domain = trace_scope_domain(nsys->trace, event->scope);
    const struct wide_key *key = WIDE_KEY(process, domain, category);
    if (wide_map_find(&nsys->names, key))
        return;
    if (wide_map_put(&nsys->names, key, 1) != 0)
        nsys->db.error = -ENOMEM;
    if (category)
        put_name(nsys, event, NSYS_CATEGORY, category);
    else
        put_name(nsys, event, NSYS_DOMAIN, domain);
}

/* Domain 0 is the default one, scope 0 of neither. */
static void name_scope(struct nsys *nsys, const struct event *event)
{
    const struct trace_thread *thread = trace_thread_get(nsys->trace, event->thread);
    uint32_t category = trace_scope_category(nsys->trace, event->scope);
    uint64_t process = thread ? thread->process + UINT64_C(1) : 0;
    uint64_t key = process << 32 | (event->scope + UINT64_C(1));
    if (!event->scope || map64_find(&nsys->scopes, key))
        return;
    if (map64_put(&nsys->scopes, key, 1) != 0)
        nsys->db.error = -ENOMEM;
    if (trace_scope_domain(nsys->trace, event->scope))
        name_once(nsys, event, process, 0);
    if (category)
        name_once(nsys, event, process, category);
}

/* ---- Key-values ------------------------------------------------------------------------------ */

static bool has_column(const struct event *event)
{
    return event->value_kind == VALUE_INT64 || event->value_kind == VALUE_DOUBLE ||
           (event->value_kind == VALUE_UINT64 && event->value.uint64 <= INT64_MAX);
}

static bool has_lane(const struct item *item)
{
    return item->lane == LANE_TRACK || item->lane == LANE_QUEUE;
}

/* uint64Value, int64Value, doubleValue */
static void put_payload(struct nsys_database *db, const struct event *event)
{
    if (event->value_kind == VALUE_UINT64 && has_column(event)) {
        nsys_put(db, (int64_t)event->value.uint64);
        nsys_skip(db, 2);
    } else if (event->value_kind == VALUE_INT64) {
        nsys_skip(db, 1);
        nsys_put(db, event->value.int64);
        nsys_skip(db, 1);
    } else if (event->value_kind == VALUE_DOUBLE) {
        nsys_skip(db, 2);
        nsys_put_real(db, event->value.float64);
    } else {
        nsys_skip(db, 3);
    }
}

/* All that has no column, as one JSON object. */
static void put_json(struct nsys *nsys, const struct item *item)
{
    const struct event *event = item->event;
    struct json_doc doc = {.out = nsys->json};
    bool payload = event->value_kind && !has_column(event);
    char path[EXPORT_LABEL_SIZE];
    size_t length;
    if (!payload && !item->args.count && !has_lane(item))
        return;
    out_stream_memory_reset(nsys->json);
    json_doc_object(&doc, NULL);
    if (has_lane(item)) {
        trace_lane_path(nsys->trace, event->lane, path, sizeof(path));
        json_doc_text(&doc, item->lane == LANE_TRACK ? "track" : "queue", path);
    }
    if (payload) {
        json_doc_key(&doc, "payload", strlen("payload"), "");
        rows_put_value(&doc, nsys->trace, event->value_kind, event->value);
    }
    rows_put_values(&doc, nsys->trace, &item->args);
    json_doc_close(&doc);
    if (out_error(nsys->json))
        nsys->db.error = -ENOMEM;
    const char *bytes = (const char *)out_stream_memory_bytes(nsys->json, &length);
    nsys_put_text(&nsys->db, bytes, length);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void put_attributes(struct nsys *nsys, const struct event *event)
{
    uint32_t category = trace_scope_category(nsys->trace, event->scope);
    struct nsys_database *db = &nsys->db;
    if (category)
        nsys_put(db, category);
    else
        nsys_skip(db, 1);
    if (event->flags & EVENT_HAS_COLOR)
        nsys_put(db, event->color);
    else
        nsys_skip(db, 1);
}

static void put_row(struct nsys *nsys, const struct item *item, enum nsys_event_type type)
{
    const struct event *event = item->event;
    const struct trace_string *name = trace_string(nsys->trace, event->name);
    struct nsys_database *db = &nsys->db;
    bool in_row = !event->name || name->length <= TEXT_IN_ROW;
    int64_t text_id = in_row ? 0 : nsys_string(db, event->name);
    name_scope(nsys, event);
    nsys_begin_row(db, NSYS_TABLE_NVTX);
    nsys_put_time(nsys, event->time_ns);
    if (type == NSYS_MARK)
        nsys_skip(db, 1);
    else
        nsys_put_time(nsys, item->end_ns);
    nsys_put(db, type);
    if (type == NSYS_START_END && item->lane == LANE_PROCESS)
        nsys_put(db, (int64_t)event->id);
    else
        nsys_skip(db, 1);
    put_attributes(nsys, event);
    if (!event->name)
        nsys_put_lasting(db, EXPORT_UNNAMED, strlen(EXPORT_UNNAMED));
    else if (in_row)
        nsys_put_lasting(db, name->bytes, name->length);
    else
        nsys_skip(db, 1);
    nsys_put_who(nsys, nsys_thread(nsys, event->thread));
    if (type == NSYS_START_END && item->lane != LANE_QUEUE)
        nsys_put_who(nsys, nsys_thread(nsys, item->end_thread));
    else
        nsys_skip(db, 1);
    if (in_row)
        nsys_skip(db, 1);
    else
        nsys_put(db, text_id);
    nsys_put(db, trace_scope_domain(nsys->trace, event->scope));
    put_payload(db, event);
    nsys_skip(db, 4);
    put_json(nsys, item);
    nsys_end_row(db);
}

void nsys_take_range(struct nsys *nsys, const struct item *item)
{
    put_row(nsys, item, item->lane == LANE_THREAD ? NSYS_PUSH_POP : NSYS_START_END);
}

void nsys_take_mark(struct nsys *nsys, const struct item *item)
{
    put_row(nsys, item, NSYS_MARK);
}
