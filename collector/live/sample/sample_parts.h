/* SPDX-License-Identifier: MIT */
/* What rungs consist of. A rung is sampler_remote.c, with remote_process.c; the other is
 * sampler_bpf.c: sampler_records.c takes records, sampler_stacks.c their stacks, sampler_upkeep.c
 * tells the kernel what was learned, looks after it and writes facts, sampler_asleep.c knows who
 * slept; frames.c has frames, stack_join.c the parts of stacks, sample_queue.c the samples on their
 * way out. Thread-safety: one thread per object. */
#ifndef ANNOT_SAMPLE_PARTS_H
#define ANNOT_SAMPLE_PARTS_H

#include "bpf_program.h"
#include "hash_map.h"
#include "lives.h"
#include "perf_ring.h"
#include "probes.h"
#include "proc_info.h"
#include "process_parts.h"
#include "python_remote.h"
#include "sampler.h"
#include "sampler_abi.h"
#include "stacks.h"
#include "symbolizer.h"
#include "trace.h"
#include "unwind_stack.h"
#include "vec.h"

#include <stddef.h>
#include <stdint.h>

/* ---- Rungs ----------------------------------------------------------------------------------- */

/* One way of sampling, behind sampler.h: a rung of the ladder.
 *
 * sampler.c picks the highest that works and hands every call on to it. Contracts are those of
 * sampler.h. */

struct sampler_rung {
    enum sampling_rung rung;
    /* 0, -ENOMEM, or -errno with one line in `reason`: then the next rung is tried. Options are
     * copied if kept. */
    int (*create)(const struct sampler_options *options, void **ret_state, char *reason,
                  size_t reason_size);
    void (*destroy)(void *state); /* accepts NULL */
    int (*track)(void *state, int32_t pid, unsigned flags);
    int (*fd)(const void *state);
    int (*timeout_ms)(const void *state);
    int (*step)(void *state);
    int (*tell_waiting)(void *state); /* NULL: it does not know */
    int (*finish)(void *state);
    /* NULL: it cannot. */
    int (*add_range)(void *state, const struct sampler_range_wish *wish,
                     struct sampler_range_told *ret_told);
};

struct sampler {
    const struct sampler_rung *rung; /* NULL: none works */
    void *state;
};

extern const struct sampler_rung sampler_rung_bpf;    /* sampler_bpf.c; if built with eBPF */
extern const struct sampler_rung sampler_rung_remote; /* sampler_remote.c */

/* ---- Processes sampled from outside ---------------------------------------------------------- */

/* A process as the rung of remote reads sees it: its image, its interpreter, its threads and the
 * CPU time they used. A process is a pid and a start, a thread a tid and a start: the numbers come
 * again. */

enum { REMOTE_THREADS_MAX = 4096, REMOTE_FRAMES_MAX = 512 };

struct remote_thread {
    int32_t tid;
    uint64_t start_ticks;
    uint64_t cpu_ns; /* that its last sample reached */
    int64_t ordinal; /* in the trace; -1: it has no sample yet */
    uint64_t pass;   /* the last one in which the interpreter had it */
};

struct remote_process {
    struct process *entry; /* of the registry, where it hangs; NULL: another one has the pid */
    int32_t pid;
    int end_fd; /* tells how it ended; below 0: none */
    bool waits_exec;
    bool ours; /* it began under our eyes: all of its CPU time is to be told */
    uint64_t start_ticks;
    uint64_t stack_begin; /* where the kernel put the stack of this image: another after an exec */
    struct python_remote *python; /* NULL: no interpreter is known in it (yet) */
    int64_t next_try_ns, pause_ns;
    uint64_t pass;       /* how often its threads were listed */
    struct map64 by_tid; /* to one more than the place in threads */
    VEC(struct remote_thread) threads;
};

/* CPU nanoseconds that a thread used so far, exact where the kernel counts them. False: gone. */
bool remote_cpu_ns(int32_t pid, int32_t tid, uint64_t *ret_ns);

/* Begins with a process, now; NULL: out of memory. `stat` is what was read of it. */
struct remote_process *remote_process_create(struct lives *lives, int32_t pid,
                                             const struct proc_stat *stat, int64_t now_ns);
void remote_process_destroy(struct remote_process *process); /* accepts NULL */

/* NULL: not known. start_ticks 0: whenever it started. */
struct remote_process *remote_process_find(const struct lives *lives, int32_t pid,
                                           uint64_t start_ticks);

/* Looks for its interpreter, seldom if there is none. */
void remote_process_look(struct remote_process *process, int64_t now_ns);
/* Another program runs in it now. */
void remote_process_exec(struct remote_process *process, const struct proc_stat *stat);

/* NULL: not known. Valid until the next add or remove. */
struct remote_thread *remote_thread_find(const struct remote_process *process, int32_t tid);
/* Of a tid that is not known; NULL: out of memory. */
struct remote_thread *remote_thread_add(struct remote_process *process, int32_t tid,
                                        uint64_t start_ticks);
/* The last one takes its place. */
void remote_thread_remove(struct remote_process *process, struct remote_thread *thread);

struct lives_task remote_process_task(const struct remote_process *process);
struct lives_task remote_thread_task(const struct remote_process *process,
                                     const struct remote_thread *thread);

/* ---- What /proc says, told to the registry --------------------------------------------------- */

/* What /proc says, told to the registry: who the processes are that ran before the recording began,
 * of which the kernel sends no fork and no exec, and what it calls the threads of those that run
 * (of one that ended its end tells it). */

/* Tells the registry its name and command line, and its parent if `parent` (a pid that is told
 * already) is not 0. A process that is gone by now is none. 0 or -ENOMEM. */
int process_past_tell(struct lives *lives, int32_t pid, int32_t parent);

/* Tells the registry the names of those that have entries. `process`: its pid and start; ns_pid,
 * where it has a number of its own, says that its threads have them as well. */
void thread_names_tell(struct lives *lives, const struct lives_task *process, int64_t time_ns);

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Frames of the trace: of addresses, which are functions of files, of the kernel, of code made at
 * run time, and get their names later; and of Python code objects as the BPF program read them,
 * known by address, name's address and family of processes. */

/* The name of an address in the kernel. 0; -ENOENT; -errno: it cannot say. */
typedef int (*address_kernel_name)(void *context, uint64_t address, char *ret_name, size_t size);

struct address_frames {
    struct trace *trace;
    struct symbolizer *symbolizer;
    address_kernel_name ask_kernel; /* NULL: nobody */
    void *ask_context;
    struct asked_source *kernel; /* made at the first question that `ask_kernel` cannot answer */
    bool kernel_hidden;          /* nor can that: all of it is one frame */
    struct map64 kernel_frames;  /* address -> ordinal of the frame */
    struct map64 collectors;     /* ordinals of frames inside an interpreter's collector */
    uint64_t collectors_learned; /* times that `collectors` changed for frames that were there */
    uint64_t refused;            /* names not asked for: too many questions waited */
    uint32_t kernel_unnamed, collector, anonymous, unmapped, code_unread; /* 0 = not made yet */
};

void address_frames_fini(struct address_frames *names);

/* Gives frames the names that were found since the last call. 0 or -ENOMEM. */
int frames_take_names(struct address_frames *names);
/* Waits for those that are still to come, for 2 s at most. 0 or -ENOMEM. */
int frames_await_names(struct address_frames *names);
/* Frames of the trace that have no name. */
uint32_t frames_unnamed(const struct address_frames *names);

/* Ordinals of frames, or -ENOMEM. Of callers, give the return address - 1. */
int64_t frame_native(struct address_frames *names, struct sampled *process,
                     const struct mapping_list *list, uint64_t address);
int64_t frame_kernel(struct address_frames *names, uint64_t address);
int64_t frame_collector(struct address_frames *names);
int64_t frame_code_unread(struct address_frames *names);
/* No frame, but a remark. */
int64_t frame_note(struct address_frames *names, const char *text);

/* Whether a frame is the function that collects an interpreter's garbage. */
bool frame_is_collector(const struct address_frames *names, uint32_t frame);

/* ---- Python code ---- */

struct code_names {
    struct wide_map by_code; /* code, key, family -> index in `codes`, plus 1 */
    VEC(struct code_name *) codes;
    uint64_t bytes;
    uint64_t swept_ns; /* when room was made last */
};

void code_names_fini(struct code_names *codes);

/* Keeps a code object; offsets: of the process's interpreter. 0, -EBADMSG: the record says more
 * than it holds, -ENOMEM. */
int code_names_add(struct code_names *codes, struct trace *trace, const struct sampled *process,
                   const struct sampler_code *record);

/* The frame of an instruction of it: an ordinal; 0: not known; -ENOMEM. */
int64_t code_names_frame(struct code_names *codes, struct trace *trace,
                         const struct sampled *process, const struct sampler_python *place);

/* ---- Parts of stacks ----
 *
 * As they came from the kernel, resolved to frames, by hash. The BPF program sends a part once and
 * again every few seconds while it is in use. When memory is short, parts that were not used for a
 * moment go: the program is told to send such a one again, and it goes only two steps later, when
 * no record under way can name it any more. */

struct part_item {
    uint64_t address; /* native: program counter in the process */
    uint64_t place;   /* native: CFA, Python: anchor */
    uint32_t frame;   /* ordinal in the trace; 0 = none (a shim) */
    uint32_t flags;   /* Python: enum sampler_python_flags */
};

struct stack_part {
    uint64_t hash;
    uint64_t cut;  /* tells one that was cut from the whole one; 0 = whole */
    uint64_t base; /* of `place`, see struct sampler_part */
    uint64_t used_ns;
    uint64_t leaves_step; /* 0 = it stays; else when the program was told to send it again */
    uint32_t space, count;
    uint8_t kind;             /* enum part_kind */
    uint8_t end;              /* enum stack_end */
    struct part_item items[]; /* leaf first */
};

struct stack_parts {
    struct wide_map by_key; /* kind and hash -> index in `all`, plus 1 */
    VEC(struct stack_part *) all;
    size_t bytes;
    uint64_t swept_ns;
    /* Tells the program to send a part again when it meets it. */
    void (*forget)(void *context, uint64_t hash);
    void *context;
};

/* CUT: of a native one, made for one sample. */
enum part_kind { PART_KERNEL = 1, PART_NATIVE = 2, PART_PYTHON = 3, PART_CUT = 4 };

void stack_parts_fini(struct stack_parts *parts);

/* Room for `count` items; takes the place of one of that hash. NULL: out of memory. The caller
 * fills it before the next call. */
struct stack_part *stack_parts_add(struct stack_parts *parts, enum part_kind kind, uint64_t hash,
                                   uint32_t count);

/* NULL: not known (any more). */
struct stack_part *stack_parts_find(struct stack_parts *parts, enum part_kind kind, uint64_t hash,
                                    uint64_t now_ns);
void stack_parts_drop(struct stack_parts *parts, enum part_kind kind, uint64_t hash);

/* Drops what was not used lately, if there is too much. `step`: counts calls. */
void stack_parts_sweep(struct stack_parts *parts, uint64_t now_ns, uint64_t step);

/* ---- Whole stacks: kernel above native, Python frames where their interpreter's frames are, the
 * garbage collector and what is missing marked ---- */

struct stack_join {
    struct wide_map known; /* all that matters -> ordinal + 1 */
    uint64_t unplaced;     /* Python frames whose place was guessed by order */
    uint64_t joined;       /* stacks that were made */
};

struct join_request {
    const struct stack_part *kernel, *native, *python; /* NULL: none */
    const struct sampled *process;
    uint8_t native_end, python_end;
    bool collects; /* the garbage collector runs in this thread */
};

void stack_join_fini(struct stack_join *join);

/* The ordinal of the leaf's stack, 0 = nothing is known; -ENOMEM. */
int64_t stack_join_parts(struct stack_join *join, struct address_frames *names,
                         const struct join_request *request);

/* ---- Samples on their way out ----
 *
 * In order, waiting for names of ranges that are not known yet. A sample whose range path lacks a
 * name holds up those behind it, so that each thread's samples leave in order, for at most 200 ms
 * or 16,384 samples; then it leaves without a path. */

enum { SAMPLE_BATCH = 512 };

/* Without a set it is only a question for the names of the ranges that a forked process has from
 * its parent: the answer is kept with that process. */
struct queued_sample {
    struct sample sample; /* its values are those below */
    int64_t values[2];
    uint64_t arrived_ns;
    int32_t child;                /* of a question */
    struct sampled_ranges ranges; /* if known, they say its path */
};

struct sample_queue {
    const struct sampler_options *options; /* sink, trace, lives */
    struct processes *processes;
    VEC(struct queued_sample) waiting;
    size_t first; /* of waiting */
    struct sample batch[SAMPLE_BATCH];
    int64_t batch_values[SAMPLE_BATCH][2];
    size_t batch_count;
    uint64_t unnamed; /* left without a path for want of a name */
};

void sample_queue_init(struct sample_queue *queue, const struct sampler_options *options,
                       struct processes *processes);
void sample_queue_fini(struct sample_queue *queue);

/* Copies it. 0, -ENOMEM, -errno of the sink. */
int sample_queue_add(struct sample_queue *queue, const struct queued_sample *sample,
                     uint64_t now_ns);

/* Hands on what can go; `all`: everything. 0, -ENOMEM, -errno of the sink. */
int sample_queue_flush(struct sample_queue *queue, uint64_t now_ns, bool all);

static inline size_t sample_queue_waiting(const struct sample_queue *queue)
{
    return queue->waiting.count - queue->first;
}

/* ---- The rung ---- */

/* What was counted about stacks, by how they ended. */
struct sampler_counts {
    uint64_t samples, switches, launches;
    uint64_t native_end[STACK_END_COUNT], python_end[STACK_END_COUNT];
    uint64_t stacks_missing;  /* the part a sample names did not come */
    uint64_t stacks_stale;    /* walked by the mappings of an image before an exec */
    uint64_t stacks_replaced; /* walked by the rows of a library that was not there any more */
    uint64_t copies, code_unread;
    uint64_t damaged;    /* records whose parts do not fit into them */
    uint64_t notes_lost; /* mappings that the kernel could not tell; read from /proc instead */
    uint64_t adopted;    /* processes whose fork was not told */
    uint64_t ends_untold, execs_untold; /* noticed by looking */
    uint64_t stuck_lists;               /* processes whose mappings could not be published */
    uint64_t maps_unread;   /* processes that ended before their mappings could be read */
    uint64_t asleep_moved;  /* threads that woke up while their stack was read */
    uint64_t asleep_denied; /* times that sleeping threads could not be looked for */
};

/* Stacks of launches: sampler_launches.c. */
struct launch_file {
    uint64_t device, inode;
};

struct launch_watch {
    VEC(struct launch_file) files;
    uint16_t set; /* of their samples; 0: not defined yet */
    int error;    /* the last that kept a file from being watched */
};

/* Functions that are ranges: sampler_probes.c. */
/* Those that slept when their process was begun with: sampler_asleep.c. */
struct asleep_thread {
    struct sampler_asleep told;
    uint32_t *frames; /* root first; of the trace */
    uint32_t count;
    uint8_t native_end, python_end;
    bool listed;     /* while it is watched, to be told before it ends: */
    uint64_t met_ns; /* when it was last */
};

struct asleep_threads {
    VEC(struct asleep_thread *) unread;
    struct map64 by_key; /* hash of tid and time -> struct asleep_thread *, whose stack is known */
};

void asleep_threads_fini(struct asleep_threads *asleep);

struct bpf_sampler {
    struct sampler_options options;
    struct sampler_bpf *program;
    struct perf_rings *rings;
    int epoll_fd;
    bool finished;
    uint64_t now_ns, step;
    struct modules modules;
    struct spaces spaces;
    struct processes processes;
    struct python_finder finder;
    struct address_frames names;
    struct code_names codes;
    struct stack_parts parts;
    struct stack_join join;
    struct sample_queue queue;
    struct asleep_threads asleep;
    struct launch_watch launches;
    struct probes probes;
    struct sampler_counts counts;
    bool unpublished; /* processes changed since the last publication */
    uint64_t published_ns;
    uint64_t served;              /* lives_served() when it was looked at last */
    bool waits_interpreter, lazy; /* something must be looked at again soon */
    bool waits_rows;              /* the record that is next waits */
    uint64_t facts_ns;            /* when they were written last */
    uint64_t upkeep_ns;           /* the same of the upkeep */
    size_t look_next;             /* whom sampler_look_untold() looks at next */
    uint64_t replaced_ns;         /* when a library last took the place of another one */
};

/* Not now: the rows of a file that is needed are being read. */
enum { SAMPLER_LATER = 1 };

/* Takes one record; mappings up to its time are applied first. 0, -ENOMEM, -errno of the sink;
 * SAMPLER_LATER: it and all behind it are to be told again, in a moment. */
int sampler_take_record(void *context, const struct sampler_head *record);
/* Applies what the perf rings told up to a time. 0 or -ENOMEM. */
int sampler_apply_notes(struct bpf_sampler *sampler, uint64_t until_ns);
/* The process of a record, made known if it was not. NULL: out of memory. */
struct sampled *sampler_process_of(struct bpf_sampler *sampler, const struct sampler_head *head);

/* Its thread's ordinal in the trace, by the image that ran at that time; -ENOMEM. */
int64_t sampler_thread_of(struct bpf_sampler *sampler, const struct sampler_head *head,
                          int64_t image_ns);

/* An exec: with its record, or without. 0 or -ENOMEM. */
struct told_image {
    struct lives_task task;
    uint64_t time_ns;
    const char *comm, *command;
};

int sampler_begin_image(struct bpf_sampler *sampler, struct sampled *process,
                        const struct told_image *image);
/* It must have ended before that time. */
void sampler_end_untold(struct bpf_sampler *sampler, struct sampled *process, uint64_t time_ns);

/* A record that says more than it holds: passed over and counted. 0. */
int sampler_pass_damaged(struct bpf_sampler *sampler);

/* Parts of stacks. 0 or -ENOMEM. */
int sampler_take_part(struct bpf_sampler *sampler, const struct sampler_head *record);
/* The same, or SAMPLER_LATER. */
int sampler_take_copy(struct bpf_sampler *sampler, const struct sampler_copy *copy);

/* A native stack to be walked here: registers, and who reads 8 bytes of its memory. */
struct native_source {
    struct unwind_registers registers;
    bool (*read)(void *context, uint64_t address, uint64_t *ret_value);
    void *context;
    uint32_t space; /* that was published when it was taken; 0 = none */
};

/* Walks it by the process's present mappings, into a part of that hash. 0, SAMPLER_LATER, -ENOMEM.
 */
int sampler_unwind(struct bpf_sampler *sampler, struct sampled *process, uint64_t hash,
                   const struct native_source *source);

/* What sample and switch have in common. */
struct sampler_stack {
    uint64_t kernel, native, python;
    uint32_t space, flags;
    uint8_t native_end, python_end;
};

/* The stack's ordinal, 0 = none; -ENOMEM. Ends may be corrected. */
int64_t sampler_find_stack(struct bpf_sampler *sampler, struct sampled *process,
                           struct sampler_stack *stack);

/* Spaces, interpreters and values of all processes that changed, into the kernel. 0 or -ENOMEM. */
int sampler_publish(struct bpf_sampler *sampler);
/* Once a second, before sampler_publish(): what else must be looked after. 0 or -ENOMEM. */
int sampler_upkeep(struct bpf_sampler *sampler);
/* Forgets what is not needed any more. */
void sampler_sweep(struct bpf_sampler *sampler);

/* Counters into the trace. 0 or -ENOMEM. */
int sampler_write_facts(struct bpf_sampler *sampler);

/* ---- Stacks of launches ---- */

/* Begins to watch the library that the options name; and one that a process has. */
void sampler_watch_launches(struct bpf_sampler *sampler);
void sampler_meet_launches(struct bpf_sampler *sampler, const struct module *module, int fd);
/* What their samples have in common with that record: time, set and value. 0 or -errno. */
int sampler_describe_launch(struct bpf_sampler *sampler, const struct sampler_sample *record,
                            struct queued_sample *ret_sample);
/* Counters into the trace. 0 or -ENOMEM. */
int sampler_write_launches(const struct bpf_sampler *sampler,
                           const uint64_t counters[SAMPLER_COUNTERS]);

/* ---- Functions that are ranges ---- */

/* "FILE:FUNCTION", "FILE:PROVIDER:PROBE[..PROBE]", both with "@ARGUMENTS", into parts, which are
 * owned. false: it is none. */
bool probe_wish_parse(const char *text, struct probe_wish *ret_wish);
void probe_wish_fini(struct probe_wish *wish); /* in any case */

/* The files that it means now, at `program` and where libraries are; or a path. 0 or -ENOMEM. */
struct probe_paths {
    VEC(char *) items;
};

int probe_paths_find(const char *file, const char *program, struct probe_paths *ret_paths);
int probe_paths_add(struct probe_paths *paths, const char *path); /* unless it is no file */
void probe_paths_fini(struct probe_paths *paths);
/* Whether a file that a process has is one of them. */
bool probe_wish_means(const struct probe_wish *wish, const char *path);

/* What a probed call costs here, in ns: some are made. 0: it cannot be measured. */
uint64_t probe_cost_measure(struct sampler_bpf *program, enum probe_cost cost);

/* Probes the functions of a file that a wish means, once; what `told` has is added to. 0; -ENOENT:
 * it has none, the reason is told; -errno. */
struct probe_source {
    struct elf_file *file;
    int fd; /* the same */
    const char *path;
};

int sampler_probe_file(struct bpf_sampler *sampler, uint32_t wish,
                       const struct probe_source *source, struct sampler_range_told *told);

/* Inside of it: probe_functions.c, probe_static.c. */
struct probe_target {
    struct elf_file *file;
    const char *path; /* for humans */
    char open_path[64];
    uint64_t device, inode;
    uint32_t scope;
    bool go, plain;
    uint32_t *lists; /* of arguments, one for each of its functions; NULL: none tells any */
};

/* Where an address lies in the file. false: nowhere. */
bool probe_file_offset(const struct elf_file *file, uint64_t address, unsigned long *ret_offset);
/* Of what a file has: its scope. 0 or -ENOMEM. */
int probe_scope(struct trace *trace, const char *domain, const char *path, uint32_t *ret_scope);
/* The static probes that a wish means. As sampler_probe_file(). */
int probe_static(struct bpf_sampler *sampler, struct probe_wish *wish,
                 const struct probe_target *target, struct sampler_range_told *told);

void sampler_probes_fini(struct probes *probes);
/* See sampler_add_range(). */
int sampler_probes_add(void *state, const struct sampler_range_wish *wish,
                       struct sampler_range_told *ret_told);
/* A file that a process has. */
void sampler_meet_probes(struct bpf_sampler *sampler, struct module *module, int fd);
/* 0 or -ENOMEM. */
int sampler_take_probed(struct bpf_sampler *sampler, const struct sampler_probed *record);
/* What the thread, or all of its process, had open ends with it. 0 or -ENOMEM. */
int sampler_end_probed(struct bpf_sampler *sampler, const struct sampler_head *head, bool all);
/* Takes those away that cost too much; hands on what was taken. 0, -ENOMEM, -errno of the sink. */
int sampler_step_probes(struct bpf_sampler *sampler);
/* No more of them: what is open ends unfinished. 0 or -ENOMEM. */
int sampler_finish_probes(struct bpf_sampler *sampler);
/* Counters into the trace. 0 or -ENOMEM. */
int sampler_write_probes(const struct bpf_sampler *sampler);

/* ---- Threads that slept already when their process was begun with ----
 *
 * Found at once, so that their stretch begins with the recording; read when the process's mappings
 * are known. */

/* Opens their stretches; `known`: finds those whose stretches go on, for `age_ns` at least. 0 or
 * -ENOMEM. */
int sampler_find_asleep(struct bpf_sampler *sampler, bool known, uint64_t age_ns);
/* Reads the stacks of those that were found; of some, perhaps, only later. 0 or -ENOMEM. */
int sampler_read_asleep(struct bpf_sampler *sampler);
/* The stack of such a stretch, which `head` begins, into `sample`; `parts`: what the kernel told of
 * it. Once, unless the stretch goes on. 0, also if it is not known, or -ENOMEM. */
int sampler_take_asleep(struct bpf_sampler *sampler, const struct sampler_head *head,
                        const struct sampler_stack *parts, struct sample *sample);
/* Forgets those that were found while they went on, and were not told now: they are back. */
void sampler_sweep_asleep(struct bpf_sampler *sampler);

#endif
