/* SPDX-License-Identifier: MIT */
/* Packets of a Perfetto trace that lie compressed in another one, by zlib, gzip or zstd. */
#include "from_perfetto_parts.h"

#include <errno.h>
#include <zlib.h>
#include <zstd.h>

enum { STEP = 256 << 10 };

/* Room for more; as perfetto_inflate. */
static int make_room(struct perfetto *trace)
{
    if (trace->unpacked.count >= INPUT_PIECE_MAX)
        return -EMSGSIZE;
    return vec_reserve(&trace->unpacked, STEP);
}

static int inflate_all(struct perfetto *trace, z_stream *z)
{
    int status = Z_OK;
    while (status != Z_STREAM_END) {
        int error = make_room(trace);
        if (error)
            return error;
        z->next_out = trace->unpacked.items + trace->unpacked.count;
        z->avail_out = STEP;
        status = inflate(z, Z_NO_FLUSH);
        trace->unpacked.count += STEP - z->avail_out;
        if (status == Z_MEM_ERROR)
            return -ENOMEM;
        if (status != Z_OK && status != Z_STREAM_END)
            return -EBADMSG;
    }
    return 0;
}

int perfetto_inflate(struct perfetto *trace, const struct proto *packed)
{
    z_stream z = {.next_in = (Bytef *)packed->at, .avail_in = (uInt)(packed->end - packed->at)};
    trace->unpacked.count = 0;
    if (inflateInit2(&z, 15 + 32) != Z_OK)
        return -ENOMEM;
    int error = inflate_all(trace, &z);
    inflateEnd(&z);
    return error;
}

int perfetto_unzstd(struct perfetto *trace, const struct proto *packed)
{
    ZSTD_inBuffer in = {packed->at, (size_t)(packed->end - packed->at), 0};
    ZSTD_DStream *stream = ZSTD_createDStream();
    size_t status = 1, before = 0;
    int error = stream ? 0 : -ENOMEM;
    trace->unpacked.count = 0;
    while (!error && (status || in.pos < in.size)) {
        error = make_room(trace);
        if (error)
            break;
        ZSTD_outBuffer out = {trace->unpacked.items + trace->unpacked.count, STEP, 0};
        before = in.pos;
        status = ZSTD_decompressStream(stream, &out, &in);
        trace->unpacked.count += out.pos;
        if (ZSTD_isError(status) || (status && !out.pos && in.pos == before))
            error = -EBADMSG;
    }
    ZSTD_freeDStream(stream);
    return error;
}
