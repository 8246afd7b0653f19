/* SPDX-License-Identifier: MIT */
/* See ctf_parts.h. A packet ends when it is large enough, and behind events that tell of a loss, so
 * that readers show the loss where it was. Thread-safety: none. */
#include "ctf_parts.h"

#include <errno.h>
#include <string.h>

enum { PACKET_BYTES = 128 << 10, RECORD_HEAD = sizeof(uint64_t) };

#define PACKET_MAGIC  UINT32_C(0xc1fc1fc1)
#define DISCARDED_MAX UINT64_C(0x7fffffffffffffff)

/* As the metadata describes them. */
struct __attribute__((packed)) packet_head {
    uint32_t magic, stream_id;
    uint64_t begin_ns, end_ns;
    uint64_t content_bits, packet_bits;
    uint64_t discarded; /* since the stream began */
    uint64_t number;
};

struct packets {
    struct out_stream *out;
    VEC(uint8_t) body;
    uint64_t begin_ns, end_ns, discarded, count;
};

static void put_packet(struct packets *packets)
{
    uint64_t bits = 8 * (sizeof(struct packet_head) + packets->body.count);
    const struct packet_head head = {.magic = PACKET_MAGIC,
                                     .begin_ns = packets->begin_ns,
                                     .end_ns = packets->end_ns,
                                     .content_bits = bits,
                                     .packet_bits = bits,
                                     .discarded = packets->discarded,
                                     .number = packets->count++};
    out_write(packets->out, &head, sizeof(head));
    if (packets->body.count)
        out_write(packets->out, packets->body.items, packets->body.count);
    packets->body.count = 0;
    packets->begin_ns = packets->end_ns;
}

static int add(struct packets *packets, uint64_t time_ns, const uint8_t *event, size_t size)
{
    if (packets->body.count == 0)
        packets->begin_ns = time_ns;
    packets->end_ns = time_ns;
    if (vec_reserve(&packets->body, sizeof(time_ns) + size) != 0 || !packets->body.items)
        return -ENOMEM;
    uint8_t *at = packets->body.items + packets->body.count;
    memcpy(mempcpy(at, &time_ns, sizeof(time_ns)), event, size);
    packets->body.count += sizeof(time_ns) + size;
    return 0;
}

/* Of the first packet, readers only say that something may be missing: it has no loss. */
static int take(struct packets *packets, uint64_t time_ns, const uint8_t *record, uint32_t size)
{
    uint64_t lost;
    memcpy(&lost, record, sizeof(lost));
    if (packets->count == 0 && packets->body.count == 0)
        packets->begin_ns = packets->end_ns = time_ns;
    bool full = packets->body.count && packets->body.count + size > PACKET_BYTES;
    if (full || (lost && packets->count == 0))
        put_packet(packets);
    int error = add(packets, time_ns, record + RECORD_HEAD, size - RECORD_HEAD);
    packets->discarded =
        lost < DISCARDED_MAX - packets->discarded ? packets->discarded + lost : DISCARDED_MAX;
    if (lost && !error)
        put_packet(packets);
    return error;
}

int ctf_put_packets(struct sorter *sorter, struct out_stream *out)
{
    struct packets packets = {.out = out};
    struct sorter_key key;
    const void *record;
    uint32_t size;
    int more, error = sorter_finish(sorter);
    while (!error && (more = sorter_next(sorter, &key, &record, &size)) != 0) {
        error = more < 0 ? more : take(&packets, (uint64_t)key.first, record, size);
        error = error ? error : out_error(out);
    }
    if (!error && (packets.body.count || !packets.count))
        put_packet(&packets);
    vec_free(&packets.body);
    return error;
}
