/* SPDX-License-Identifier: MIT */
/* What a probed call costs on this machine: a function of ours that does nothing is probed and
 * called.
 *
 * It begins with an instruction that the kernel emulates and ends with one that it must run, as
 * most functions do. The program sees that we are not recorded, so what it does with a call is
 * missing: a fifth, on a machine whose traps are cheap. Thread-safety: one thread per object. */
#include "clock_now.h"
#include "sample_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { CALLS = 100, RETURN_OFFSET = 2, NUMBER = SAMPLER_PROBES_MAX - 1 };

/* The last byte is the return. */
__attribute__((naked, noinline)) static void does_nothing(void)
{
    __asm__ volatile("push %rax\n\tpop %rax\n\tret");
}

/* Where it lies in the file that is mapped there. */
static bool find_place(uint64_t address, unsigned long *ret_offset, char path[64])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uint64_t begin, end, offset;
    char line[512];
    bool found = false;
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end, &offset) == 3 &&
                address - begin < end - begin;
    if (maps)
        fclose(maps);
    if (!found)
        return false;
    *ret_offset = address - begin + offset;
    snprintf(path, 64, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, begin, end);
    return true;
}

static uint64_t calls_ns(void)
{
    int64_t begin_ns = clock_now_ns();
    for (int i = 0; i < CALLS; i++)
        does_nothing();
    return (uint64_t)(clock_now_ns() - begin_ns);
}

uint64_t probe_cost_measure(struct sampler_bpf *program, enum probe_cost cost)
{
    bool returned = cost == PROBE_COST_RETURNED;
    unsigned long offsets[2];
    uint64_t cookies[3] = {NUMBER | SAMPLER_SITE_ENTRY << 12, NUMBER | SAMPLER_SITE_LEAVE << 12,
                           NUMBER | SAMPLER_SITE_RETURNED << 12};
    struct bpf_probe_places places = {
        .number = NUMBER, .count = 2, .offsets = offsets, .cookies = cookies};
    char path[64];
    if (!find_place((uint64_t)(uintptr_t)does_nothing, &offsets[0], path))
        return 0;
    offsets[1] = offsets[0] + RETURN_OFFSET;
    const struct bpf_probe_places behind = {
        .number = NUMBER, .count = 1, .offsets = offsets, .cookies = &cookies[2], .returned = true};
    places.count = cost == PROBE_COST_EXITS ? 2 : 1;
    if (bpf_program_probe(program, path, &places) != 0 ||
        (returned && bpf_program_probe(program, path, &behind) != 0)) {
        bpf_program_unprobe(program, NUMBER);
        return 0;
    }
    (void)calls_ns(); /* warms up */
    uint64_t taken_ns = calls_ns();
    bpf_program_unprobe(program, NUMBER);
    return taken_ns / CALLS;
}
