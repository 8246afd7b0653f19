/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Names an address of the kernel, for the collector, which runs this by hand.
 *
 * The kernel finds one symbol in microseconds; /proc/kallsyms tells all of them, in 50 ms. */
#ifndef ANNOT_NAME_BPF_H
#define ANNOT_NAME_BPF_H

#include "maps.bpf.h"

char name_text[KERNEL_NAME_MAX] SEC(".bss.name");

static const char name_format[] = "%ps";

SEC("raw_tp")

int sampler_named(struct bpf_raw_tracepoint_args *ctx)
{
    uint64_t address = ctx->args[0];

    return bpf_snprintf(name_text, sizeof(name_text), name_format, &address, sizeof(address));
}

#endif
