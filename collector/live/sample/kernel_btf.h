/* SPDX-License-Identifier: MIT */
/* The part of the running kernel's type information that the BPF program needs.
 *
 * It has 130,000 types of which the program uses twenty. libbpf would copy all of it and search it
 * from end to end once for each of them; here it is read once, and libbpf gets the reduced part.
 * Errors: -errno; -EBADMSG: it is not as described in the kernel's Documentation/bpf/btf.rst. */
#ifndef ANNOT_KERNEL_BTF_H
#define ANNOT_KERNEL_BTF_H

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

enum { KERNEL_BTF_NAMES_MAX = 1024 };

struct kernel_btf {
    const uint8_t *bytes; /* the whole file */
    size_t size;
    uint8_t *read;        /* = bytes if it was read, NULL if mapped */
    const uint8_t *types; /* in `bytes` */
    uint32_t types_size;
    const char *strings;
    uint32_t strings_size;
    uint32_t *places; /* offsets of the types in `types` */
    uint32_t type_count;
};

int kernel_btf_open(struct kernel_btf *kernel);
void kernel_btf_close(struct kernel_btf *kernel);

/* Returns the id of the first type of that BTF_KIND and name, or 0. */
uint32_t kernel_btf_find(const struct kernel_btf *kernel, unsigned kind, const char *name);

/* The number of arguments of a tracepoint, by its typedef btf_trace_NAME; 0 = unknown. */
unsigned kernel_btf_arguments(const struct kernel_btf *kernel, const char *typedef_name);

/* Writes to a file the structures that `local` has, too, with only the members that any structure
 * of `local` has, and with pointers to void. */
int kernel_btf_reduce(const struct kernel_btf *kernel, const struct btf *local, int fd);

/* ---- Programs attached to types -------------------------------------------------------------- */

struct kernel_btf;

/* Programs that attach to one of the kernel's types: tracepoints with typed arguments, iterators.
 *
 * libbpf searches all of the kernel's types for them, which it reads and parses for each object: 10
 * ms, and 1,300 system calls. Here they are found in the types that struct kernel_btf has already.
 * Thread-safety: objects may load concurrently, each on a separate thread. */

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
