/* SPDX-License-Identifier: MIT */
/* Python code objects as the BPF program read them, into frames.
 * Known by address, name's address and family of processes. Thread-safety: one thread per object.
 */
#ifndef ANNOT_CODE_NAMES_H
#define ANNOT_CODE_NAMES_H

#include "address_frames.h"
#include "wide_map.h"

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

#endif
