/* SPDX-License-Identifier: MIT */
/* Samples in file order. A damaged chunk is dropped where it becomes unreadable; the samples before
 * were handed out. Thread-safety: none. */
#include "sample_stream.h"

#include "chunk.h"
#include "sample_decode.h"
#include "volumes.h"

#include "stacks.h"

#include <errno.h>
#include <stdlib.h>

int sample_stream_init(struct sample_stream *stream)
{
    stream->decoder = sample_decoder_create();
    stream->from_ns = INT64_MIN;
    stream->samples = calloc(SAMPLE_STREAM_MAX, sizeof(*stream->samples));
    stream->values = calloc(SAMPLE_STREAM_MAX, sizeof(*stream->values));
    return stream->decoder && stream->samples && stream->values ? 0 : -ENOMEM;
}

void sample_stream_fini(struct sample_stream *stream)
{
    chunk_buffer_free(&stream->buffer);
    sample_decoder_destroy(stream->decoder);
    free(stream->samples);
    free(stream->values);
    vec_free(&stream->chunks);
}

int sample_stream_add(struct sample_stream *stream, const struct chunk_place *chunk)
{
    return vec_push(&stream->chunks, ((struct samples_chunk){.chunk = *chunk}));
}

static int load(struct sample_stream *stream, struct volumes *volumes,
                const struct chunk_place *chunk, const char **ret_reason)
{
    const uint8_t *payload;
    int error = volumes_load(volumes, &stream->buffer, chunk, &payload, ret_reason);
    if (error)
        return error;
    *ret_reason = "malformed samples";
    return sample_decoder_start(stream->decoder, payload, chunk->header.raw_size);
}

int sample_stream_highest_thread(struct sample_stream *stream, struct volumes *volumes,
                                 uint32_t *highest)
{
    const char *reason;
    struct sample sample;
    for (size_t i = 0; i < stream->chunks.count; i++) {
        int status = load(stream, volumes, &stream->chunks.items[i].chunk, &reason);
        while (status >= 0 &&
               (status = sample_decoder_next(stream->decoder, &sample, stream->values[0])) == 1)
            *highest = sample.thread > *highest ? sample.thread : *highest;
        if (status && status != -EBADMSG)
            return status;
    }
    return 0;
}

/* Notes the damage of the current chunk, once. */
static int note_damage(struct sample_stream *stream, struct volumes *volumes, const char *reason)
{
    struct samples_chunk *at = &stream->chunks.items[stream->next_chunk - 1];
    if (at->damage_noted)
        return 0;
    at->damage_noted = true;
    return volumes_add_damage(volumes, &at->chunk, reason);
}

/* Loads the next chunk: 1, 0 at the end, -errno. */
static int open_chunk(struct sample_stream *stream, struct volumes *volumes)
{
    while (stream->next_chunk < stream->chunks.count &&
           stream->chunks.items[stream->next_chunk].chunk.header.last_ns < stream->from_ns)
        stream->next_chunk++;
    if (stream->next_chunk == stream->chunks.count)
        return 0;
    const char *reason = NULL;
    int error = load(stream, volumes, &stream->chunks.items[stream->next_chunk++].chunk, &reason);
    stream->in_chunk = !error;
    if (error == -EBADMSG)
        error = note_damage(stream, volumes, reason);
    return error ? error : 1;
}

/* True if it agrees with its set, or the set is unknown. */
static bool is_of_its_set(const struct sample *sample, const struct sample_set *set)
{
    uint64_t length = (uint64_t)sample->end_ns - (uint64_t)sample->time_ns;
    if (set->count == 0)
        return true;
    if (sample->value_count != set->count)
        return false;
    if (!(set->flags & (SAMPLE_SET_STRETCH | SAMPLE_SET_INTERVAL)))
        return sample->end_ns == 0;
    for (unsigned i = 0; set->flags & SAMPLE_SET_STRETCH && i < set->count; i++)
        length -= (uint64_t)sample->values[i];
    return !(set->flags & SAMPLE_SET_STRETCH) || length == 0;
}

/* NULL: valid; references to definitions lost by damage become 0. */
static const char *find_flaw(struct sample *sample, const struct trace *trace)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    if (sample->stack >= stacks_stack_count(stacks))
        sample->stack = 0;
    if (sample->path >= stacks_path_count(stacks))
        sample->path = 0;
    if (sample->thread >= trace_thread_count(trace))
        return "samples of an unknown thread";
    const struct sample_set *set = sample_set_get(trace_sets_get(trace), sample->set);
    return is_of_its_set(sample, set) ? NULL : "samples that are not as their set says";
}

/* Reads some samples of the current chunk; 0 at its end. */
static int take_some(struct sample_stream *stream, struct volumes *volumes,
                     const struct trace *trace, uint32_t *ret_count)
{
    uint32_t count = 0;
    int status = 1, error = 0;
    while (count < SAMPLE_STREAM_MAX && !error) {
        status =
            sample_decoder_next(stream->decoder, &stream->samples[count], stream->values[count]);
        if (status != 1)
            break;
        const char *flaw = find_flaw(&stream->samples[count], trace);
        if (flaw)
            error = note_damage(stream, volumes, flaw);
        else
            count++;
    }
    *ret_count = count;
    stream->in_chunk = status == 1;
    if (status == -EBADMSG)
        error = note_damage(stream, volumes, "malformed samples");
    return status == -ENOMEM ? -ENOMEM : error;
}

int sample_stream_next(struct sample_stream *stream, struct volumes *volumes,
                       const struct trace *trace, const struct sample **ret_samples,
                       uint32_t *ret_count)
{
    *ret_samples = stream->samples;
    for (*ret_count = 0; *ret_count == 0;) {
        int status = stream->in_chunk ? 1 : open_chunk(stream, volumes);
        if (status == 1 && stream->in_chunk) {
            int error = take_some(stream, volumes, trace, ret_count);
            status = error ? error : 1;
        }
        if (status != 1)
            return status;
    }
    return 1;
}

void sample_stream_settle(struct sample_stream *stream)
{
    int64_t settled_ns = INT64_MAX;
    for (size_t i = stream->chunks.count; i-- > 0;) {
        struct samples_chunk *at = &stream->chunks.items[i];
        int64_t first_ns = store_time(at->chunk.header.first_ns);
        settled_ns = first_ns < settled_ns ? first_ns : settled_ns;
        at->settled_ns = settled_ns;
    }
    stream->settled = true;
}

int64_t sample_stream_settled_ns(const struct sample_stream *stream)
{
    size_t next = stream->next_chunk - (stream->in_chunk ? 1 : 0);
    if (!stream->settled)
        return INT64_MIN;
    return next < stream->chunks.count ? stream->chunks.items[next].settled_ns : INT64_MAX;
}

void sample_stream_forget(struct sample_stream *stream)
{
    if (stream->next_chunk == stream->chunks.count && !stream->in_chunk)
        stream->chunks.count = stream->next_chunk = 0;
}

void sample_stream_seek(struct sample_stream *stream, int64_t from_ns)
{
    sample_stream_rewind(stream);
    stream->from_ns = from_ns;
}

void sample_stream_rewind(struct sample_stream *stream)
{
    stream->from_ns = INT64_MIN;
    stream->next_chunk = 0;
    stream->in_chunk = false;
}
