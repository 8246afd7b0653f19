/* SPDX-License-Identifier: MIT */
/* Loads the BPF program, attaches and removes it. */
#include "bpf_program.h"

#include "bpf_probes.h"
#include "bpf_program_maps.h"
#include "bpf_state.h"
#include "kernel_btf.h"

#include "annot_wire.h"
#include "clock_now.h"
#include "sampler_abi.h"
#include "vec.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- Ring and ticks -------------------------------------------------------------------------- */

/* Reads data from the BPF programs, and triggers them: takes records out of the ring buffer up to a
 * position, opens the ticks, lists threads that sleep already.
 *
 * Layout: Documentation/bpf/ringbuf.rst of the kernel. Each record has a header of 8 bytes: its
 * length with two bits on top, and a number for the kernel's own use. Only the kernel advances
 * `producer`, and only we `consumer`. */

static const uint32_t kind_sizes[] = {
    [SAMPLER_SAMPLE] = offsetof(struct sampler_sample, ranges),
    [SAMPLER_SWITCH] = offsetof(struct sampler_switch, ranges),
    [SAMPLER_KERNEL] = sizeof(struct sampler_part),
    [SAMPLER_NATIVE] = sizeof(struct sampler_part),
    [SAMPLER_PYTHON] = sizeof(struct sampler_part),
    [SAMPLER_COPY] = sizeof(struct sampler_copy),
    [SAMPLER_CODE] = sizeof(struct sampler_code),
    [SAMPLER_FORK] = sizeof(struct sampler_fork),
    [SAMPLER_EXEC] = sizeof(struct sampler_exec),
    [SAMPLER_EXIT] = sizeof(struct sampler_exit),
    [SAMPLER_SHORT] = sizeof(struct sampler_short),
    [SAMPLER_LAUNCH] = offsetof(struct sampler_sample, ranges),
    [SAMPLER_PROBED] = sizeof(struct sampler_probed),
    [SAMPLER_PROBED_ARGS] = offsetof(struct sampler_probed_args, texts),
    [SAMPLER_ALLOCATED] = offsetof(struct sampler_sample, ranges),
    [SAMPLER_FREED] = sizeof(struct sampler_freed),
};

static int bpf_ring_open(struct bpf_ring *ring, int fd, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *producer;

    if (consumer == MAP_FAILED)
        return -errno;
    ring->consumer = consumer;
    producer = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)page);
    if (producer == MAP_FAILED)
        return -errno;
    ring->producer = producer;
    ring->data = (const uint8_t *)producer + page;
    ring->size = size;
    return 0;
}

static void bpf_ring_close(struct bpf_ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (ring->producer)
        munmap((void *)ring->producer, page + 2 * ring->size);
    if (ring->consumer)
        munmap(ring->consumer, page);
}

uint64_t bpf_program_position(const struct sampler_bpf *program)
{
    return __atomic_load_n(program->ring.producer, __ATOMIC_ACQUIRE);
}

static bool is_record(const struct sampler_head *head, uint32_t length)
{
    if (length < sizeof(*head) || head->size > length)
        return false;
    if (head->kind == 0 || head->kind >= sizeof(kind_sizes) / sizeof(kind_sizes[0]))
        return false;
    return head->size >= kind_sizes[head->kind];
}

bool bpf_program_is_filling(const struct sampler_bpf *program)
{
    return bpf_program_position(program) - *program->ring.consumer > program->ring.size / 2;
}

int bpf_program_drain(struct sampler_bpf *program, uint64_t position, bpf_program_take take,
                      void *context)
{
    struct bpf_ring *ring = &program->ring;
    uint64_t at = *ring->consumer;
    int rc = 0;

    while (at < position && rc == 0) {
        const uint8_t *bytes = ring->data + (at & (ring->size - 1));
        uint32_t word = __atomic_load_n((const uint32_t *)bytes, __ATOMIC_ACQUIRE);
        uint32_t length = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        const struct sampler_head *head = (const void *)(bytes + BPF_RINGBUF_HDR_SZ);

        if (word & BPF_RINGBUF_BUSY_BIT)
            break;
        if (!(word & BPF_RINGBUF_DISCARD_BIT)) {
            if (is_record(head, length))
                rc = take(context, head);
            else
                ring->damaged++;
        }
        if (rc > 0)
            break;
        at += (length + BPF_RINGBUF_HDR_SZ + 7) & ~UINT64_C(7);
        __atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
    }
    return rc;
}

/* ---- Ticks ----------------------------------------------------------------------------------- */

/* The clock of the CPU samples: one perf event per CPU, which runs the tick program.
 *
 * cpu-clock, a software event by a high-resolution timer, available on every machine; cycles of a
 * PMU would be opened here instead. CPUs that come online later are not sampled. */

#define NS_PER_SECOND UINT64_C(1000000000)

enum { TICK_DEFAULT_HZ = 99 };

static int open_tick(int cpu, uint32_t frequency_hz)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .freq = 1,
        .sample_freq = frequency_hz,
        .disabled = 1,
        .exclude_idle = 1,
    };
    long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

/* Opens perf events on all CPUs online, disabled, with the tick program. */
static int bpf_ticks_open(struct sampler_bpf *program, uint32_t frequency_hz)
{
    struct bpf_program *tick =
        bpf_object__find_program_by_name(program->objects[0], "sampler_tick");
    uint32_t hertz = frequency_hz ? frequency_hz : TICK_DEFAULT_HZ;
    int rc = -ENODEV;

    program->ticks = calloc(program->cpu_count, sizeof(*program->ticks));
    if (!program->ticks || !tick)
        return program->ticks ? -ENOENT : -ENOMEM;
    for (int cpu = 0; cpu < program->cpu_count; cpu++)
        program->ticks[cpu] = (struct bpf_tick){.fd = -1, .period_ns = NS_PER_SECOND / hertz};
    for (int cpu = 0; cpu < program->cpu_count; cpu++) {
        int fd = open_tick(cpu, hertz);

        if (fd == -ENODEV || fd == -ENXIO) /* offline */
            continue;
        if (fd < 0)
            return fd;
        program->ticks[cpu].fd = fd;
        if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(tick)) < 0)
            return -errno;
        rc = 0;
    }
    return rc;
}

static void bpf_ticks_close(struct sampler_bpf *program)
{
    for (int cpu = 0; program->ticks && cpu < program->cpu_count; cpu++) {
        if (program->ticks[cpu].fd >= 0)
            close(program->ticks[cpu].fd);
    }
    free(program->ticks);
}

static int each_tick(struct sampler_bpf *program, unsigned long request)
{
    for (int cpu = 0; cpu < program->cpu_count; cpu++) {
        if (program->ticks[cpu].fd >= 0 && ioctl(program->ticks[cpu].fd, request, NULL) < 0)
            return -errno;
    }
    return 0;
}

int bpf_program_enable(struct sampler_bpf *program)
{
    return each_tick(program, PERF_EVENT_IOC_ENABLE);
}

int bpf_program_disable(struct sampler_bpf *program)
{
    return each_tick(program, PERF_EVENT_IOC_DISABLE);
}

static struct sampler_control *control_of(const struct sampler_bpf *program)
{
    return (struct sampler_control *)(void *)program->stop.bytes;
}

int bpf_program_stop(struct sampler_bpf *program)
{
    /* A program that saw it unset is inside a context switch, which cross-CPU calls do not
     * interrupt: once the ticks are off, that switch is over. */
    __atomic_store_n(&control_of(program)->stopped, 1, __ATOMIC_RELEASE);
    return bpf_program_disable(program);
}

/* The kernel keeps a period in ns for such an event, even if it was opened with a frequency, and
 * restarts the timer: the first tick comes a whole period after the call. */
static int set_period(struct bpf_tick *tick, uint64_t period_ns)
{
    uint64_t begin_ns = (uint64_t)clock_now_ns(), end_ns;

    if (ioctl(tick->fd, PERF_EVENT_IOC_PERIOD, &period_ns) < 0)
        return -errno;
    end_ns = (uint64_t)clock_now_ns();
    tick->old_period_ns = tick->period_ns;
    tick->old_end_ns = end_ns < begin_ns + period_ns ? begin_ns + period_ns : end_ns;
    tick->second_ns = begin_ns + 2 * period_ns;
    tick->period_ns = period_ns;
    return 0;
}

int bpf_program_set_frequency(struct sampler_bpf *program, uint32_t frequency_hz)
{
    int rc = frequency_hz ? 0 : -EINVAL;

    for (int cpu = 0; frequency_hz && cpu < program->cpu_count; cpu++) {
        struct bpf_tick *tick = &program->ticks[cpu];
        int error = tick->fd >= 0 ? set_period(tick, NS_PER_SECOND / frequency_hz) : 0;

        if (error)
            rc = error;
    }
    return rc;
}

/* Computed from the tick's time, as the kernel still reports the period that the event was opened
 * with.
 *
 * A tick stands for half a period on both sides of it. The first tick of a new period also stands
 * for the half before that, which has no tick. */
uint64_t bpf_program_tick_ns(const struct sampler_bpf *program, unsigned cpu, uint64_t time_ns)
{
    const struct bpf_tick *tick = &program->ticks[cpu < (unsigned)program->cpu_count ? cpu : 0];

    if (time_ns < tick->old_end_ns)
        return tick->old_period_ns;
    return time_ns < tick->second_ns ? tick->period_ns * 3 / 2 : tick->period_ns;
}

/* ---- Threads that sleep already -------------------------------------------------------------- */

/* Runs the program that lists sleeping threads, by reading its iterator to the end. */

enum { READ_THREADS = 64 };

/* A read returns whole threads, possibly fewer than fit. */
static int read_all(int fd, struct sampler_asleep **ret_threads, size_t *ret_count)
{
    VEC(struct sampler_asleep) threads = {0};
    struct sampler_asleep some[READ_THREADS];
    ssize_t got;
    int error = 0;

    while (error == 0 && (got = read(fd, some, sizeof(some))) != 0) {
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            error = -errno;
        for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(some[0]) && error == 0; i++)
            error = vec_push(&threads, some[i]);
    }
    *ret_threads = threads.items;
    *ret_count = threads.count;
    return error;
}

int bpf_program_find_asleep(struct sampler_bpf *program, bool known,
                            struct sampler_asleep **ret_threads, size_t *ret_count)
{
    int fd, rc;

    *ret_threads = NULL;
    *ret_count = 0;
    if (!program->asleep)
        return -EOPNOTSUPP;
    fd = bpf_iter_create(bpf_link__fd(program->asleep));
    if (fd < 0)
        return -errno;
    __atomic_store_n(&control_of(program)->listing, known, __ATOMIC_RELEASE);
    rc = read_all(fd, ret_threads, ret_count);
    __atomic_store_n(&control_of(program)->listing, 0, __ATOMIC_RELEASE);
    close(fd);
    return rc;
}

bool bpf_program_is_asleep(struct sampler_bpf *program, const struct sampler_asleep *thread)
{
    struct sampler_switch stretch;

    return bpf_map_lookup_elem(program->switches_fd, &thread->key, &stretch) == 0 &&
           stretch.head.kind == SAMPLER_SWITCH && !(stretch.flags & SAMPLER_RETURNING) &&
           stretch.head.time_ns == thread->head.time_ns &&
           stretch.head.thread_start_ns == thread->head.thread_start_ns;
}

/* ---- Kernels that a BPF program can freeze --------------------------------------------------- */

enum {
    FLAW_SINCE = 5 << 8 | 18,
    FLAW_UNTIL = 6 << 8 | 4,
    FLAW_LONG_TERM = 6 << 8 | 1,
    FLAW_LONG_TERM_UNTIL = 176, /* the oldest one known to be fixed */
};

bool kernel_flaw_freezes(const char *release, const char *version)
{
    const char *debian = strstr(version, "Debian ");
    unsigned major = 0, minor = 0, patch = 0, number;

    if (sscanf(debian ? debian + strlen("Debian ") : release, "%u.%u.%u", &major, &minor, &patch) <
        2)
        return false;
    number = major << 8 | minor;
    if (number < FLAW_SINCE || number >= FLAW_UNTIL)
        return false;
    return number != FLAW_LONG_TERM || patch < FLAW_LONG_TERM_UNTIL;
}

/* ---- Loading --------------------------------------------------------------------------------- */

_Static_assert(offsetof(struct annot_thread, pid) == LIVE_PID_OFFSET, "pid, tid, depth");
_Static_assert(offsetof(struct annot_thread, tid) == LIVE_PID_OFFSET + 4, "pid, tid, depth");
_Static_assert(offsetof(struct annot_thread, depth) == LIVE_PID_OFFSET + 8, "pid, tid, depth");
_Static_assert(offsetof(struct annot_thread, live) == LIVE_RANGES_OFFSET, "open ranges");
_Static_assert(sizeof(struct annot_open) == LIVE_RANGE_SIZE, "open ranges");
_Static_assert((int)ANNOT_LIVE_DEPTH == (int)LIVE_RANGES, "open ranges");
_Static_assert((int)ANNOT_OPEN_TRACK_OUTERMOST == (int)SAMPLER_MARK_OUTERMOST, "open ranges");
_Static_assert((int)ANNOT_OPEN_TRACK_INNER == (int)SAMPLER_MARK_INNER, "open ranges");

enum {
    RING_DEFAULT_BYTES = 16 << 20,
    RING_MIN_BYTES = 64 << 10,
    RING_MAX_BYTES = 1 << 30,
    RATE_DEFAULT = 500000,
    SWITCHES_MAX = 32768, /* threads off CPU at once */
    LOG_SIZE = 64 << 10,
    VERIFIER_LOG_SIZE = 4096,             /* of a program that loads */
    LOG_STATISTICS = 4,                   /* statistics only */
    ROOT_PID_NAMESPACE = (int)0xeffffffc, /* its inode, of the kernel's ABI */
};

/* libbpf's messages while a program is loaded: the last LOG_SIZE bytes. */
struct messages {
    pthread_mutex_t lock;
    size_t size;
    char text[LOG_SIZE];
};

static _Thread_local struct messages *messages; /* of the program that this thread loads */

__attribute__((format(printf, 2, 0))) static int keep_log(enum libbpf_print_level level,
                                                          const char *format, va_list arguments)
{
    struct messages *kept = messages;
    int length;

    if (!kept || level == LIBBPF_DEBUG)
        return 0;
    pthread_mutex_lock(&kept->lock);
    if (kept->size > LOG_SIZE / 2) {
        memmove(kept->text, kept->text + kept->size - LOG_SIZE / 4, LOG_SIZE / 4);
        kept->size = LOG_SIZE / 4;
    }
    length = vsnprintf(kept->text + kept->size, LOG_SIZE - kept->size, format, arguments);
    if (length > 0)
        kept->size +=
            (size_t)length < LOG_SIZE - kept->size ? (size_t)length : LOG_SIZE - kept->size - 1;
    pthread_mutex_unlock(&kept->lock);
    return length;
}

static void explain(char reason[BPF_PROGRAM_REASON_MAX], const char *what, int error)
{
    int length = snprintf(reason, BPF_PROGRAM_REASON_MAX, "%s: %s", what, strerror(-error));
    size_t left = BPF_PROGRAM_REASON_MAX - (size_t)length - 2;
    size_t tail = messages && messages->size < left ? messages->size : left;

    if (messages && tail)
        snprintf(reason + length, left + 2, "\n%.*s", (int)tail,
                 messages->text + messages->size - tail);
}

static uint32_t pid_namespace(void)
{
    struct stat state;

    if (stat("/proc/self/ns/pid", &state) < 0 ||
        (uint32_t)state.st_ino == (uint32_t)ROOT_PID_NAMESPACE)
        return 0;
    return (uint32_t)state.st_ino;
}

bool bpf_program_user_is_unsafe(void)
{
    struct utsname name;

    return uname(&name) == 0 && kernel_flaw_freezes(name.release, name.version);
}

static size_t ring_size(uint32_t bytes)
{
    size_t size = RING_MIN_BYTES;

    if (bytes == 0)
        return RING_DEFAULT_BYTES;
    while (size < bytes && size < RING_MAX_BYTES)
        size *= 2;
    return size;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int configure(struct sampler_bpf *program, const struct bpf_program_options *options,
                     const struct kernel_btf *kernel)
{
    const struct sampler_config wanted = {
        .threshold_ns = options->off_cpu_threshold_ns,
        .rate_max = !options->off_cpu           ? 0
                    : options->off_cpu_rate_max ? options->off_cpu_rate_max
                                                : RATE_DEFAULT,
        .ring_bytes = ring_size(options->ring_bytes),
        .uid = options->uid,
        .pid_namespace = pid_namespace(),
        .switch_has_state = kernel_btf_arguments(kernel, "btf_trace_sched_switch") >= 4,
        .exit_has_group = kernel_btf_arguments(kernel, "btf_trace_sched_process_exit") >= 2,
        .user_is_unsafe = bpf_program_user_is_unsafe(),
        .check_sleepers = options->check_sleepers,
        .walks_at_leave = program->returns == RETURNS_UNSEEN,
    };

    for (size_t i = 0; i < BPF_OBJECTS && program->objects[i]; i++) {
        struct bpf_map *map = bpf_object__find_map_by_name(program->objects[i], ".rodata.config");
        size_t size = 0;
        struct sampler_config *config = map ? (void *)bpf_map__initial_value(map, &size) : NULL;

        if (!config || size < sizeof(*config))
            return -EBADMSG;
        *config = wanted;
    }
    return 0;
}

/* The hook at which a thread has returned to a CPU, before it runs any of its own code. */
static enum bpf_returns returns_of(const struct bpf_program_options *options,
                                   const struct kernel_btf *kernel)
{
    if (options->walks_at_leave)
        return RETURNS_UNSEEN;
    return kernel_btf_arguments(kernel, "btf_trace_sched_exit_tp") ? RETURNS_TRACEPOINT
                                                                   : RETURNS_KPROBE;
}

static int choose_returns(struct sampler_bpf *program, enum bpf_returns returns)
{
    static const char *const names[RETURNS_COUNT] = {
        [RETURNS_TRACEPOINT] = "sampler_returned", [RETURNS_KPROBE] = "sampler_returned_early"};
    int rc = 0;

    program->returns = returns;
    for (size_t i = 0; i < RETURNS_COUNT && program->objects[BPF_PART_RETURNS] && rc == 0; i++) {
        struct bpf_program *part =
            names[i]
                ? bpf_object__find_program_by_name(program->objects[BPF_PART_RETURNS], names[i])
                : NULL;

        if (names[i])
            rc = part ? bpf_program__set_autoload(part, i == returns) : -EBADMSG;
        if (names[i] && i == returns)
            program->returned = part;
    }
    return rc;
}

struct bpf_object *bpf_open_bytes(const struct sampler_bpf *program, const void *bytes, size_t size)
{
    LIBBPF_OPTS(bpf_object_open_opts, open);
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", program->types_fd);
    open.btf_custom_path = path;
    return bpf_object__open_mem(bytes, size, &open);
}

struct bpf_object *bpf_open_object(const struct sampler_bpf *program)
{
    return bpf_open_bytes(program, sampler_bpf_object, sampler_bpf_object_size);
}

/* Opens the objects with a file of kernel types that is filled afterwards, by the names in the
 * object. */
static int open_objects(struct sampler_bpf *program, bool off_cpu)
{
    int rc = bpf_typed_register();

    if (rc < 0)
        return rc;
    program->types_fd = memfd_create("annot-types", MFD_CLOEXEC);
    if (program->types_fd < 0)
        return -errno;
    for (size_t i = 0; i < (off_cpu ? BPF_OBJECTS : 1); i++) {
        program->objects[i] = bpf_open_object(program);
        if (!program->objects[i])
            return -errno;
    }
    return 0;
}

static int read_types(struct sampler_bpf *program, const struct bpf_program_options *options)
{
    struct kernel_btf kernel;
    int rc = kernel_btf_open(&kernel);

    if (rc < 0)
        return rc == -ENOENT ? -ENOTSUP : rc;
    rc = kernel_btf_reduce(&kernel, bpf_object__btf(program->objects[0]), program->types_fd);
    if (rc == 0)
        rc = choose_returns(program, returns_of(options, &kernel));
    if (rc == 0)
        rc = configure(program, options, &kernel);
    for (size_t i = 0; i < BPF_OBJECTS && program->objects[i] && rc == 0; i++)
        rc = bpf_typed_find(&program->typed, &kernel, program->objects[i]);
    kernel_btf_close(&kernel);
    return rc;
}

/* Leaves out the memory of calls, which bpf_probes.c allocates later. */
static int leave_out_calls(struct sampler_bpf *program)
{
    int rc = 0;

    for (size_t i = 0; i < BPF_OBJECTS && program->objects[i] && rc == 0; i++) {
        struct bpf_map *map = bpf_object__find_map_by_name(program->objects[i], BPF_CALLS_MAP);

        rc = map ? bpf_map__set_autocreate(map, false) : -EBADMSG;
    }
    return rc;
}

static int set_sizes(struct sampler_bpf *program, const struct bpf_program_options *options)
{
    const struct {
        const char *map;
        uint32_t entries;
    } sizes[] = {
        {"ring", (uint32_t)ring_size(options->ring_bytes)},
        {"walks", (uint32_t)program->cpu_count * 2},
        {"switches", options->off_cpu ? SWITCHES_MAX : 1},
    };

    int rc = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && rc == 0; i++) {
        struct bpf_map *map = bpf_object__find_map_by_name(program->objects[0], sizes[i].map);

        rc = map ? bpf_map__set_max_entries(map, sizes[i].entries) : -EBADMSG;
    }
    return rc;
}

static enum bpf_part part_of(const char *program)
{
    static const char *const switches[] = {"sampler_switched", "sampler_woken", "sampler_asleep"};

    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (strcmp(program, switches[i]) == 0)
            return BPF_PART_SWITCHES;
    return strncmp(program, "sampler_returned", 16) == 0 ? BPF_PART_RETURNS : BPF_PART_REST;
}

/* Assigns each program to an object, and a buffer for the verifier's log. */
static int set_programs(struct sampler_bpf *program, bool measure)
{
    char *log = measure ? calloc(BPF_PROGRAMS_MAX, VERIFIER_LOG_SIZE) : NULL;
    size_t count = 0;
    int rc = 0;

    program->verifier_logs = log;
    for (size_t i = 0; i < BPF_OBJECTS && program->objects[i]; i++) {
        struct bpf_program *part;

        bpf_object__for_each_program(part, program->objects[i])
        {
            const char *name = bpf_program__name(part);
            bool wanted = part_of(name) == i && !bpf_program_is_of_calls(name);

            if (rc == 0)
                rc = bpf_program__set_autoload(part, wanted);
            if (rc != 0 || !log || !wanted || count == BPF_PROGRAMS_MAX)
                continue;
            bpf_program__set_log_level(part, LOG_STATISTICS);
            bpf_program__set_log_buf(part, log + count++ * VERIFIER_LOG_SIZE, VERIFIER_LOG_SIZE);
        }
    }
    return rc;
}

struct loading {
    struct sampler_bpf *program;
    struct bpf_object *object;
    struct messages *messages;
    pthread_t thread;
    bool beside;
    int error;
};

static void *load_part(void *context)
{
    struct loading *loading = context;

    messages = loading->messages;
    loading->error = bpf_typed_load(&loading->program->typed, loading->object);
    return NULL;
}

static void begin_loading(struct loading *loading)
{
    loading->error = bpf_making_share(loading->program, loading->object);
    if (loading->error == 0)
        loading->beside = pthread_create(&loading->thread, NULL, load_part, loading) == 0;
}

static int end_loading(struct loading *loading)
{
    if (loading->beside)
        pthread_join(loading->thread, NULL);
    else if (loading->error == 0)
        load_part(loading);
    return loading->error;
}

static int load(struct sampler_bpf *program)
{
    struct loading parts[BPF_OBJECTS];
    size_t count = 1;
    int rc, error;

    for (; count < BPF_OBJECTS && program->objects[count]; count++) {
        parts[count] = (struct loading){program, program->objects[count], messages, 0, false, 0};
        begin_loading(&parts[count]);
    }
    rc = bpf_typed_load(&program->typed, program->objects[BPF_PART_REST]);
    for (size_t i = 1; i < count; i++) {
        error = end_loading(&parts[i]);
        rc = rc < 0 ? rc : error;
    }
    return rc;
}

static int attach_object(struct sampler_bpf *program, struct bpf_object *object)
{
    struct bpf_program *part;

    bpf_object__for_each_program(part, object)
    {
        bool asleep = strcmp(bpf_program__name(part), "sampler_asleep") == 0;
        struct bpf_link *link;

        if (!bpf_program__autoload(part) || !strchr(bpf_program__section_name(part), '/'))
            continue; /* not a tracepoint program */
        if (program->link_count == BPF_LINKS_MAX)
            return -E2BIG;
        link = bpf_typed_attach(part);
        if (!link && asleep)
            continue; /* threads that sleep already are then counted, not sampled */
        if (!link)
            return -errno;
        program->links[program->link_count++] = link;
        if (asleep)
            program->asleep = link;
    }
    return 0;
}

/* The function that ends a switch in the returning thread has another name on each kernel. */
static int attach_returned_early(struct sampler_bpf *program)
{
    static const char *const names[] = {"finish_task_switch", "finish_task_switch.isra.0"};
    struct bpf_link *link = NULL;

    if (!program->objects[BPF_PART_RETURNS] || program->returns != RETURNS_KPROBE)
        return 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !link; i++)
        link = bpf_program__attach_kprobe(program->returned, false, names[i]);
    if (!link)
        return -EOPNOTSUPP;
    program->links[program->link_count++] = link;
    return 0;
}

static int attach(struct sampler_bpf *program)
{
    int rc = attach_returned_early(program);

    for (size_t i = 0; i < BPF_OBJECTS && program->objects[i] && rc == 0; i++)
        rc = attach_object(program, program->objects[i]);
    return rc;
}

static uint64_t lap(uint64_t *since)
{
    uint64_t before = *since;

    *since = (uint64_t)clock_now_ns();
    return *since - before;
}

/* Loads the objects; *what: the failed step. */
static int load_steps(struct sampler_bpf *program, const struct bpf_program_options *options,
                      const char **what)
{
    struct bpf_program_times *times = &program->times;
    uint64_t since = (uint64_t)clock_now_ns();
    int rc, rows;

    *what = "cannot read the BPF program";
    rc = open_objects(program, options->off_cpu);
    if (rc == 0)
        rc = set_sizes(program, options);
    if (rc == 0)
        rc = set_programs(program, options->measure);
    if (rc == 0)
        rc = leave_out_calls(program);
    if (rc == 0)
        rc = bpf_making_begin(program);
    times->open_ns = lap(&since);
    if (rc == 0) {
        *what = "cannot read the kernel's type information (BTF)";
        rc = read_types(program, options);
    }
    times->types_ns = lap(&since);
    if (rc == 0) {
        *what = "cannot make the maps of the BPF program";
        rc = bpf_making_join(program);
    }
    times->maps_ns = lap(&since);
    if (rc == 0) {
        *what = "cannot load the BPF program";
        rc = load(program);
    }
    rows = bpf_making_end(program);
    times->load_ns = lap(&since);
    times->maps_all_ns = program->making.all_ns;
    return rc == 0 ? rows : rc;
}

static int create_steps(struct sampler_bpf *program, const struct bpf_program_options *options,
                        char reason[BPF_PROGRAM_REASON_MAX])
{
    const char *what = "cannot count the processors";
    uint64_t since;
    int rc = 0;

    program->cpu_count = libbpf_num_possible_cpus();
    if (program->cpu_count < 0)
        rc = program->cpu_count;
    if (rc == 0)
        rc = load_steps(program, options, &what);
    since = (uint64_t)clock_now_ns();
    if (rc == 0) {
        what = "cannot map the memory of the BPF program";
        rc = bpf_maps_open(program);
    }
    if (rc == 0)
        rc = bpf_ring_open(&program->ring, program->ring_fd, ring_size(options->ring_bytes));
    if (rc == 0) {
        what = "cannot open perf events for sampling";
        rc = bpf_ticks_open(program, options->frequency_hz);
    }
    if (rc == 0) {
        what = "cannot attach to the scheduler's tracepoints";
        rc = attach(program);
    }
    program->times.attach_ns = lap(&since);
    if (rc < 0)
        explain(reason, what, rc);
    return rc;
}

static int create(const struct bpf_program_options *options, struct sampler_bpf **ret_program,
                  char reason[BPF_PROGRAM_REASON_MAX])
{
    struct sampler_bpf *program = calloc(1, sizeof(*program));
    libbpf_print_fn_t print;
    int rc;

    if (!program)
        return -ENOMEM;
    program->rows_fd = program->types_fd = -1;
    program->threshold_ns = options->off_cpu_threshold_ns;
    messages = calloc(1, sizeof(*messages)); /* NULL: without messages */
    if (messages)
        pthread_mutex_init(&messages->lock, NULL);
    print = libbpf_set_print(keep_log);
    rc = create_steps(program, options, reason);
    libbpf_set_print(print);
    free(messages);
    messages = NULL;
    *ret_program = program;
    return rc;
}

/* Retries on kernels without kprobes: their threads' stacks are walked at each switch. */
int bpf_program_create(const struct bpf_program_options *options, struct sampler_bpf **ret_program,
                       char reason[BPF_PROGRAM_REASON_MAX])
{
    struct bpf_program_options again = *options;
    struct sampler_bpf *program = NULL;
    int rc;

    reason[0] = '\0';
    rc = create(options, &program, reason);
    if (rc < 0 && program && program->objects[BPF_PART_RETURNS] &&
        program->returns == RETURNS_KPROBE) {
        bpf_program_destroy(program);
        program = NULL;
        again.walks_at_leave = true;
        reason[0] = '\0';
        rc = create(&again, &program, reason);
    }
    if (rc < 0) {
        bpf_program_destroy(program);
        program = NULL;
    }
    *ret_program = program;
    return rc;
}

void bpf_program_destroy(struct sampler_bpf *program)
{
    if (!program)
        return;
    bpf_making_close(program);
    bpf_ticks_close(program);
    bpf_calls_close(program);
    bpf_probes_close(program);
    for (size_t i = 0; i < program->link_count; i++)
        bpf_link__destroy(program->links[i]);
    bpf_ring_close(&program->ring);
    bpf_maps_close(program);
    for (size_t i = 0; i < BPF_OBJECTS; i++)
        bpf_object__close(program->objects[i]);
    free(program->verifier_logs);
    if (program->types_fd >= 0)
        close(program->types_fd);
    free(program);
}

int bpf_program_fd(const struct sampler_bpf *program)
{
    return program->ring_fd;
}

void bpf_program_times(const struct sampler_bpf *program, struct bpf_program_times *ret_times)
{
    *ret_times = program->times;
}

static uint64_t verify_ns(struct bpf_program *part)
{
    size_t size = 0;
    const char *log = bpf_program__log_buf(part, &size);
    const char *time = log && size ? strstr(log, "verification time ") : NULL;

    return time ? strtoull(time + strlen("verification time "), NULL, 10) * 1000 : 0;
}

/* The program of that number; NULL: out of range. */
static struct bpf_program *find_part(const struct sampler_bpf *program, size_t index)
{
    for (size_t i = 0; i < BPF_OBJECTS && program->objects[i]; i++) {
        struct bpf_program *part;

        bpf_object__for_each_program(part, program->objects[i])
        {
            if (bpf_program__autoload(part) && index-- == 0)
                return part;
        }
    }
    return NULL;
}

bool bpf_program_cost(const struct sampler_bpf *program, size_t index,
                      struct bpf_program_cost *ret_cost)
{
    struct bpf_program *part = find_part(program, index);
    struct bpf_prog_info info = {0};
    uint32_t size = sizeof(info);

    if (!part || bpf_obj_get_info_by_fd(bpf_program__fd(part), &info, &size) < 0)
        return false;
    *ret_cost = (struct bpf_program_cost){bpf_program__name(part), info.verified_insns,
                                          program->verifier_logs ? verify_ns(part) : 0,
                                          info.run_cnt, info.run_time_ns};
    return true;
}
