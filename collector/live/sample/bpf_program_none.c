/* SPDX-License-Identifier: MIT */
/* Replaces the BPF loader if annot is built without eBPF: creation fails, and the other functions
 * are never called. */
#include "bpf_probes.h"
#include "bpf_program.h"
#include "bpf_registers.h"

#include <errno.h>
#include <string.h>

int bpf_program_create(const struct bpf_program_options *options, struct sampler_bpf **ret_program,
                       char reason[BPF_PROGRAM_REASON_MAX])
{
    (void)options;
    *ret_program = NULL;
    strcpy(reason, "annot was built without eBPF");
    return -ENOSYS;
}

void bpf_program_destroy(struct sampler_bpf *program)
{
    (void)program;
}

int bpf_program_enable(struct sampler_bpf *program)
{
    (void)program;
    return -ENOSYS;
}

int bpf_program_stop(struct sampler_bpf *program)
{
    (void)program;
    return -ENOTSUP;
}

int bpf_program_disable(struct sampler_bpf *program)
{
    (void)program;
    return -ENOSYS;
}

int bpf_program_set_frequency(struct sampler_bpf *program, uint32_t frequency_hz)
{
    (void)program, (void)frequency_hz;
    return -ENOSYS;
}

uint64_t bpf_program_tick_ns(const struct sampler_bpf *program, unsigned cpu, uint64_t time_ns)
{
    (void)program, (void)cpu, (void)time_ns;
    return 0;
}

int bpf_program_set_process(struct sampler_bpf *program, int32_t pid,
                            const struct sampler_process *process, bool exist)
{
    (void)program, (void)pid, (void)process, (void)exist;
    return -ENOSYS;
}

int bpf_program_watch_call(struct sampler_bpf *program, enum bpf_calls calls, unsigned which,
                           const struct bpf_call_place *place)
{
    (void)program, (void)calls, (void)which, (void)place;
    return -ENOSYS;
}

int bpf_program_probe(struct sampler_bpf *program, const char *path,
                      const struct bpf_probe_places *places)
{
    (void)program, (void)path, (void)places;
    return -ENOSYS;
}

int bpf_program_probe_args(struct sampler_bpf *program, uint32_t list,
                           const struct sampler_args *wanted)
{
    (void)program, (void)list, (void)wanted;
    return -EOPNOTSUPP;
}

void bpf_program_unprobe(struct sampler_bpf *program, uint32_t number)
{
    (void)program, (void)number;
}

uint64_t bpf_program_probe_calls(const struct sampler_bpf *program, uint32_t number, bool foreign)
{
    (void)program, (void)number, (void)foreign;
    return 0;
}

int bpf_program_probed_next(struct sampler_bpf *program, struct bpf_probed *probed, bool first)
{
    (void)program, (void)probed, (void)first;
    return -ENOENT;
}

bool bpf_program_probed_find(struct sampler_bpf *program, struct bpf_probed *probed)
{
    (void)program, (void)probed;
    return false;
}

void bpf_program_probed_forget(struct sampler_bpf *program, const struct bpf_probed *probed)
{
    (void)program, (void)probed;
}

int bpf_program_kernel_name(struct sampler_bpf *program, uint64_t address, char *ret_name,
                            size_t size)
{
    (void)program, (void)address, (void)ret_name, (void)size;
    return -EOPNOTSUPP;
}

int bpf_program_get_process(struct sampler_bpf *program, int32_t pid,
                            struct sampler_process *ret_process)
{
    (void)program, (void)pid, (void)ret_process;
    return -ENOSYS;
}

int bpf_program_remove_process(struct sampler_bpf *program, int32_t pid)
{
    (void)program, (void)pid;
    return -ENOSYS;
}

struct sampler_mapping *bpf_program_mappings(struct sampler_bpf *program)
{
    (void)program;
    return NULL;
}

struct unwind_rule *bpf_program_rule(struct sampler_bpf *program, uint32_t index)
{
    (void)program, (void)index;
    return NULL;
}

struct python_offsets *bpf_program_python(struct sampler_bpf *program, uint32_t index)
{
    (void)program, (void)index;
    return NULL;
}

int bpf_program_row_segment(struct sampler_bpf *program, uint32_t index,
                            struct unwind_row **ret_rows)
{
    (void)program, (void)index, (void)ret_rows;
    return -ENOSYS;
}

int bpf_program_counters(struct sampler_bpf *program, uint64_t ret_counters[SAMPLER_COUNTERS])
{
    (void)program;
    memset(ret_counters, 0, SAMPLER_COUNTERS * sizeof(*ret_counters));
    return -ENOSYS;
}

int bpf_program_fd(const struct sampler_bpf *program)
{
    (void)program;
    return -1;
}

uint64_t bpf_program_position(const struct sampler_bpf *program)
{
    (void)program;
    return 0;
}

bool bpf_program_is_filling(const struct sampler_bpf *program)
{
    (void)program;
    return true;
}

int bpf_program_drain(struct sampler_bpf *program, uint64_t position, bpf_program_take take,
                      void *context)
{
    (void)program, (void)position, (void)take, (void)context;
    return 0;
}

void bpf_program_forget_part(struct sampler_bpf *program, uint64_t hash)
{
    (void)program;
    (void)hash;
}

int bpf_program_still_off(struct sampler_bpf *program, bpf_program_take take, void *context)
{
    (void)program, (void)take, (void)context;
    return 0;
}

bool bpf_program_cost(const struct sampler_bpf *program, size_t index,
                      struct bpf_program_cost *ret_cost)
{
    (void)program, (void)index, (void)ret_cost;
    return false;
}

bool bpf_program_user_is_unsafe(void)
{
    return false;
}

int bpf_registers_read(int32_t pid, struct bpf_registers *ret_registers)
{
    (void)pid;
    *ret_registers = (struct bpf_registers){0};
    return -ENOSYS;
}

void bpf_program_times(const struct sampler_bpf *program, struct bpf_program_times *ret_times)
{
    (void)program;
    *ret_times = (struct bpf_program_times){0};
}

int bpf_program_find_asleep(struct sampler_bpf *program, bool known,
                            struct sampler_asleep **ret_threads, size_t *ret_count)
{
    (void)program, (void)known;
    *ret_threads = NULL;
    *ret_count = 0;
    return -ENOSYS;
}

bool bpf_program_is_asleep(struct sampler_bpf *program, const struct sampler_asleep *thread)
{
    (void)program, (void)thread;
    return false;
}
