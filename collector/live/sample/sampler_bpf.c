/* SPDX-License-Identifier: MIT */
/* The rung of the BPF sampler: sets its parts up, follows processes, runs the steps.
 *
 * A step notes the end of the kernel's ring, empties the perf rings, then reads the ring up to that
 * position, and applies each mapping before the first later record: so the facts needed for a
 * record precede it. Thread-safety: one thread per object. */
#include "sampler_bpf.h"

#include "bpf_probes.h"
#include "clock_now.h"
#include "frames.h"
#include "lives_proc.h"
#include "modules.h"
#include "proc_info.h"
#include "processes.h"
#include "python_finder.h"
#include "sample_queue.h"
#include "sampler_asleep.h"
#include "sampler_probes.h"
#include "sampler_records.h"
#include "sampler_upkeep.h"
#include "spaces.h"
#include "stack_join.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IDLE_MS = 1000, STEP_MS = 50, SOON_MS = 5 };

/* Programs that replace libraries are likely to go on: they are followed closely for this long. */
#define REPLACED_NS UINT64_C(1000000000)
#define FACTS_NS    UINT64_C(1000000000)

/* Interval of checks for awaited rows at the end. */
#define AWAIT_ROWS_NS    INT64_C(100000000)
#define AWAIT_WAITING_NS INT64_C(1000000000)

/* Shorter ones end soon, and are reported then. */
#define TELL_NS UINT64_C(250000000)

/* All of it counts as our memory, twice (the ring is mapped twice), and is cleared before the
 * start. Machines with few CPUs fill it more slowly. */
enum { RING_BYTES = 4 << 20, RING_BYTES_MANY = 8 << 20, RING_BYTES_SWITCHES = 16 << 20 };

enum { MANY_CPUS = 5 };

#define FEW_NS INT64_C(1000000) /* stretches of this length are not more frequent than samples */

static int add_segment(void *context, uint32_t index, struct unwind_row **ret_rows)
{
    return bpf_program_row_segment(context, index, ret_rows);
}

static struct unwind_rule *rule_place(void *context, uint32_t index)
{
    return bpf_program_rule(context, index);
}

static struct python_offsets *python_place(void *context, uint32_t index)
{
    return bpf_program_python(context, index);
}

static int kernel_name(void *context, uint64_t address, char *ret_name, size_t size)
{
    return bpf_program_kernel_name(context, address, ret_name, size);
}

static void bpf_destroy(void *state)
{
    struct bpf_sampler *sampler = state;
    if (!sampler)
        return;
    sample_queue_fini(&sampler->queue);
    vec_free(&sampler->launches.files);
    sampler_probes_fini(&sampler->probes);
    asleep_threads_fini(&sampler->asleep);
    stack_join_fini(&sampler->join);
    stack_parts_fini(&sampler->parts);
    code_names_fini(&sampler->codes);
    address_frames_fini(&sampler->names);
    python_finder_fini(&sampler->finder);
    processes_fini(&sampler->processes);
    sampler_end_memory(sampler);
    spaces_fini(&sampler->spaces);
    modules_fini(&sampler->modules);
    symbolizer_destroy(sampler->names.symbolizer);
    perf_rings_destroy(sampler->rings);
    bpf_program_destroy(sampler->program);
    if (sampler->epoll_fd >= 0)
        close(sampler->epoll_fd);
    free(sampler);
}

/* The uid to sample, or -1 for root: all. */
static int64_t watched_uid(void)
{
    return geteuid() == 0 ? -1 : (int64_t)geteuid();
}

static uint32_t ring_bytes(const struct sampler_options *options)
{
    if (options->off_cpu && options->off_cpu_threshold_ns < FEW_NS)
        return RING_BYTES_SWITCHES;
    return sysconf(_SC_NPROCESSORS_CONF) < MANY_CPUS ? RING_BYTES : RING_BYTES_MANY;
}

static int open_program(struct bpf_sampler *sampler, char *reason, size_t reason_size)
{
    const struct sampler_options *options = &sampler->options;
    struct bpf_program_options wanted = {
        .frequency_hz = options->first_hz ? options->first_hz : options->frequency_hz,
        .off_cpu = options->off_cpu,
        .off_cpu_threshold_ns = (uint64_t)options->off_cpu_threshold_ns,
        .off_cpu_rate_max = options->off_cpu_rate_max,
        .uid = watched_uid(),
        .ring_bytes = ring_bytes(options),
    };
    char text[BPF_PROGRAM_REASON_MAX] = "";
    int error = bpf_program_create(&wanted, &sampler->program, text);
    if (error) {
        text[strcspn(text, "\n")] = 0;
        snprintf(reason, reason_size, "%s", text);
        return error;
    }
    error = perf_rings_create(&sampler->rings);
    if (error)
        snprintf(reason, reason_size, "perf events that tell mappings cannot be opened: %s",
                 strerror(-error));
    return error;
}

static int watch(struct bpf_sampler *sampler)
{
    struct epoll_event event = {.events = EPOLLIN};
    sampler->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (sampler->epoll_fd < 0 ||
        epoll_ctl(sampler->epoll_fd, EPOLL_CTL_ADD, bpf_program_fd(sampler->program), &event) != 0)
        return -errno;
    return perf_rings_watch(sampler->rings, sampler->epoll_fd);
}

static void forget_part(void *context, uint64_t hash)
{
    bpf_program_forget_part(context, hash);
}

static void on_opened(void *context, struct module *module, int fd)
{
    sampler_meet_launches(context, module, fd);
    sampler_meet_probes(context, module, fd);
}

static int open_parts(struct bpf_sampler *sampler)
{
    struct row_source source = {add_segment, rule_place, sampler->program};
    struct symbolizer *symbolizer = symbolizer_create();
    if (!symbolizer)
        return -ENOMEM;
    sampler->names.symbolizer = sampler->processes.symbolizer = symbolizer;
    int error = modules_init(&sampler->modules, &source, sampler->options.cache_directory);
    sampler->modules.symbolizer = symbolizer;
    if (!error)
        error = modules_begin_reading(&sampler->modules);
    if (!error)
        error = spaces_init(&sampler->spaces, bpf_program_mappings(sampler->program));
    sampler->processes.lives = sampler->options.lives;
    sampler->finder.place = python_place;
    sampler->finder.context = sampler->program;
    sampler->names.trace = sampler->options.trace;
    sampler->parts.forget = forget_part;
    sampler->parts.context = sampler->program;
    sampler->names.ask_kernel = kernel_name;
    sampler->names.ask_context = sampler->program;
    sample_queue_init(&sampler->queue, &sampler->options, &sampler->processes);
    sampler->modules.opened = on_opened;
    sampler->modules.opened_context = sampler;
    if (!error)
        sampler_watch_launches(sampler);
    if (!error)
        sampler_watch_heap(sampler);
    sampler_begin_memory(sampler);
    return error;
}

static int bpf_create(const struct sampler_options *options, void **ret_state, char *reason,
                      size_t reason_size)
{
    struct bpf_sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return -ENOMEM;
    sampler->options = *options;
    sampler->epoll_fd = -1;
    sampler->now_ns = (uint64_t)clock_now_ns();
    sampler->pace = (struct pace){.fast = options->first_hz > 0, .begin_ns = sampler->now_ns};
    int error = open_program(sampler, reason, reason_size);
    if (!error)
        error = open_parts(sampler);
    if (!error)
        error = watch(sampler);
    if (!error && options->frequency_hz)
        error = bpf_program_enable(sampler->program);
    if (error) {
        bpf_destroy(sampler);
        return error;
    }
    *ret_state = sampler;
    return 0;
}

/* ---- Tracking -------------------------------------------------------------------------------- */

/* `parent`: its pid if tracked, else 0. */
static int track_one(struct bpf_sampler *sampler, int32_t pid, unsigned flags, int32_t parent)
{
    struct sampler_process value = {.flags =
                                        flags & SAMPLER_TRACK_WAIT_EXEC ? SAMPLER_WAIT_EXEC : 0};
    if (processes_find(&sampler->processes, pid) && !(flags & SAMPLER_TRACK_WAIT_EXEC))
        return 0;
    struct process_look earlier = {0};
    if (flags & SAMPLER_TRACK_ATTACH)
        (void)process_look(pid, &earlier); /* empty if it has ended */
    /* The kernel first, so that no later mapping is missed. */
    int error = bpf_program_set_process(sampler->program, pid, &value, false);
    if (error)
        return error;
    struct proc_stat status;
    struct lives_task task = {.pid = pid};
    if (proc_stat(pid, &status) == 0)
        task.start_ticks = status.start_ticks;
    struct sampled *process = processes_add(&sampler->processes, &task, sampler->now_ns);
    if (!process)
        return -ENOMEM;
    process->waits_exec = value.flags & SAMPLER_WAIT_EXEC;
    process->changed = true;
    sampler->served = 0; /* it may be served already */
    if (process->waits_exec)
        return 0; /* its current mappings are irrelevant */
    error = sampler_find_asleep(sampler, false, 0);
    if (error)
        return error;
    error = sampled_read_maps(process, &sampler->modules);
    if (error != -ENOMEM && flags & SAMPLER_TRACK_ATTACH)
        error = process_past_emit(sampler->options.lives, pid, parent, &earlier);
    return error == -ENOMEM ? error : 0;
}

/* Adds children of tracked processes. 1: some were added; 0; -errno. */
static int track_children(struct bpf_sampler *sampler, DIR *proc)
{
    int added = 0;
    rewinddir(proc);
    for (const struct dirent *entry; added >= 0 && (entry = readdir(proc));) {
        int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || processes_find(&sampler->processes, pid))
            continue;
        struct proc_stat status;
        if (proc_stat(pid, &status) != 0 || !processes_find(&sampler->processes, status.ppid) ||
            proc_check_owner(pid) != 0)
            continue;
        int error = track_one(sampler, pid, SAMPLER_TRACK_ATTACH, status.ppid);
        added = error ? error : 1;
    }
    return added;
}

static int track_descendants(struct bpf_sampler *sampler)
{
    DIR *proc = opendir("/proc");
    int added = 1;
    for (int round = 0; proc && added > 0 && round < 100; round++)
        added = track_children(sampler, proc);
    if (proc)
        closedir(proc);
    return added < 0 ? added : 0;
}

static int bpf_track(void *state, int32_t pid, unsigned flags)
{
    struct bpf_sampler *sampler = state;
    int error = proc_check_owner(pid);
    sampler->now_ns = (uint64_t)clock_now_ns();
    if (!error)
        error = track_one(sampler, pid, flags, 0);
    if (!error && (flags & SAMPLER_TRACK_ATTACH))
        error = track_descendants(sampler);
    if (!error)
        error = sampler_publish(sampler);
    return error ? error : sampler_read_asleep(sampler);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static int bpf_fd(const void *state)
{
    return ((const struct bpf_sampler *)state)->epoll_fd;
}

static int bpf_timeout_ms(const void *state)
{
    const struct bpf_sampler *sampler = state;
    if (sampler->finished)
        return -1;
    if (sampler->waits_interpreter || sampler->modules.pending > 0 ||
        sample_queue_waiting(&sampler->queue) > 0 ||
        (sampler->replaced_ns && sampler->now_ns - sampler->replaced_ns < REPLACED_NS))
        return SOON_MS;
    return sampler->processes.all.count > 0 ? STEP_MS : IDLE_MS;
}

/* Rereads mappings of running processes from /proc if the kernel lost records. */
static int read_lost(struct bpf_sampler *sampler)
{
    uint64_t lost = perf_rings_take_lost(sampler->rings);
    if (lost == 0)
        return 0;
    sampler->counts.notes_lost += lost;
    for (size_t i = 0; i < sampler->processes.all.count; i++) {
        struct sampled *process = sampler->processes.all.items[i];
        int error = process->exited ? 0 : sampled_read_maps(process, &sampler->modules);
        if (error == -ENOMEM)
            return error;
        sampler->counts.maps_unread += error != 0;
    }
    return 0;
}

/* Updates processes that libannot serves since the last step. All earlier forks and execs are
 * processed by now. */
static void take_served(struct bpf_sampler *sampler)
{
    uint64_t served = lives_served(sampler->options.lives);
    if (sampler->served == served)
        return;
    sampler->served = served;
    for (size_t i = 0; i < sampler->processes.all.count; i++) {
        struct sampled *process = sampler->processes.all.items[i];
        const struct image *image = process->exited
                                        ? NULL
                                        : lives_last_image(sampler->options.lives, process->pid,
                                                           process->start_ns / 10000000);
        if (!image || image->tls_offset == 0 || image->served_ns == process->served_ns)
            continue;
        process->served_ns = image->served_ns;
        process->changed = process->changed || process->tls_offset != image->tls_offset;
        process->tls_offset = image->tls_offset;
    }
}

/* Periodically, so that after a kill of the collector the facts have the losses up to then. */
static int write_facts(struct bpf_sampler *sampler)
{
    if (sampler->now_ns - sampler->facts_ns < FACTS_NS)
        return 0;
    sampler->facts_ns = sampler->now_ns;
    return sampler_write_facts(sampler);
}

/* Joins stacks again if some of their frames turned out to collect garbage. */
static int take_names(struct bpf_sampler *sampler)
{
    uint64_t learned = sampler->names.collectors_learned;
    int error = frames_take_names(&sampler->names);
    if (learned != sampler->names.collectors_learned)
        stack_join_fini(&sampler->join);
    return error;
}

/* Records after a waiting one are not processed yet: no conclusions are drawn then. */
static int take_records(struct bpf_sampler *sampler, uint64_t position)
{
    int error = bpf_program_drain(sampler->program, position, sampler_take_record, sampler);
    sampler->waits_rows = error == SAMPLER_LATER;
    if (sampler->waits_rows)
        return 0;
    if (!error)
        error = sampler_apply_notes(sampler, sampler->now_ns);
    take_served(sampler);
    return error ? error : sampler_upkeep(sampler);
}

/* A processor that keeps its rate is not an error: its samples carry their weight. */
static void keep_pace(struct bpf_sampler *sampler)
{
    if (sampler->finished || !pace_is_over(&sampler->pace, sampler->now_ns))
        return;
    (void)bpf_program_set_frequency(sampler->program, sampler->options.frequency_hz);
    pace_slow(&sampler->pace, sampler->options.trace);
}

static int bpf_step(void *state)
{
    struct bpf_sampler *sampler = state;
    uint64_t position = bpf_program_position(sampler->program);
    sampler->now_ns = (uint64_t)clock_now_ns();
    sampler->step++;
    sampler->modules.spent_ns = 0;
    int error = take_names(sampler);
    if (!error)
        error = modules_take_rows(&sampler->modules);
    if (!error)
        error = perf_rings_drain(sampler->rings);
    if (!error)
        error = read_lost(sampler);
    if (!error)
        error = take_records(sampler, position);
    if (!error)
        error = sampler_publish(sampler);
    if (!error && !sampler->finished && sampler->asleep.unread.count > 0 &&
        sampler->modules.pending == 0)
        error = sampler_read_asleep(sampler);
    keep_pace(sampler);
    sampler_sweep(sampler);
    if (!error)
        error = write_facts(sampler);
    if (!error)
        error = sampler_step_memory(sampler);
    int sent = sample_queue_flush(&sampler->queue, sampler->now_ns, false);
    if (!error)
        error = sampler_step_probes(sampler);
    return error ? error : sent;
}

/* Records names of threads that outlive the recording. */
static void emit_names(struct bpf_sampler *sampler)
{
    for (size_t i = 0; i < sampler->processes.all.count; i++) {
        const struct sampled *process = sampler->processes.all.items[i];
        struct lives_task task = {.pid = process->pid,
                                  .ns_pid = process->ns_pid,
                                  .start_ticks = process->start_ns / 10000000};
        if (!process->exited)
            thread_names_emit(sampler->options.lives, &task, (int64_t)sampler->now_ns);
    }
}

/* Each module delays a record by LAST_ROWS_NS at most. */
static int last_steps(struct bpf_sampler *sampler)
{
    int error = bpf_step(sampler);
    while (!error && sampler->waits_rows) {
        symbolizer_await(sampler->modules.reader, clock_now_ns() + AWAIT_ROWS_NS);
        error = bpf_step(sampler);
    }
    return error;
}

/* Waiting threads would report their stacks only when they come back. Waits for missing rows, but
 * not for long: threads that move meanwhile are left out. */
static int read_waiting(struct bpf_sampler *sampler)
{
    int64_t until_ns = clock_now_ns() + AWAIT_WAITING_NS;
    int error = sampler_find_asleep(sampler, true, 0);
    if (!error)
        error = sampler_read_asleep(sampler);
    while (!error && sampler->asleep.unread.count > 0 && clock_now_ns() < until_ns) {
        symbolizer_await(sampler->modules.reader, clock_now_ns() + AWAIT_ROWS_NS);
        error = bpf_step(sampler);
    }
    return error;
}

static int take_waiting(void *context, const struct sampler_head *head)
{
    const struct sampler_switch *record = (const void *)head;
    bool waits = head->kind == SAMPLER_SWITCH && record->flags & SAMPLER_STILL_OFF &&
                 record->end_ns - head->time_ns >= TELL_NS;
    return waits ? sampler_take_record(context, head) : 0;
}

static int bpf_emit_waiting(void *state)
{
    struct bpf_sampler *sampler = state;
    if (sampler->finished || !sampler->options.off_cpu)
        return 0;
    sampler->now_ns = (uint64_t)clock_now_ns();
    int error = sampler_find_asleep(sampler, true, TELL_NS);
    if (!error)
        error = sampler_read_asleep(sampler);
    if (!error)
        error = bpf_program_still_off(sampler->program, take_waiting, sampler);
    sampler_sweep_asleep(sampler);
    int sent = sample_queue_flush(&sampler->queue, sampler->now_ns, false);
    return error ? error : sent;
}

static int bpf_finish(void *state)
{
    struct bpf_sampler *sampler = state;
    if (sampler->finished)
        return 0;
    int error = read_waiting(sampler);
    sampler->finished = true;
    int stopped = bpf_program_stop(sampler->program);
    if (!error)
        error = stopped;
    bpf_program_unprobe(sampler->program, UINT32_MAX);
    int stepped = last_steps(sampler);
    if (!error)
        error = stepped;
    if (!error)
        error = sampler_finish_memory(sampler);
    if (!error)
        error = sampler_finish_probes(sampler);
    if (!error && sampler->options.off_cpu)
        error = bpf_program_still_off(sampler->program, sampler_take_record, sampler);
    int sent = sample_queue_flush(&sampler->queue, (uint64_t)clock_now_ns(), true);
    if (!error)
        error = sent;
    emit_names(sampler);
    int named = frames_await_names(&sampler->names);
    if (!error)
        error = named;
    int written = sampler_write_facts(sampler);
    return error ? error : written;
}

const struct sampler_rung sampler_rung_bpf = {
    .rung = SAMPLING_BPF,
    .create = bpf_create,
    .destroy = bpf_destroy,
    .track = bpf_track,
    .fd = bpf_fd,
    .timeout_ms = bpf_timeout_ms,
    .step = bpf_step,
    .emit_waiting = bpf_emit_waiting,
    .finish = bpf_finish,
    .add_range = sampler_probes_add,
};
