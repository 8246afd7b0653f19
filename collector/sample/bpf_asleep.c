/* SPDX-License-Identifier: MIT */
/* Runs the program that looks for sleeping threads, by reading its iterator to the end. */
#include "bpf_private.h"

#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_THREADS = 64 };

/* A read yields whole threads, and not always as many as fit. */
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

int bpf_program_find_asleep(struct sampler_bpf *program, struct sampler_asleep **ret_threads,
                            size_t *ret_count)
{
    int fd, rc;

    *ret_threads = NULL;
    *ret_count = 0;
    if (!program->asleep)
        return -EOPNOTSUPP;
    fd = bpf_iter_create(bpf_link__fd(program->asleep));
    if (fd < 0)
        return -errno;
    rc = read_all(fd, ret_threads, ret_count);
    close(fd);
    return rc;
}

bool bpf_program_is_asleep(struct sampler_bpf *program, const struct sampler_asleep *thread)
{
    struct sampler_switch stretch;

    return bpf_map_lookup_elem(program->switches_fd, &thread->key, &stretch) == 0 &&
           stretch.head.kind == SAMPLER_SWITCH && stretch.flags & SAMPLER_ASLEEP &&
           stretch.head.time_ns == thread->head.time_ns &&
           stretch.head.thread_start_ns == thread->head.thread_start_ns;
}
