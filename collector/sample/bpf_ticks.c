/* SPDX-License-Identifier: MIT */
/* The clock of the CPU samples: one perf event per CPU, that runs the tick program.
 *
 * cpu-clock, a software event by a high-resolution timer, which every machine has; cycles of a PMU
 * would be opened here instead. CPUs that come online later are not sampled. */
#include "bpf_private.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    int rc = 0;

    program->tick_fds = calloc(program->cpu_count, sizeof(*program->tick_fds));
    if (!program->tick_fds || !tick)
        return program->tick_fds ? -ENOENT : -ENOMEM;
    for (int cpu = 0; cpu < program->cpu_count && rc == 0; cpu++) {
        int fd = open_tick(cpu, frequency_hz ? frequency_hz : TICK_DEFAULT_HZ);

        if (fd == -ENODEV || fd == -ENXIO) /* offline */
            continue;
        if (fd < 0)
            return fd;
        program->tick_fds[program->tick_count++] = fd;
        if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(tick)) < 0)
            rc = -errno;
    }
    return rc == 0 && program->tick_count == 0 ? -ENODEV : rc;
}

void bpf_ticks_close(struct sampler_bpf *program)
{
    for (size_t i = 0; i < program->tick_count; i++)
        close(program->tick_fds[i]);
    free(program->tick_fds);
}

static int each_tick(struct sampler_bpf *program, unsigned long request, uint64_t *argument)
{
    for (size_t i = 0; i < program->tick_count; i++) {
        if (ioctl(program->tick_fds[i], request, argument) < 0)
            return -errno;
    }
    return 0;
}

int bpf_program_enable(struct sampler_bpf *program)
{
    return each_tick(program, PERF_EVENT_IOC_ENABLE, NULL);
}

int bpf_program_disable(struct sampler_bpf *program)
{
    return each_tick(program, PERF_EVENT_IOC_DISABLE, NULL);
}

int bpf_program_stop(struct sampler_bpf *program)
{
    /* Whoever saw it unset is in the middle of a context switch, which no call to another CPU
     * interrupts: when the ticks are off, that is over. */
    __atomic_store_n((uint32_t *)(void *)program->stop.bytes, 1, __ATOMIC_RELEASE);
    return bpf_program_disable(program);
}

int bpf_program_set_frequency(struct sampler_bpf *program, uint32_t frequency_hz)
{
    /* The kernel keeps a period in ns of such an event, whatever it was opened with. */
    uint64_t period_ns = frequency_hz ? UINT64_C(1000000000) / frequency_hz : 0;

    return period_ns ? each_tick(program, PERF_EVENT_IOC_PERIOD, &period_ns) : -EINVAL;
}
