/* SPDX-License-Identifier: MIT */
/* See ctf_parts.h. A packet ends when it is large enough, and behind events that tell of a loss, so
 * that readers show the loss where it was. Thread-safety: none. */
#include "ctf_parts.h"

#include <errno.h>
#include <string.h>

enum { PACKET_BYTES = 128 << 10 };

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
    const struct ctf_records *records;
    struct out_stream *out;
    ctf_bytes body;
    size_t whole; /* bytes of it that belong to the packet; the event behind them may not */
    uint64_t begin_ns, end_ns, discarded, count;
};

static void put_packet(struct packets *packets)
{
    uint64_t bits = 8 * (sizeof(struct packet_head) + packets->whole);
    const struct packet_head head = {.magic = PACKET_MAGIC,
                                     .begin_ns = packets->begin_ns,
                                     .end_ns = packets->end_ns,
                                     .content_bits = bits,
                                     .packet_bits = bits,
                                     .discarded = packets->discarded,
                                     .number = packets->count++};
    out_write(packets->out, &head, sizeof(head));
    packets->body.count -= packets->whole;
    if (packets->whole)
        out_write(packets->out, packets->body.items, packets->whole);
    if (packets->body.count)
        memmove(packets->body.items, packets->body.items + packets->whole, packets->body.count);
    packets->whole = 0;
    packets->begin_ns = packets->end_ns;
}

/* Of the first packet, readers only say that something may be missing: it has no loss. */
static int take(struct packets *packets, uint64_t time_ns, const void *record, uint32_t size)
{
    uint64_t lost;
    if (vec_reserve(&packets->body, sizeof(time_ns)) != 0)
        return -ENOMEM;
    memcpy(packets->body.items + packets->whole, &time_ns, sizeof(time_ns));
    packets->body.count += sizeof(time_ns);
    int error = ctf_spell_out(packets->records, record, size, &packets->body, &lost);
    if (error)
        return error;
    if (packets->count == 0 && packets->whole == 0)
        packets->begin_ns = packets->end_ns = time_ns;
    bool full = packets->whole && packets->body.count > PACKET_BYTES;
    if (full || (lost && packets->count == 0))
        put_packet(packets);
    if (packets->whole == 0)
        packets->begin_ns = time_ns;
    packets->end_ns = time_ns;
    packets->whole = packets->body.count;
    packets->discarded =
        lost < DISCARDED_MAX - packets->discarded ? packets->discarded + lost : DISCARDED_MAX;
    if (lost)
        put_packet(packets);
    return 0;
}

int ctf_put_packets(struct ctf_records *records, struct out_stream *out)
{
    struct packets packets = {.records = records, .out = out};
    struct sorter_key key;
    const void *record;
    uint32_t size;
    int more, error = records->error ? records->error : sorter_finish(records->sorter);
    while (!error && (more = sorter_next(records->sorter, &key, &record, &size)) != 0) {
        error = more < 0 ? more : take(&packets, (uint64_t)key.first, record, size);
        error = error ? error : out_error(out);
    }
    if (!error && (packets.whole || !packets.count))
        put_packet(&packets);
    vec_free(&packets.body);
    return error;
}
