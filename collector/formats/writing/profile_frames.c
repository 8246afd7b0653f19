/* SPDX-License-Identifier: MIT */
/* See profile_frames.h. */
#include "profile_frames.h"
#include "code_owner.h"
#include "export.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int profile_frames_init(struct profile_frames *frames, const struct export_job *job)
{
    const struct trace *trace = job->source->trace;
    *frames = (struct profile_frames){.trace = trace, .prefixes = job->options->strip_prefix};
    frames->label_count = stacks_label_count(trace_stacks_get(trace));
    frames->of_label = calloc(frames->label_count + 1u, sizeof(*frames->of_label));
    frames->name_count = trace_string_count(trace);
    frames->of_name = calloc(frames->name_count + 1u, sizeof(*frames->of_name));
    int error = chosen_frames_init(&frames->chosen, trace, export_frames(job->options));
    return frames->of_label && frames->of_name ? error : -ENOMEM;
}

void profile_frames_fini(struct profile_frames *frames)
{
    chosen_frames_fini(&frames->chosen);
    free(frames->of_label);
    free(frames->of_name);
    wide_map_free(&frames->others);
    vec_free(&frames->frames);
    *frames = (struct profile_frames){0};
}

static int64_t append(struct profile_frames *frames, const struct profile_frame *frame)
{
    int64_t number = (int64_t)frames->frames.count;
    return vec_push(&frames->frames, *frame) ? -ENOMEM : number;
}

/* `place` holds its number + 1, or is set to it. */
static int64_t add_at(struct profile_frames *frames, uint32_t *place,
                      const struct profile_frame *frame)
{
    if (!*place) {
        int64_t number = append(frames, frame);
        if (number < 0)
            return number;
        *place = (uint32_t)number + 1;
    }
    return *place - INT64_C(1);
}

static int64_t add_function(struct profile_frames *frames, uint32_t label)
{
    uint32_t known = label < frames->label_count ? label : 0;
    const struct profile_frame frame = {PROFILE_FUNCTION, known, 0};
    return add_at(frames, &frames->of_label[known], &frame);
}

int64_t profile_frames_add(struct profile_frames *frames, const struct profile_frame *frame)
{
    if (frame->kind == PROFILE_FUNCTION)
        return add_function(frames, frame->id);
    const struct wide_key *key = WIDE_KEY(frame->kind, frame->id, frame->domain);
    const uint64_t *known = wide_map_find(&frames->others, key);
    if (known)
        return (int64_t)*known;
    int64_t number = append(frames, frame);
    return number < 0 || wide_map_put(&frames->others, key, (uint64_t)number) ? -ENOMEM : number;
}

int64_t profile_frames_range(struct profile_frames *frames, const struct event *event)
{
    uint32_t domain = event->scope ? trace_scope_domain(frames->trace, event->scope) : 0;
    const struct profile_frame frame = {PROFILE_RANGE, event->name, domain};
    if (!domain && event->name < frames->name_count)
        return add_at(frames, &frames->of_name[event->name], &frame);
    return profile_frames_add(frames, &frame);
}

int64_t profile_frames_stack(struct profile_frames *frames, uint32_t stack, uint32_t *ret_frames)
{
    const struct stacks *stacks = trace_stacks_get(frames->trace);
    uint32_t count = chosen_frames_get(&frames->chosen, stack, ret_frames, PROFILE_DEPTH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        int64_t number = add_function(frames, stacks_get_frame(stacks, ret_frames[i])->label);
        if (number < 0)
            return number;
        ret_frames[i] = (uint32_t)number;
    }
    if (count > 0)
        return count;
    int64_t frame_number =
        profile_frames_add(frames, &(struct profile_frame){PROFILE_NO_STACK, 0, 0});
    ret_frames[0] = frame_number < 0 ? 0 : (uint32_t)frame_number;
    return frame_number < 0 ? frame_number : 1;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static const char *short_path(const struct trace *trace, uint32_t path, const char *prefixes)
{
    return path ? call_short_path(trace_string(trace, path)->bytes, prefixes) : NULL;
}

static void describe_function(const struct trace *trace, const char *prefixes, uint32_t number,
                              struct profile_frame_text *text)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, number);
    uint32_t source = stacks_get_source(stacks, label->source)->path;
    uint32_t module = stacks_get_module(stacks, label->module)->path;
    text->name_length = code_name(trace, number, text->buffer, sizeof(text->buffer));
    text->name = text->buffer;
    text->line = label->first_line > 0 ? label->first_line : 0;
    text->file = short_path(trace, source ? source : module, prefixes);
}

static void describe_range(const struct trace *trace, const char *prefixes,
                           const struct profile_frame *frame, struct profile_frame_text *text)
{
    uint32_t file = call_source(trace, frame->id, &text->line);
    text->name = frame->id ? trace_string(trace, frame->id)->bytes : "(unnamed)";
    text->name_length = strlen(text->name);
    text->file = short_path(trace, file, prefixes);
    if (!frame->domain)
        return;
    const char *domain = trace_string(trace, frame->domain)->bytes;
    int length = asprintf(&text->owned, "%s:%s", domain, text->name);
    if (length < 0) {
        text->owned = NULL;
        return;
    }
    text->name = text->owned;
    text->name_length = (size_t)length;
}

void profile_frame_describe(const struct trace *trace, const char *prefixes,
                            const struct profile_frame *frame, struct profile_frame_text *text)
{
    text->file = NULL;
    text->line = 0;
    text->owned = NULL;
    if (frame->kind == PROFILE_FUNCTION) {
        describe_function(trace, prefixes, frame->id, text);
        return;
    }
    if (frame->kind == PROFILE_RANGE) {
        describe_range(trace, prefixes, frame, text);
        return;
    }
    struct text name = text_init(text->buffer, sizeof(text->buffer));
    text_format(&name, "[%s]",
                frame->kind == PROFILE_RUNNABLE   ? "runnable"
                : frame->kind == PROFILE_NO_STACK ? "no stack"
                                                  : wait_reason_name((enum wait_reason)frame->id));
    text->name = text->buffer;
    text->name_length = name.length;
}

void profile_frame_text_fini(struct profile_frame_text *text)
{
    free(text->owned);
    text->owned = NULL;
}

void profile_process_title(const struct trace *trace, uint32_t process, char *buffer)
{
    struct text text = text_init(buffer, PROFILE_TITLE_SIZE);
    if (process >= trace_process_count(trace))
        return;
    text.length = trace_process_label(trace, process, buffer, PROFILE_TITLE_SIZE / 2 - 32);
    text_format(&text, " %" PRId32, trace_process_get(trace, process)->pid);
}

void profile_thread_title(const struct trace *trace, uint32_t thread, char *buffer)
{
    struct text text = text_init(buffer, PROFILE_TITLE_SIZE);
    if (thread >= trace_thread_count(trace))
        return;
    text.length = trace_thread_label(trace, thread, buffer, PROFILE_TITLE_SIZE / 2 - 32);
    text_format(&text, " %" PRId32, trace_thread_get(trace, thread)->tid);
}

void profile_full_title(const struct trace *trace, uint32_t thread, char *buffer)
{
    char label[PROFILE_TITLE_SIZE];
    profile_process_title(trace, trace_thread_get(trace, thread)->process, buffer);
    profile_thread_title(trace, thread, label);
    struct text text = {buffer, PROFILE_TITLE_SIZE, strlen(buffer)};
    text_format(&text, "%s%s", text.length ? " / " : "", label);
}
