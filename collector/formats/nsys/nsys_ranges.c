/* SPDX-License-Identifier: MIT */
/* Ranges and marks as rows of NVTX_EVENTS. Nsight Systems has no tracks or queues: their ranges
 * become start-end ranges, as they may overlap, with the lane among the key-values. */
#include "nsys.h"

#include "code_owner.h"
#include "export_rows.h"
#include "nsys_database.h"
#include "nsys_shape.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Longer texts go to StringIds, once. Most third-party queries read only `text`. */
enum { TEXT_IN_ROW = 256 };

/* ---- Names of domains and categories --------------------------------------------------------- */

/* Domain and category names are written for each process. */
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

/* Readers join with these rows, so a process has one per name. `category` 0 names the domain. */
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

/* Domain 0 is the default; scope 0 has neither domain nor category. */
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

/* Writes all values without a column as one JSON object. */
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

/* ---- Samples, waits and switches of threads -------------------------------------------------- */

/* A sample of CPU time is a COMPOSITE_EVENT with that time as its count. A wait is an OSRT_API row
 * named by its reason, "[lock]"; it is not a call, and begin and end are those of the wait. The
 * runnable time after it is a separate row, "[runnable]". SCHED_EVENTS has the times at which the
 * thread left a CPU and returned. */

enum { DEPTH_MAX = 2048, STATE_RUNNING = 1, REASON_SIZE = 64 };

/* ---- Callchains ------------------------------------------------------------------------------ */

/* The binary or source file of a frame; 0 if unknown. */
static uint32_t module_of(const struct stacks *stacks, const struct frame *frame,
                          const struct label *label)
{
    uint32_t source = stacks_get_source(stacks, label->source)->path;
    uint32_t module =
        stacks_get_module(stacks, frame->module ? frame->module : label->module)->path;
    return frame->kind == FRAME_PYTHON || !module ? source : module;
}

static void put_frame(struct nsys *nsys, enum nsys_table table, int64_t chain, uint32_t ordinal,
                      uint32_t depth)
{
    const struct stacks *stacks = trace_stacks_get(nsys->trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    const struct label *label = stacks_get_label(stacks, frame->label);
    struct nsys_database *db = &nsys->db;
    uint32_t file = module_of(stacks, frame, label);
    int64_t symbol = label->text ? nsys_string(db, label->text) : nsys_text(db, "?");
    int64_t module = file ? nsys_string(db, file) : nsys_text(db, "[unknown]");
    nsys_begin_row(db, table);
    nsys_put(db, chain);
    nsys_put(db, symbol);
    nsys_put(db, module);
    nsys_put(db, frame->kind == FRAME_KERNEL);
    nsys_skip(db, 1);
    nsys_put(db, !label->text || label->flags & LABEL_PLACE);
    nsys_put(db, frame->kind == FRAME_NOTE);
    if (frame->address)
        nsys_put(db, (int64_t)frame->address);
    else
        nsys_skip(db, 1);
    nsys_skip(db, 1);
    nsys_put(db, depth);
    nsys_end_row(db);
}

/* The innermost frame is number 0. */
static void put_chain(struct nsys *nsys, enum nsys_table table, int64_t chain, uint32_t stack)
{
    uint32_t frames[DEPTH_MAX];
    uint32_t count = stack ? chosen_frames_get(&nsys->chosen, stack, frames, DEPTH_MAX) : 0;
    for (uint32_t i = 0; i < count && !nsys->db.error; i++)
        put_frame(nsys, table, chain, frames[count - 1 - i], i);
}

/* Waits with equal stacks share one chain. */
static bool put_shared_chain(struct nsys *nsys, uint32_t stack)
{
    if (!stack || stack >= nsys->stack_count)
        return false;
    if (!nsys->chains[stack])
        put_chain(nsys, NSYS_TABLE_OSRT_CHAINS, stack, stack);
    nsys->chains[stack] = 1;
    return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void put_sample(struct nsys *nsys, const struct sample *sample)
{
    struct nsys_database *db = &nsys->db;
    int64_t id = ++nsys->sample_count;
    nsys_begin_row(db, NSYS_TABLE_SAMPLES);
    nsys_put(db, id);
    nsys_put_time(nsys, sample->time_ns);
    nsys_put(db, sample->cpu);
    nsys_put(db, STATE_RUNNING);
    nsys_put_who(nsys, nsys_thread(nsys, sample->thread));
    nsys_put(db, (int64_t)sample_cpu_ns(trace_sets_get(nsys->trace), sample));
    nsys_end_row(db);
    put_chain(nsys, NSYS_TABLE_CHAINS, id, sample->stack);
}

/* Writes one part of a stretch. */
static void put_part(struct nsys *nsys, const struct sample *sample, const char *called,
                     int64_t begin_ns, uint64_t length_ns)
{
    struct nsys_database *db = &nsys->db;
    if (length_ns == 0)
        return;
    int64_t name = nsys_text(db, called);
    bool has_chain = put_shared_chain(nsys, sample->stack);
    nsys_begin_row(db, NSYS_TABLE_OSRT);
    nsys_put_time(nsys, begin_ns);
    nsys_put_time(nsys, begin_ns + (int64_t)length_ns);
    nsys_put(db, NSYS_CLASS_SYSTEM);
    nsys_put_who(nsys, nsys_thread(nsys, sample->thread));
    nsys_skip(db, 1);
    nsys_put(db, name);
    nsys_skip(db, 2);
    if (has_chain)
        nsys_put(db, sample->stack);
    nsys_end_row(db);
}

static void put_switch(struct nsys *nsys, const struct sample *sample, bool is_in)
{
    struct nsys_database *db = &nsys->db;
    nsys_begin_row(db, NSYS_TABLE_SWITCHES);
    nsys_put_time(nsys, is_in ? sample->end_ns : sample->time_ns);
    if (is_in) /* the CPU on which it resumes is not recorded */
        nsys_skip(db, 1);
    else
        nsys_put(db, sample->cpu);
    nsys_put(db, is_in);
    nsys_put_who(nsys, nsys_thread(nsys, sample->thread));
    nsys_end_row(db);
}

/* Ends cut off by the selection have no switch. */
static void put_stretch(struct nsys *nsys, const struct sample *sample)
{
    const struct pass_selection *selection = nsys->job->selection;
    const struct off_share share = sample_off_share(trace_sets_get(nsys->trace), sample);
    char reason[REASON_SIZE];
    snprintf(reason, sizeof(reason), "[%s]", wait_reason_name((enum wait_reason)sample->reason));
    put_part(nsys, sample, reason, sample->time_ns, share.blocked_ns);
    put_part(nsys, sample, NSYS_RUNNABLE, sample->time_ns + (int64_t)share.blocked_ns,
             share.runnable_ns);
    if (sample->time_ns > selection->from_ns)
        put_switch(nsys, sample, false);
    if (!(sample->flags & SAMPLE_UNFINISHED) && sample->end_ns < selection->to_ns)
        put_switch(nsys, sample, true);
}

void nsys_take_sample(struct nsys *nsys, const struct sample *sample)
{
    enum sample_role role = sample_role(trace_sets_get(nsys->trace), sample);
    if (role == SAMPLE_ROLE_CPU)
        put_sample(nsys, sample);
    else if (role == SAMPLE_ROLE_OFF_CPU)
        put_stretch(nsys, sample);
}
