/* SPDX-License-Identifier: MIT */
/* Makes the maps of the BPF program on two threads, while its user reads the kernel's types.
 *
 * Half of what maps take is their memory, which the kernel clears. Each thread takes the next map
 * until none is left; libbpf, which is told afterwards, sees one thread only. */
#include "bpf_private.h"

#include "clock_now.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Constants have contents, which libbpf knows how to write. */
static bool is_ours(const struct bpf_map *map)
{
    return !strstr(bpf_map__name(map), ".rodata") && !strstr(bpf_map__name(map), ".data");
}

static int make_map(struct sampler_bpf *program, const struct bpf_map *map)
{
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = bpf_map__map_flags(map));
    int fd;

    if (bpf_map__type(map) == BPF_MAP_TYPE_ARRAY_OF_MAPS)
        return bpf_rows_make(program, &program->making.publish_fd);
    fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
                        bpf_map__value_size(map), bpf_map__max_entries(map), &options);
    return fd < 0 ? -errno : fd;
}

static void work(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;
    uint64_t begin = (uint64_t)clock_now_ns();
    size_t index;

    while ((index = atomic_fetch_add(&making->next, 1)) < making->count) {
        int fd = make_map(program, making->maps[index]);

        pthread_mutex_lock(&making->lock);
        making->fds[index] = fd;
        if (fd < 0 && making->error == 0)
            making->error = fd;
        making->done++;
        pthread_cond_broadcast(&making->changed);
        pthread_mutex_unlock(&making->lock);
    }
    atomic_fetch_add(&making->all_ns, (uint64_t)clock_now_ns() - begin);
}

static void wait_for_all(struct bpf_making *making)
{
    pthread_mutex_lock(&making->lock);
    while (making->done < making->count)
        pthread_cond_wait(&making->changed, &making->lock);
    pthread_mutex_unlock(&making->lock);
}

static void publish(struct sampler_bpf *program)
{
    if (program->making.publish_fd >= 0)
        program->making.publish_error = bpf_rows_publish(program, 0, program->making.publish_fd);
    program->making.publish_fd = -1;
}

static void *help(void *context)
{
    struct sampler_bpf *program = context;

    work(program);
    wait_for_all(&program->making); /* the other thread may have made what is published */
    publish(program);
    return NULL;
}

int bpf_making_begin(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;
    struct bpf_map *map;

    bpf_object__for_each_map(map, program->objects[0])
    {
        if (!is_ours(map))
            continue;
        if (making->count == BPF_MAPS_MAX)
            return -E2BIG;
        making->maps[making->count++] = map;
    }
    making->publish_fd = -1;
    pthread_mutex_init(&making->lock, NULL);
    pthread_cond_init(&making->changed, NULL);
    making->began = true;
    making->helped = pthread_create(&making->helper, NULL, help, program) == 0;
    return 0;
}

/* libbpf keeps a descriptor of its own; that of the row memory is used later. */
static void hand_over(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;

    for (size_t i = 0; i < making->count; i++) {
        int fd = making->fds[i];
        int rc = making->error == 0 ? bpf_map__reuse_fd(making->maps[i], fd) : 0;

        if (fd >= 0 && fd != program->rows_fd)
            close(fd);
        if (rc < 0 && making->error == 0)
            making->error = rc;
    }
}

int bpf_making_join(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;

    work(program);
    wait_for_all(making);
    making->joined = true;
    hand_over(program);
    return making->error;
}

int bpf_making_end(struct sampler_bpf *program)
{
    struct bpf_making *making = &program->making;

    if (!making->began)
        return 0;
    if (!making->joined)
        bpf_making_join(program);
    if (making->helped)
        pthread_join(making->helper, NULL);
    else
        publish(program);
    pthread_cond_destroy(&making->changed);
    pthread_mutex_destroy(&making->lock);
    making->began = false;
    return making->publish_error;
}

int bpf_making_share(const struct sampler_bpf *program, struct bpf_object *object)
{
    struct bpf_map *map, *same = NULL;
    int rc = 0;

    bpf_object__for_each_map(map, program->objects[0])
    {
        same = bpf_object__next_map(object, same);
        if (rc == 0 && is_ours(map))
            rc = same ? bpf_map__reuse_fd(same, bpf_map__fd(map)) : -EBADMSG;
    }
    return rc;
}
