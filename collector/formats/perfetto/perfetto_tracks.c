/* SPDX-License-Identifier: MIT */
/* Track descriptors. Order is written to every field the format has for it: rank among siblings,
 * and the older sort index. Labels of a process describe how it ended. Thread-safety: one thread
 * per object. */
#include "perfetto_tracks.h"

#include "call_label.h"
#include "gpu_work.h"
#include "perfetto_fields.h"
#include "perfetto_rows.h"
#include "perfetto_sequence.h"
#include "perfetto_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Launches -------------------------------------------------------------------------------- */

/* Numbers of arrows of flows are below. */
#define FIRST_ARROW (UINT64_C(1) << 62)

static int compare(const void *a, const void *b)
{
    const struct perfetto_launch *one = a, *other = b;
    if (one->thread != other->thread)
        return one->thread < other->thread ? -1 : 1;
    if (one->origin_ns != other->origin_ns)
        return one->origin_ns < other->origin_ns ? -1 : 1;
    return one->arrow < other->arrow ? -1 : one->arrow > other->arrow;
}

static bool is_same(const struct perfetto_launch *one, const struct perfetto_launch *other)
{
    return one->thread == other->thread && one->origin_ns == other->origin_ns;
}

static int place_all(struct perfetto_launches *launches)
{
    const struct perfetto_launch *items = launches->items.items;
    size_t count = launches->items.count;
    int status = 0;
    if (count > 1)
        qsort(launches->items.items, count, sizeof(*items), compare);
    for (size_t i = 0, end; !status && i < count; i = end) {
        for (end = i + 1; end < count && is_same(&items[i], &items[end]);)
            end++;
        status = launches->place(launches->context, &items[i], (uint32_t)(end - i));
    }
    launches->items.count = 0;
    return status;
}

/* The number of the arrow to a span goes to *ret_arrow; 0: its launch is unknown. 0, -ENOMEM, or
 * the result of `place`. */
static int perfetto_launches_add(struct perfetto_launches *launches, const struct event *span,
                                 uint64_t *ret_arrow)
{
    const struct perfetto_launch launch = {.origin_ns = span->origin_ns,
                                           .arrow = FIRST_ARROW + launches->arrow_count,
                                           .thread = span->thread};
    *ret_arrow = 0;
    if (span->origin_ns == EVENT_NO_ORIGIN)
        return 0;
    if (vec_push(&launches->items, launch) != 0)
        return -ENOMEM;
    launches->arrow_count++;
    *ret_arrow = launch.arrow;
    return launches->items.count < PERFETTO_LAUNCHES_MAX ? 0 : place_all(launches);
}

int perfetto_launches_finish(struct perfetto_launches *launches)
{
    return place_all(launches);
}

static void perfetto_launches_fini(struct perfetto_launches *launches)
{
    vec_free(&launches->items);
}

enum {
    RANGE_GROUPS_MAX = 1024, /* further names share a track with "other ranges" */
    RANK_RANGES = 1,         /* below a process: ranges, then tracks, then counters */
    CHILD_LABEL_SIZE = EXPORT_LABEL_SIZE + 16,
    PATH_SIZE = 2048, /* of ranges */
};

uint64_t perfetto_process_uuid(uint32_t process)
{
    return 1u + (uint64_t)process;
}

uint64_t perfetto_thread_uuid(const struct perfetto_tracks *tracks, uint32_t thread)
{
    return 1u + (uint64_t)trace_process_count(tracks->px->trace) + thread;
}

struct proto_writer *perfetto_track_begin(struct perfetto_tracks *tracks, uint64_t uuid)
{
    struct proto_writer *packet = perfetto_packet_begin(tracks->px);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, tracks->session->id);
    proto_begin(packet, PX_PACKET_TRACK_DESCRIPTOR);
    proto_uint(packet, PX_TRACK_UUID, uuid);
    return packet;
}

void perfetto_track_end(struct perfetto_tracks *tracks)
{
    proto_end(&tracks->px->packet);
    perfetto_packet_end(tracks->px);
}

/* The root track: declares that processes and threads are explicitly ordered. */
static void describe_root(struct perfetto_tracks *tracks)
{
    struct proto_writer *packet = perfetto_track_begin(tracks, 0);
    proto_uint(packet, PX_TRACK_PROCESS_ORDERING, PX_PROCESSES_EXPLICIT);
    proto_uint(packet, PX_TRACK_THREAD_ORDERING, PX_THREADS_EXPLICIT);
    perfetto_track_end(tracks);
}

static void describe_process(struct perfetto_tracks *tracks, uint32_t process)
{
    const struct trace *trace = tracks->px->trace;
    const struct trace_process *entry = trace_process_get(trace, process);
    const struct trace_string *cmdline = trace_string(trace, entry->cmdline);
    char label[EXPORT_LABEL_SIZE], note[EXPORT_NOTE_SIZE];
    uint32_t rank = tracks->ids->process_rank[process];
    size_t length = trace_process_label(trace, process, label, sizeof(label));
    struct proto_writer *packet = perfetto_track_begin(tracks, perfetto_process_uuid(process));
    proto_uint(packet, PX_TRACK_CHILD_ORDERING, PX_CHILDREN_EXPLICIT);
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK, rank);
    proto_begin(packet, PX_TRACK_PROCESS);
    proto_uint(packet, PX_PROCESS_PID, tracks->ids->pids[process]);
    proto_bytes(packet, PX_PROCESS_NAME, label, length);
    proto_uint(packet, PX_PROCESS_LEGACY_SORT_INDEX, rank);
    if (cmdline->length)
        proto_bytes(packet, PX_PROCESS_CMDLINE, cmdline->bytes, cmdline->length);
    if (entry->start_ns && entry->start_ns > tracks->px->origin_ns)
        perfetto_put_time(tracks->px, PX_PROCESS_START_TIMESTAMP_NS, entry->start_ns);
    for (unsigned i = 0; (length = export_process_note(tracks->ids, trace, process, i, note)); i++)
        proto_bytes(packet, PX_PROCESS_LABELS, note, length);
    proto_end(packet);
    perfetto_track_end(tracks);
}

static void describe_thread(struct perfetto_tracks *tracks, uint32_t thread)
{
    const struct trace *trace = tracks->px->trace;
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    bool known = trace_process_get(trace, entry->process) != NULL;
    uint32_t rank = tracks->ids->thread_rank[thread], tid = tracks->ids->tids[thread];
    char label[EXPORT_LABEL_SIZE];
    size_t length = export_thread_label(tracks->ids, trace, thread, label);
    struct proto_writer *packet =
        perfetto_track_begin(tracks, perfetto_thread_uuid(tracks, thread));
    if (known)
        proto_uint(packet, PX_TRACK_PARENT_UUID, perfetto_process_uuid(entry->process));
    proto_uint(packet, PX_TRACK_CHILD_ORDERING, PX_CHILDREN_EXPLICIT);
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK, rank);
    proto_begin(packet, PX_TRACK_THREAD);
    proto_uint(packet, PX_THREAD_PID, known ? tracks->ids->pids[entry->process] : tid);
    proto_uint(packet, PX_THREAD_TID, tid);
    proto_uint(packet, PX_THREAD_LEGACY_SORT_INDEX, rank);
    proto_bytes(packet, PX_THREAD_NAME, label, length);
    proto_end(packet);
    perfetto_track_end(tracks);
}

static void describe_system(struct perfetto_tracks *tracks)
{
    const struct trace *trace = tracks->px->trace;
    const struct trace_string *kernel = trace_string(trace, trace_session_get(trace)->kernel);
    struct proto_writer *packet = perfetto_packet_begin(tracks->px);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, tracks->session->id);
    proto_begin(packet, PX_PACKET_SYSTEM_INFO);
    proto_begin(packet, PX_SYSTEM_UTSNAME);
    proto_text(packet, PX_UTSNAME_SYSNAME, "Linux");
    proto_bytes(packet, PX_UTSNAME_RELEASE, kernel->bytes, kernel->length);
    proto_end(packet);
    proto_end(packet);
    perfetto_packet_end(tracks->px);
}

void perfetto_describe_all(struct perfetto_tracks *tracks)
{
    const struct trace *trace = tracks->px->trace;
    uint32_t processes = trace_process_count(trace), threads = trace_thread_count(trace);
    tracks->next_uuid = perfetto_thread_uuid(tracks, threads);
    describe_system(tracks);
    describe_root(tracks);
    for (uint32_t i = 0; i < processes; i++)
        describe_process(tracks, tracks->ids->order[i]);
    for (uint32_t i = 0; i < threads; i++)
        describe_thread(tracks, i);
}

static void put_fact(void *context, const struct fact *fact)
{
    perfetto_put_argument(context, fact);
}

static struct proto_writer *begin_session_event(struct perfetto_tracks *tracks, int64_t time_ns,
                                                uint64_t uuid, uint32_t type)
{
    struct proto_writer *packet = perfetto_packet_begin(tracks->px);
    perfetto_put_time(tracks->px, PX_PACKET_TIMESTAMP, time_ns);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, tracks->session->id);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    proto_begin(packet, PX_PACKET_TRACK_EVENT);
    proto_uint(packet, PX_EVENT_TYPE, type);
    proto_uint(packet, PX_EVENT_TRACK_UUID, uuid);
    return packet;
}

static void describe_session(struct perfetto_tracks *tracks)
{
    uint32_t pid = tracks->session_pid = tracks->ids->next_synthetic++;
    uint32_t rank = trace_process_count(tracks->px->trace);
    uint64_t process_uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, process_uuid);
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK, rank);
    proto_begin(packet, PX_TRACK_PROCESS);
    proto_uint(packet, PX_PROCESS_PID, pid);
    proto_text(packet, PX_PROCESS_NAME, "annot");
    proto_uint(packet, PX_PROCESS_LEGACY_SORT_INDEX, rank);
    proto_end(packet);
    perfetto_track_end(tracks);
    tracks->session_uuid = tracks->next_uuid++;
    packet = perfetto_track_begin(tracks, tracks->session_uuid);
    proto_uint(packet, PX_TRACK_PARENT_UUID, process_uuid);
    proto_begin(packet, PX_TRACK_THREAD);
    proto_uint(packet, PX_THREAD_PID, pid);
    proto_uint(packet, PX_THREAD_TID, pid);
    proto_text(packet, PX_THREAD_NAME, "all processes");
    proto_end(packet);
    perfetto_track_end(tracks);
}

void perfetto_begin_session(struct perfetto_tracks *tracks)
{
    const struct trace *trace = tracks->px->trace;
    describe_session(tracks);
    struct proto_writer *packet =
        begin_session_event(tracks, trace_begin_ns(trace), tracks->session_uuid, PX_SLICE_BEGIN);
    proto_text(packet, PX_EVENT_NAME, session_title(trace));
    session_facts(trace, put_fact, tracks->px);
    perfetto_track_end(tracks);
}

void perfetto_end_session(struct perfetto_tracks *tracks, uint64_t cut_flows)
{
    const struct trace *trace = tracks->px->trace;
    int64_t begin_ns = trace_begin_ns(trace), end_ns = session_end_ns(trace);
    const struct fact cut = {
        .name = "flows_cut", .kind = VALUE_UINT64, .value = {.uint64 = cut_flows}};
    begin_session_event(tracks, end_ns > begin_ns ? end_ns : begin_ns, tracks->session_uuid,
                        PX_SLICE_END);
    if (cut_flows)
        put_fact(tracks->px, &cut);
    perfetto_track_end(tracks);
}

/* ---- Shelves --------------------------------------------------------------------------------- */

static uint32_t process_of(const struct perfetto_tracks *tracks, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(tracks->px->trace, thread);
    return entry ? entry->process : UINT32_MAX;
}

static uint64_t key_of(const struct perfetto_tracks *tracks, const struct event *event,
                       uint32_t name)
{
    return ((uint64_t)process_of(tracks, event->thread) + 1) << 32 | name;
}

static uint64_t describe_shelf(struct perfetto_tracks *tracks, const struct perfetto_shelves *group)
{
    const struct trace_string *name = trace_string(tracks->px->trace, group->name);
    uint64_t uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, uuid);
    proto_uint(packet, PX_TRACK_PARENT_UUID, group->parent_uuid);
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK, group->rank);
    if (group->name)
        proto_bytes(packet, PX_TRACK_NAME, name->bytes, name->length);
    else
        proto_text(packet, PX_TRACK_NAME, group->text);
    perfetto_track_end(tracks);
    return uuid;
}

static int take_shelf(struct perfetto_tracks *tracks, struct perfetto_shelves *group,
                      int64_t start_ns, int64_t end_ns, uint64_t *ret_uuid)
{
    int64_t shelf = shelves_take(&group->shelves, start_ns, end_ns);
    if (shelf < 0)
        return (int)shelf;
    if (shelf >= group->uuid_count) { /* shelves are opened in sequence */
        uint64_t *uuids = realloc(group->uuids, ((size_t)shelf + 1) * sizeof(*uuids));
        if (!uuids)
            return -ENOMEM;
        group->uuids = uuids;
        group->uuids[group->uuid_count++] = describe_shelf(tracks, group);
    }
    *ret_uuid = group->uuids[shelf];
    return 0;
}

/* The group of a key; a new one is a copy of `model`. NULL: out of memory. */
static struct perfetto_shelves *find_group(struct perfetto_tracks *tracks, uint64_t key,
                                           const struct perfetto_shelves *model)
{
    const uint64_t *found = map64_find(&tracks->shelves_by_key, key);
    if (found)
        return &tracks->shelves.items[*found];
    if (vec_push(&tracks->shelves, *model) < 0 ||
        map64_put(&tracks->shelves_by_key, key, tracks->shelves.count - 1) < 0)
        return NULL;
    return &tracks->shelves.items[tracks->shelves.count - 1];
}

int perfetto_range_track(struct perfetto_tracks *tracks, const struct event *begin, int64_t end_ns,
                         uint64_t *ret_uuid)
{
    uint64_t key = key_of(tracks, begin, begin->name);
    struct perfetto_shelves model = {
        .parent_uuid = perfetto_process_uuid(process_of(tracks, begin->thread)),
        .name = begin->name,
        .text = "other ranges",
        .rank = RANK_RANGES + (uint32_t)tracks->shelves.count,
    };
    if (tracks->shelves.count >= RANGE_GROUPS_MAX && !map64_find(&tracks->shelves_by_key, key)) {
        key = key_of(tracks, begin, 0);
        model.name = 0;
    }
    struct perfetto_shelves *group = find_group(tracks, key, &model);
    return group ? take_shelf(tracks, group, begin->time_ns, end_ns, ret_uuid) : -ENOMEM;
}

int perfetto_lost_track(struct perfetto_tracks *tracks, const struct event *lost,
                        uint64_t *ret_uuid)
{
    struct perfetto_shelves model = {
        .parent_uuid = perfetto_thread_uuid(tracks, lost->thread),
        .text = "lost",
    };
    /* Ranges have a process in the upper half. */
    struct perfetto_shelves *group = find_group(tracks, lost->thread + 1ull, &model);
    return group ? take_shelf(tracks, group, lost->time_ns, lost->end_ns, ret_uuid) : -ENOMEM;
}

static size_t child_label(const struct perfetto_tracks *tracks, uint32_t thread, const char *name,
                          char *buffer)
{
    size_t length = export_row_label(tracks->ids, tracks->px->trace, thread, buffer);
    return length + (size_t)snprintf(buffer + length, CHILD_LABEL_SIZE - length, ": %s", name);
}

uint64_t perfetto_thread_child(struct perfetto_tracks *tracks, uint32_t thread,
                               enum perfetto_child child)
{
    static const char *const names[] = {
        [PERFETTO_RANGES] = "ranges", [PERFETTO_STACKS] = "stacks", [PERFETTO_STATE] = "run state"};
    char label[CHILD_LABEL_SIZE];
    size_t length = child_label(tracks, thread, names[child], label);
    uint64_t uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, uuid);
    proto_uint(packet, PX_TRACK_PARENT_UUID, perfetto_thread_uuid(tracks, thread));
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK, RANK_RANGES + (uint32_t)child);
    proto_bytes(packet, PX_TRACK_NAME, label, length);
    perfetto_track_end(tracks);
    return uuid;
}

void perfetto_tracks_fini(struct perfetto_tracks *tracks)
{
    for (size_t i = 0; i < tracks->shelves.count; i++) {
        shelves_fini(&tracks->shelves.items[i].shelves);
        free(tracks->shelves.items[i].uuids);
    }
    vec_free(&tracks->shelves);
    map64_free(&tracks->shelves_by_key);
}

/* ---- Tracks of the recording ----------------------------------------------------------------- */

/* Facts of an item on a queue, in addition to those of all tracks. */
struct queue_facts {
    struct track_facts track;
    struct fact items[10];
    char path[PATH_SIZE], place[CALL_LABEL_SIZE];
};

/* Children of a group are below its first shelf: the reader puts tracks of one name together only
 * if they have the same parent. */
static int describe_group(void *context, uint32_t group, int64_t time_ns, uint64_t *ret_id)
{
    struct perfetto_groups *groups = context;
    struct perfetto_tracks *tracks = groups->tracks;
    const struct track_group *entry = &groups->groups.groups.items[group];
    struct trace_string label = track_group_label(&groups->groups, group);
    uint64_t parent = 0;
    if (entry->parent) {
        int error = track_group_id(&groups->groups, entry->parent - 1, time_ns, &parent);
        if (error)
            return error;
    } else if (entry->process < trace_process_count(tracks->px->trace)) {
        parent = perfetto_process_uuid(entry->process);
    }
    uint64_t uuid = tracks->next_uuid++;
    struct proto_writer *packet = perfetto_track_begin(tracks, uuid);
    if (parent)
        proto_uint(packet, PX_TRACK_PARENT_UUID, parent);
    proto_uint(packet, PX_TRACK_CHILD_ORDERING, PX_CHILDREN_EXPLICIT);
    proto_uint(packet, PX_TRACK_SIBLING_ORDER_RANK, PERFETTO_RANK_TRACKS + group);
    proto_bytes(packet, PX_TRACK_NAME, label.bytes, label.length);
    perfetto_track_end(tracks);
    *ret_id = uuid;
    return tracks->px->error;
}

int perfetto_groups_init(struct perfetto_groups *groups, struct perfetto_tracks *tracks)
{
    groups->tracks = tracks;
    groups->groups.describe = describe_group;
    groups->groups.context = groups;
    return track_groups_init(&groups->groups, tracks->px->trace);
}

void perfetto_groups_fini(struct perfetto_groups *groups)
{
    track_groups_fini(&groups->groups);
    perfetto_launches_fini(&groups->launches);
}

static int put_on_track(struct perfetto_groups *groups, const struct perfetto_event *event)
{
    perfetto_put(groups->tracks->px, groups->tracks->session, event);
    return groups->tracks->px->error;
}

static int put_begin_at(struct perfetto_groups *groups, const struct item *item, uint64_t uuid)
{
    const struct event *begin = item->event;
    struct track_facts facts;
    track_facts_init(&facts, &groups->groups, groups->tracks->ids, begin, item->depth);
    return put_on_track(groups, &(struct perfetto_event){.time_ns = begin->time_ns,
                                                         .type = PX_SLICE_BEGIN,
                                                         .track_uuid = uuid,
                                                         .event = begin,
                                                         .values = &item->args,
                                                         .arguments = facts.items});
}

static int put_begin(struct perfetto_groups *groups, const struct item *item)
{
    uint64_t uuid;
    int error = track_groups_open(&groups->groups, item->event, item->depth, &uuid);
    return error ? error : put_begin_at(groups, item, uuid);
}

static int put_end_at(struct perfetto_groups *groups, const struct item *item, uint64_t uuid)
{
    struct end_facts facts;
    const struct args values = item_end_args(item);
    end_facts_init(&facts, groups->tracks->ids, item);
    return put_on_track(groups, &(struct perfetto_event){.time_ns = item->end_ns,
                                                         .type = PX_SLICE_END,
                                                         .track_uuid = uuid,
                                                         .values = &values,
                                                         .arguments = facts.items});
}

static int put_end(struct perfetto_groups *groups, const struct item *item)
{
    uint64_t uuid;
    int error =
        track_groups_close(&groups->groups, item->event->lane, item->depth, item->end_ns, &uuid);
    return error ? error : put_end_at(groups, item, uuid);
}

/* The ranges that its thread had open at the launch, and the place in code. */
static void add_launch_facts(const struct perfetto_groups *groups, const struct item *item,
                             struct queue_facts *facts)
{
    const struct trace *trace = groups->tracks->px->trace;
    struct fact *at = facts->items;
    for (const struct fact *from = facts->track.items; from->name; from++)
        *at++ = *from;
    if (item->path) {
        gpu_path_text(trace, item->path, facts->path, sizeof(facts->path));
        *at++ = (struct fact){.name = "launched in", .kind = VALUE_STRING, .text = facts->path};
    }
    uint32_t frame = item->stack ? perfetto_innermost(trace, item->stack) : 0;
    if (frame) {
        call_frame_label(trace, frame, groups->prefixes, facts->place, sizeof(facts->place));
        *at++ = (struct fact){.name = "launched at", .kind = VALUE_STRING, .text = facts->place};
    }
    at->name = NULL;
}

/* On a queue, where items may overlap. */
static int put_whole(struct perfetto_groups *groups, const struct item *item)
{
    const struct event *begin = item->event;
    struct queue_facts facts;
    struct flow_place arrow = {0};
    uint64_t uuid;
    int error = track_groups_span(&groups->groups, item, &uuid);
    if (!error && begin->thread < trace_thread_count(groups->tracks->px->trace))
        error = perfetto_launches_add(&groups->launches, begin, &arrow.arrives);
    if (error)
        return error;
    track_facts_init(&facts.track, &groups->groups, groups->tracks->ids, begin, item->depth);
    add_launch_facts(groups, item, &facts);
    error = put_on_track(groups, &(struct perfetto_event){.time_ns = begin->time_ns,
                                                          .type = PX_SLICE_BEGIN,
                                                          .track_uuid = uuid,
                                                          .event = begin,
                                                          .values = &item->args,
                                                          .arguments = facts.items,
                                                          .flow = &arrow});
    return error ? error : put_end_at(groups, item, uuid);
}

static int put_mark(struct perfetto_groups *groups, const struct item *item)
{
    const struct event *mark = item->event;
    struct track_facts facts;
    uint64_t uuid;
    int error = track_groups_mark(&groups->groups, mark, item->depth, &uuid);
    if (error)
        return error;
    track_facts_init(&facts, &groups->groups, groups->tracks->ids, mark, item->depth);
    return put_on_track(groups, &(struct perfetto_event){.time_ns = mark->time_ns,
                                                         .type = PX_INSTANT,
                                                         .track_uuid = uuid,
                                                         .event = mark,
                                                         .values = &item->args,
                                                         .arguments = facts.items});
}

int perfetto_groups_take(struct perfetto_groups *groups, const struct item *item)
{
    switch (item->kind) {
    case ITEM_OPENED:
        return put_begin(groups, item);
    case ITEM_SPAN:
        return item->lane == LANE_QUEUE ? put_whole(groups, item) : put_end(groups, item);
    case ITEM_INSTANT:
        return put_mark(groups, item);
    default:
        return 0;
    }
}
