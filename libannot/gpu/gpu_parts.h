/* SPDX-License-Identifier: MIT */
/* The parts of libannot-gpu.so, which tells annot what GPUs of NVIDIA do, by CUPTI.
 *
 * The driver loads it at cuInit (CUDA_INJECTION64_PATH). It does nothing until ANNOT_GPU asks for a
 * window; in one, CUPTI fills buffers of ours, and a thread of ours turns what is in them into
 * spans. A launching thread pays for a callback: a few stores into a table, no lock, no memory.
 *
 * Whatever CUPTI writes is bounded by what is known here of its records, and counted when unknown.
 * Headers of CUPTI give types and places; the library's own version decides what is used of them.
 * Threads: said at each part. */
#ifndef ANNOT_GPU_PARTS_H
#define ANNOT_GPU_PARTS_H

#include "gpu_faults.h"
#include "gpu_plan.h"
#include "gpu_tell.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <limits.h>
#include <stdbool.h>

/* ---- CUPTI's functions (gpu_library.c) ---- */

/* Since CUDA 13.3, tools may use CUPTI side by side. */
#define CUPTI_SHARES 130300

/* CUpti_SubscriberParams; older headers have none, or one without the last field. */
struct gpu_subscriber_params {
    size_t struct_size;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t shares, padding[7];
};

typedef void(CUPTIAPI *gpu_requested_v2)(uint8_t **, size_t *, size_t *, void *);
typedef void(CUPTIAPI *gpu_completed_v2)(uint8_t *, size_t, size_t, void *);

#ifndef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
#define CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN 64
#endif

/* NULL: this version has no such function. Constant once gpu_library_find() has returned 0. */
struct cupti {
    __typeof__(cuptiGetVersion) *get_version;
    __typeof__(cuptiGetResultString) *get_result_string;
    __typeof__(cuptiSubscribe) *subscribe;
    CUptiResult (*subscribe_v2)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *,
                                struct gpu_subscriber_params *);
    __typeof__(cuptiUnsubscribe) *unsubscribe;
    __typeof__(cuptiEnableCallback) *enable_callback;
    __typeof__(cuptiGetCallbackName) *get_callback_name;
    __typeof__(cuptiActivityEnable) *activity_enable;
    __typeof__(cuptiActivityDisable) *activity_disable;
    __typeof__(cuptiActivityRegisterCallbacks) *register_callbacks;
    __typeof__(cuptiActivityRegisterTimestampCallback) *register_clock;
    __typeof__(cuptiActivityFlushAll) *flush_all;
    __typeof__(cuptiActivityGetNextRecord) *get_next_record;
    __typeof__(cuptiActivityGetNumDroppedRecords) *get_dropped;
    __typeof__(cuptiSetThreadIdType) *set_thread_id_type;
    __typeof__(cuptiGetGraphNodeId) *get_graph_node_id;
    __typeof__(cuptiGetStreamIdEx) *get_stream_id;
    __typeof__(cuptiGetTimestamp) *get_timestamp;
    CUptiResult (*enable_runtime_api)(CUpti_CallbackId, uint8_t); /* older headers lack it */
    __typeof__(cuptiActivityConfigureUnifiedMemoryCounter) *configure_unified;
    __typeof__(cuptiPCSamplingEnable) *pc_enable;
    __typeof__(cuptiPCSamplingDisable) *pc_disable;
    __typeof__(cuptiPCSamplingGetData) *pc_get_data;
    __typeof__(cuptiPCSamplingSetConfigurationAttribute) *pc_configure;
    __typeof__(cuptiPCSamplingGetNumStallReasons) *pc_count_reasons;
    __typeof__(cuptiPCSamplingGetStallReasons) *pc_get_reasons;
    /* Of one subscriber beside others; headers have them since CUDA 13.3. */
    CUptiResult (*activity_enable_v2)(CUpti_SubscriberHandle, CUpti_ActivityKind, void *);
    CUptiResult (*activity_disable_v2)(CUpti_SubscriberHandle, CUpti_ActivityKind, void *);
    CUptiResult (*register_callbacks_v2)(CUpti_SubscriberHandle, gpu_requested_v2,
                                         gpu_completed_v2);
    CUptiResult (*get_next_record_v2)(CUpti_SubscriberHandle, uint8_t *, size_t, CUpti_Activity **);
    CUptiResult (*get_dropped_v2)(CUpti_SubscriberHandle, CUcontext, uint32_t, size_t *);
    CUptiResult (*get_timestamp_v2)(CUpti_SubscriberHandle, uint64_t *);
    CUptiResult (*set_attribute_v2)(CUpti_SubscriberHandle, int, size_t *, void *);
    CUptiResult (*get_attribute_v2)(CUpti_SubscriberHandle, int, size_t *, void *);
    CUptiResult (*enable_runtime_api_v2)(CUpti_SubscriberHandle, CUpti_CallbackId, uint8_t);
    uint32_t version; /* CUPTI's own: 18 is CUDA 11.8's, 130000 is 13.0's */
    int driver;       /* 13000 is 13.0; 0: unknown */
    bool is_found;
    char path[PATH_MAX];
};

extern struct cupti cupti;

enum { GPU_NAME_SIZE = 256 };

/* Of a GPU by its number, as the driver says; "" or 0: it does not. */
void gpu_library_device(uint32_t device, char *text, size_t size);
void gpu_library_place(uint32_t device, char *text, size_t size); /* on the PCI bus */
int gpu_library_attribute(uint32_t device, CUdevice_attribute attribute);
uint64_t gpu_library_memory(uint32_t device); /* bytes */

/* Which device of the machine it is, whatever its number. */
struct gpu_identity {
    bool is_known;
    bool is_instance; /* of MIG: the UUID is its own, `card` that of the whole device */
    uint8_t uuid[16], card[16];
};

/* As the driver says; whether there is such a device. */
bool gpu_library_identity(uint32_t device, struct gpu_identity *ret_identity);

/* Finds the process's libcupti: the one that is mapped, else the one beside its libcudart, else by
 * its name in the loader's path; never a second. 0, or -errno with a line in `text`; then it may be
 * asked again, as the program may have loaded one. */
int gpu_library_find(char *text, size_t size);

/* What failed and how, as a line. */
void gpu_library_say(char *text, size_t size, const char *what, CUptiResult result);

/* Which of the tools that use CUPTI is in this process, by its library; NULL: none that is known.
 */
const char *gpu_library_of_tool(void);

/* ---- Records (gpu_records.c) ---- */

/* Records that are no spans; a kind is this or an enum gpu_kind. */
enum gpu_other {
    GPU_CONTEXT = GPU_KIND_COUNT, /* stream: its default one */
    GPU_DEVICE,
    GPU_RECORD_KINDS
};

/* What a kernel was launched as. All of it makes its name, so nothing is left between the fields.
 */
struct gpu_shape {
    const char *name;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t registers, shared_bytes;
    uint32_t
        shared_chosen;    /* shared memory of a multiprocessor, as the driver set it; 0: unknown */
    uint32_t local_bytes; /* of a thread */
    uint32_t graph;       /* 0: none */
    uint32_t device;
    int32_t priority;
    const char *captured_in; /* of a graph's; NULL */
};

/* Of a multiprocessor, and of the device. */
struct gpu_limits {
    uint32_t major, minor; /* compute capability */
    uint32_t warps, blocks, registers, shared_bytes;
    uint32_t multiprocessors;
    uint64_t memory_bytes;
};

struct gpu_record {
    uint8_t kind;
    bool is_driver; /* of a call; else of the runtime */
    uint32_t sort;  /* CUPTI's number of the kind of copy, wait, overhead, memory operation, ...; of
                       the call; of the event */
    uint64_t begin_ns, end_ns;
    uint32_t device, context, stream, correlation;
    uint32_t graph;               /* 0: none */
    uint32_t source, destination; /* kinds of memory */
    uint32_t thread;              /* the system's number, or 0 */
    uint32_t result;              /* of a call */
    uint64_t bytes;               /* of a copy or set, of memory */
    uint64_t node;                /* of a graph, that this is; 0: none */
    uint64_t address, pool;       /* of memory */
    struct gpu_shape shape;       /* of a kernel; the name is CUPTI's, may be NULL */
    struct gpu_limits limits;     /* of a device */
    struct gpu_identity identity; /* of a device; not known, if the record is too short for it */
    bool hidden;                  /* of a device: the program may not use it */
};

/* How a reader gets from record to record: cuptiActivityGetNextRecord, or a test's. */
typedef CUptiResult (*gpu_next_record)(uint8_t *buffer, size_t size, CUpti_Activity **record);

/* Hands out what is in a buffer, in its order. Whatever `next` answers, nothing beyond the buffer
 * is read. Returns how many records were of no known kind, or too short for theirs; and one where
 * `next` fails before the end, so that what follows is not known. */
uint64_t gpu_records_read(gpu_next_record next, uint8_t *buffer, size_t size,
                          void (*take)(void *context, const struct gpu_record *record),
                          void *context);

/* ---- Launches (gpu_launches.c) ---- */

/* Makes the table. 0 or -ENOMEM. Threads: that of the window. */
int gpu_launches_open(void);
/* A call begins that launches something or waits for it: on its thread. Cost: a time stamp and
 * three stores; and, if it launches, an atomic addition. */
void gpu_launch_begins(uint32_t correlation, bool launches);
/* It is over; it has failed; or it only added a node to a graph that is being captured. */
void gpu_launch_returned(void);
void gpu_launch_failed(uint32_t correlation);
void gpu_launch_captured(void);
/* Who called what has this number: 1, or 0: it is not known, or not any more. *ret_first: nothing
 * was asked for this call before. Threads: one. */
int gpu_launch_find(uint32_t correlation, struct gpu_origin *ret_origin, bool *ret_first);

/* A window begins: nothing is waited for that was launched before. */
void gpu_launches_begin(void);
/* The reader has the first activity of a launch that was counted. */
void gpu_launch_answered(void);
/* Some have none yet. Any thread. */
bool gpu_launches_pending(void);
/* How many were counted so far. Any thread. */
uint64_t gpu_launches_counted(void);

/* ---- Stacks of launches (gpu_stack.c) ---- */

/* The calling thread launches. Cost: a decrement; for one of many a call, which is a probe's. */
void gpu_stack_launched(const struct gpu_origin *origin, uint32_t correlation);

/* ---- Nodes of graphs (gpu_nodes.c) ---- */

/* The calling thread makes a node; a node is made as a copy of another, in another graph. */
void gpu_node_captured(uint64_t id);
void gpu_node_cloned(uint64_t id, uint64_t original);
/* The ranges that were open when it was captured: as gpu_tell_open() has them, equal ones at one
 * place, for ever. NULL: not known, or none. */
const char *gpu_node_ranges(uint64_t id);

/* ---- Buffers (gpu_buffers.c) ---- */

struct gpu_buffer {
    uint8_t *bytes;
    size_t valid; /* bytes */
    size_t dropped;
};

/* Makes the pool; once. 0 or -ENOMEM. */
int gpu_buffers_open(void);
/* CUPTI's callbacks: any thread, no lock. */
void CUPTIAPI gpu_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void CUPTIAPI gpu_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                   size_t valid);
/* Those that came back since the last call, the oldest first, until `take` has had all; then they
 * are free again. Threads: one. */
void gpu_buffers_drain(void (*take)(const struct gpu_buffer *buffer));
/* Counts what was lost where no buffer came back. */
void gpu_buffers_count_dropped(void);

/* ---- Key-values (gpu_values.c) ---- */

const char *gpu_key_text(uint8_t key);
/* Adds one; an empty text is left out, and so is what is too much. */
void gpu_values_number(struct gpu_values *values, enum gpu_key key, int64_t number);
void gpu_values_real(struct gpu_values *values, enum gpu_key key, double number);
void gpu_values_text(struct gpu_values *values, enum gpu_key key, const char *text);

/* ---- Threads (gpu_threads.c) ---- */

/* A window begins: what was entered before is not believed. */
void gpu_threads_begin(void);
/* The calling thread is this one of annot's. Any thread. */
void gpu_thread_met(const struct gpu_origin *here);
/* Of a number of the system: 1, or 0: it is not known. Threads: one. */
int gpu_thread_find(uint32_t system, struct gpu_origin *ret_origin);

/* ---- Streams and contexts (gpu_streams.c) ---- */

/* A call begins on its thread. Cost: a comparison, where its stream was seen lately. */
void gpu_stream_met(CUpti_CallbackId id, const CUpti_CallbackData *call);
/* It is about to be destroyed. */
void gpu_stream_gone(CUstream handle);
void gpu_context_met(uint32_t context, uint32_t default_stream);
/* What it is called by now. */
void gpu_stream_text(uint32_t context, uint32_t number, char *text, size_t size);
/* In a forked child: streams may be destroyed there, too. */
void gpu_streams_forget(void);

/* ---- Devices (gpu_devices.c) ---- */

void gpu_device_met(const struct gpu_record *record);
/* Percent of the warps that a multiprocessor may have; 0: not known. */
double gpu_device_occupancy(uint32_t device, const struct gpu_shape *shape);
void gpu_device_text(uint32_t device, char *text, size_t size);
/* Its text with what says which one it is, as gpu_tell_label(); 0: nobody knows. */
uint32_t gpu_device_label(uint32_t device);
/* Tells of it, once in a window. */
void gpu_device_tell(uint32_t device);
void gpu_devices_begin(void);

/* ---- Calls of the program (gpu_api.c) ---- */

/* Its name without what only a linker needs. Threads: one. */
uint32_t gpu_api_name(bool is_driver, uint32_t call);
/* Of calls that programs make all the time and that do nothing, no records are wanted. */
void gpu_api_leave_out(void);

/* ---- Memory (gpu_memory.c) ---- */

/* Names and values of what took memory, gave it back or moved it. Threads: one. */
uint32_t gpu_memory_name(const struct gpu_record *record, struct gpu_values *values);
const char *gpu_memory_kind(uint32_t kind);
/* A window begins: nothing is held of what was taken before. Any thread. */
void gpu_memory_begin(void);

/* ---- Spans of records (gpu_spans.c) ---- */

/* Tells annot what is in a buffer. Threads: one. */
void gpu_spans_tell(const struct gpu_buffer *buffer);

/* ---- Shapes of kernels (gpu_shapes.c) ---- */

/* Its name with all of it, as annot knows it. Where there is no room for that, the shape is added
 * to `values`, of the span, whose texts are valid until the next call. Threads: one. Cost: a hash
 * and a comparison once it is known. */
uint32_t gpu_shape_name(const struct gpu_shape *shape, struct gpu_values *values);
/* Somebody ended CUPTI, and its names with it. Any thread. */
void gpu_shapes_forget(void);

/* ---- The session (gpu_session.c) ---- */

/* Subscribes, and registers buffers and clock. 0, or -errno with a line in `text`. */
int gpu_session_open(CUpti_CallbackFunc on_call, char *text, size_t size);
void gpu_session_shut(void);
/* Whether another tool has CUPTI, too. */
bool gpu_session_is_shared(void);
/* Of the calls that are to be told of. */
void gpu_session_follow(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on);
/* A kind that this GPU or version has not is left out. */
void gpu_session_enable(CUpti_ActivityKind kind, bool on);
/* Of a call of the runtime no records are wanted. */
void gpu_session_leave_out(CUpti_CallbackId runtime_call);
/* Asks for buffers whose activities are complete; or, forced, for all. */
void gpu_session_flush(bool forced);

/* How many records were dropped since the last call. Any thread. */
size_t gpu_session_dropped(void);
/* As gpu_next_record: of the buffers of this session, before it is shut. Threads: one, as below. */
CUptiResult gpu_session_next(uint8_t *buffer, size_t size, CUpti_Activity **record);
/* By which clock its times are: enum gpu_clock; and an anchor of that, if it needs any. */
uint8_t gpu_session_clock(void);
void gpu_session_anchor(void);

/* ---- What is recorded of it (gpu_kinds.c) ---- */

void gpu_kinds_enable(bool on);
/* What is wanted beside work of the GPU: ANNOT_GPU_KINDS. */
void gpu_kinds_read(void);
/* In a window: kernels may overlap again, if it turned out that nothing samples them. */
void gpu_kinds_look(void);

struct gpu_wanted {
    bool runtime, driver; /* calls of these */
    bool events, unified; /* events of streams; memory that moves by itself */
    bool pc;              /* samples of the program counter */
    uint32_t pc_period;   /* one in 2^this cycles; 0: CUPTI chooses */
};

extern struct gpu_wanted gpu_wanted;

/* ---- What CUPTI says of samples of the program counter (gpu_pc_data.c) ---- */

enum { GPU_PC_REASONS = 128, GPU_PC_ROWS = 2048 };

/* Of a context. */
struct gpu_pc_reasons {
    size_t count;
    uint32_t indexes[GPU_PC_REASONS];
    char names[GPU_PC_REASONS][CUPTI_STALL_REASON_STRING_SIZE];
};

/* What CUPTI fills: `rows` records of `stride` bytes, each with a place for all reasons. */
struct gpu_pc_data {
    CUpti_PCSamplingData head;
    uint8_t *records;
    CUpti_PCSamplingStallReason *stalls;
    size_t stride, rows, reasons;
};

/* 0 or -ENOMEM. fini accepts what is zeroed. */
int gpu_pc_data_init(struct gpu_pc_data *data, uint32_t version, size_t rows, size_t reasons);
void gpu_pc_data_fini(struct gpu_pc_data *data);
/* Before CUPTI fills it. */
void gpu_pc_data_clear(struct gpu_pc_data *data);
/* Hands out each record with at least one sample; nothing beyond `data` is read but names of
 * functions. Returns how many records could not be read. */
uint64_t gpu_pc_data_read(const struct gpu_pc_data *data, const struct gpu_pc_reasons *reasons,
                          void (*take)(void *context, const struct gpu_pc *pc), void *context);

/* ---- Samples of the program counter (gpu_pc.c) ---- */

/* A launch begins on its thread: samples its context from now on. Cost: a few loads. */
void gpu_pc_met(CUcontext context);
/* It is about to be destroyed, or to lose a module: on the thread that does it. */
void gpu_pc_gone(CUcontext context);
void gpu_pc_unloads(CUcontext context);
/* Whether samples are wanted and can be had, as far as is known. Any thread. */
bool gpu_pc_possible(void);
/* Our thread: tells what there is; and, of an ended window, that nothing is sampled any more. */
void gpu_pc_tell(void);
void gpu_pc_shut(void);
/* In a forked child. */
void gpu_pc_forget(void);

/* ---- Calls of the driver (gpu_calls.c) ---- */

/* CUPTI's callback. */
void CUPTIAPI gpu_calls_on(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                           const void *data);
/* Finds their numbers, as this library has them; once. */
void gpu_calls_find(void);
void gpu_calls_follow(bool on);
/* cudaProfilerStart and cudaProfilerStop, for as long as there is a subscriber. */
void gpu_calls_follow_profiler(void);

/* ---- The window (gpu_window.c) ---- */

/* Whether what is launched now is kept. Any thread. Cost: a load. */
bool gpu_window_is_taking(void);
/* Opens the window if it is wanted; if it is not any more, nothing is kept from here on, and our
 * thread shuts it. Any thread: `by_program`, if it is not ours. */
void gpu_window_follow(bool by_program);

/* Our thread alone: */

/* Whether windows may open at all. If not, follow and shut what is open. */
void gpu_window_allow(bool on);
/* Another recording: what could not be opened is tried again. */
void gpu_window_forgive(void);
/* Why a window could not be opened: 1, once. */
bool gpu_window_take_failure(char *text, size_t size);
/* If nothing is wanted: waits for what CUPTI has, for a fifth of a second at most; disables,
 * unsubscribes. If it is wanted again meanwhile, it stays open. */
void gpu_window_shut(void);
/* Whether an activity whose launch is not known is told: not if it may have been launched while
 * nothing was to be kept, which is counted. */
bool gpu_window_keeps(const struct gpu_record *record);
/* Asks CUPTI for full buffers. */
void gpu_window_flush(void);
/* The next switch of a window that is not told yet. */
bool gpu_window_take_switch(struct gpu_switch *ret_switch);
/* In a forked child. */
void gpu_window_forget(void);

/* ---- What opens and shuts it (gpu_trigger.c) ---- */

/* Watches what the plan depends on. 0 or -errno. */
int gpu_trigger_start(void);
/* What is wanted now. Any thread. */
enum gpu_want gpu_trigger_wanted(void);
/* One of the profiler's calls was made: on its thread. */
void gpu_trigger_profiler(bool begins);
/* Looks for what no thread of the program told; `wishes` are the recording's. Our thread. */
void gpu_trigger_look(uint32_t wishes);
/* In a forked child. */
void gpu_trigger_forget(void);

/* ---- What it costs (gpu_governor.c) ---- */

enum gpu_level { GPU_LEVEL_OFF, GPU_LEVEL_GRAPHS, GPU_LEVEL_NODES };

struct gpu_governor {
    double budget; /* percent of the wall time; 0: no limit */
    enum gpu_level level, highest;
    double share; /* percent, at the last look */
    uint64_t cost;
    int looks_over;                                 /* in turn */
    int64_t looked_ns, raised_ns, held_ns, hold_ns; /* 0: never; until then it stays low */
};

/* Adds to what it cost. Any thread. */
void gpu_governor_add(uint64_t ns);
/* Adds what CUPTI reports as its own overhead. */
void gpu_governor_note(const struct gpu_record *record);
/* All so far, without our thread's time. */
uint64_t gpu_governor_cost(void);
void gpu_governor_begin(struct gpu_governor *governor, double budget, enum gpu_level highest);
/* `cost` so far, in ns. Once a second it is compared; 1: there is another level now. */
bool gpu_governor_look(struct gpu_governor *governor, int64_t now_ns, uint64_t cost);
/* Why. */
void gpu_governor_say(const struct gpu_governor *governor, char *text, size_t size);

/* ---- The thread (gpu_thread.c) ---- */

/* Starts it, and the window if somebody records now. 0 or -errno. */
int gpu_thread_start(void);
/* Full buffers are there: wakes the thread. Any thread. */
void gpu_thread_wake(void);
/* The process ends: the window is shut by the thread, or not at all after two seconds. */
void gpu_thread_end(void);
/* In a forked child: there is no such thread, and CUPTI is not called any more. */
void gpu_thread_forget(void);

/* ---- Settings: ANNOT_GPU (gpu_inject.c) ---- */

enum gpu_stacks {
    GPU_STACKS_SAMPLED = 0, /* of one launch of many */
    GPU_STACKS_EXACT,
    GPU_STACKS_OFF
};

enum { GPU_COMPLAINTS = 4 };

struct gpu_settings {
    bool wanted;
    const char *complaints[GPU_COMPLAINTS]; /* for whoever records; NULL: no more */
    bool nodes;       /* of graphs, each kernel; else as a whole. W: our thread, without a window */
    bool nodes_asked; /* the same, before a budget took them away */
    double budget;    /* percent; 0: no limit */
    uint8_t stacks;   /* enum gpu_stacks */
    struct gpu_plan plan; /* W: gpu_trigger.c */
};

extern struct gpu_settings gpu_settings;

/* In a list of words by comma. */
bool gpu_has_word(const char *words, const char *word);

#endif
