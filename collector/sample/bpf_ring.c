/* SPDX-License-Identifier: MIT */
/* Takes records out of the BPF ring buffer up to a position.
 *
 * Layout: Documentation/bpf/ringbuf.rst of the kernel. Each record has a header of 8 bytes: its
 * length with two bits on top, and a number for the kernel's own use. The kernel alone advances
 * `producer`, we alone `consumer`. */
#include "bpf_private.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
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
        at += (length + BPF_RINGBUF_HDR_SZ + 7) & ~UINT64_C(7);
        __atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
    }
    return rc;
}
