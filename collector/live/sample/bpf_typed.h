/* SPDX-License-Identifier: MIT */
/* Programs that attach to one of the kernel's types: tracepoints with typed arguments, iterators.
 *
 * libbpf searches all of the kernel's types for them, which it reads and parses for each object: 10
 * ms, and 1,300 system calls. Here they are found in the types that struct kernel_btf has already.
 * Thread-safety: objects may load concurrently, each on a separate thread. */
#ifndef ANNOT_BPF_TYPED_H
#define ANNOT_BPF_TYPED_H

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_btf;

enum { BPF_TYPED_MAX = 8 };

/* The number of each program's type. */
struct bpf_typed {
    struct {
        const struct bpf_program *program;
        uint32_t type;
    } entries[BPF_TYPED_MAX];

    size_t count;
};

/* Makes libbpf call bpf_typed_load() for the types of programs in the sections tp_btf/ and iter/.
 * Call it before opening an object. 0 or -errno. */
int bpf_typed_register(void);

/* Adds the object's typed programs that are to be loaded. 0; -ESRCH: the kernel lacks a type. */
int bpf_typed_find(struct bpf_typed *typed, const struct kernel_btf *kernel,
                   const struct bpf_object *object);

/* As bpf_object__load(). */
int bpf_typed_load(const struct bpf_typed *typed, struct bpf_object *object);

/* As bpf_program__attach(), for every kind of program. NULL: errno. */
struct bpf_link *bpf_typed_attach(const struct bpf_program *program);

#endif
