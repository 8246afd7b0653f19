/* SPDX-License-Identifier: MIT */
/* Reads data from the BPF programs, and triggers them: takes records out of the ring buffer up to a
 * position, opens the ticks, lists threads that sleep already.
 *
 * Layout: Documentation/bpf/ringbuf.rst of the kernel. Each record has a header of 8 bytes: its
 * length with two bits on top, and a number for the kernel's own use. Only the kernel advances
 * `producer`, and only we `consumer`. */
#include "bpf_program_ring.h"

#include "bpf_state.h"
#include "clock_now.h"
#include "vec.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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
};

int bpf_ring_open(struct bpf_ring *ring, int fd, size_t size)
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

void bpf_ring_close(struct bpf_ring *ring)
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

int bpf_ticks_open(struct sampler_bpf *program, uint32_t frequency_hz)
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

void bpf_ticks_close(struct sampler_bpf *program)
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
