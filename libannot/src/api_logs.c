/* SPDX-License-Identifier: MIT */
/* The public functions of logs.h: the current range, trace context, texts and logs. And those of
 * observers.h for open ranges and notes about the process. */
#include "api.h"
#include "clock.h"
#include "levels.h"
#include "mix.h"
#include "proc.h"
#include "process.h"
#include "session.h"
#include "spell.h"
#include "strings.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <annot_barrier.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Text of a W3C traceparent --------------------------------------------------------------- */

/* "VERSION-TRACE-SPAN-FLAGS" in lower-case hexadecimal digits of fixed width. Version 00 ends
 * there, later ones may continue after a "-"; ff is invalid. */

struct trace_context {
    uint64_t trace[2]; /* high, low */
    uint64_t span;
};

static char *append_part(char *at, const char *end, uint64_t value)
{
    return text_append_hex(at, end, value, 16);
}

/* Writes "00-...-01" and NUL, ANNOT_TRACE_CONTEXT_SIZE bytes. */
static void trace_context_write(const struct trace_context *context, char *text)
{
    const char *end = text + ANNOT_TRACE_CONTEXT_SIZE;
    char *at = text_append(text, end, "00-");
    at = append_part(at, end, context->trace[0]);
    at = append_part(at, end, context->trace[1]);
    at = text_append(at, end, "-");
    at = append_part(at, end, context->span);
    text_append(at, end, "-01");
}

/* Reads exactly `count` digits. Returns the rest, or NULL. */
static const char *read_hex(const char *at, int count, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (; at && count > 0; count--, at++) {
        if (*at >= '0' && *at <= '9')
            value = value << 4 | (uint64_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f')
            value = value << 4 | (uint64_t)(*at - 'a' + 10);
        else
            return NULL;
    }
    *ret_value = value;
    return at;
}

static const char *read_dash(const char *at)
{
    return at && *at == '-' ? at + 1 : NULL;
}

/* Returns 1, or 0 if the text is not a traceparent. */
static int trace_context_read(const char *text, struct trace_context *context)
{
    uint64_t version, flags;
    const char *at = read_dash(read_hex(text, 2, &version));
    at = read_hex(at, 16, &context->trace[0]);
    at = read_dash(read_hex(at, 16, &context->trace[1]));
    at = read_dash(read_hex(at, 16, &context->span));
    at = read_hex(at, 2, &flags);
    if (!at || version == 0xff || (*at != 0 && (version == 0 || *at != '-')))
        return 0;
    return (context->trace[0] | context->trace[1]) != 0 && context->span != 0;
}

/* ---- The current range ----------------------------------------------------------------------- */

/* Returns the innermost recorded range; 0: none. In a signal handler, includes the progress of the
 * interrupted event: an entry of the live stack is complete before the depth counts it. */
static uint32_t innermost(const struct annot_thread *thread)
{
    uint32_t depth = annot_load_relaxed(&thread->depth);
    for (uint32_t level = depth; level > 0 && depth - level < ANNOT_LIVE_DEPTH; level--) {
        uint32_t instance = thread->live[(level - 1) % ANNOT_LIVE_DEPTH].instance;
        if (instance)
            return instance;
    }
    return 0;
}

static uint64_t current(const struct control *control)
{
    uint32_t instance = control->thread && !control->shadow ? innermost(control->thread) : 0;
    if (instance == 0)
        return 0;
    uint64_t number = mix(control->current ^ instance * MIX_INSTANCE);
    return number ? number : 1;
}

static APART void general(uint8_t kind, uint64_t id)
{
    struct emission emission = {.kind = kind, .id = id};
    emit_general(&emission);
}

struct control *api_recording(void)
{
    struct control *control = annot_control;
    if (!is_ready(control)) { /* it may have to switch to another session first */
        general(ANNOT_REC_NONE, 0);
        control = annot_control;
    }
    return annot_enabled() && control->segment && !control->shadow ? control : NULL;
}

uint64_t annot_current(void)
{
    struct control *control = annot_control;
    if (__builtin_expect(is_ready(control), 1))
        return current(control);
    FORWARD_VALUE(current, 0);
    control = annot_enabled() ? api_recording() : NULL;
    return control ? current(control) : 0;
}

/* A copy without this function has only the gate, which changes with other recordings too. */
uint64_t annot_recording(void)
{
    FORWARD_VALUE(recording, annot_gate_v1.generation);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    return control ? control->segment->session_id : 0;
}

/* ---- W3C trace context ----------------------------------------------------------------------- */

/* Returns the span: the innermost range, or a new number. */
static APART uint64_t write_context(struct control *control, char *text)
{
    struct trace_context context = {{control->keep->trace[0], control->keep->trace[1]},
                                    current(control)};
    if ((context.trace[0] | context.trace[1]) == 0) {
        context.trace[0] = control->segment->session_id;
        context.trace[1] = control->segment->header->info.identity;
    }
    if (context.span == 0)
        context.span = emit_take_id();
    trace_context_write(&context, text);
    return context.span;
}

int annot_trace_context(char text[ANNOT_TRACE_CONTEXT_SIZE])
{
    FORWARD_VALUE(trace_context, 0, text);
    struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control)
        return 0;
    general(ANNOT_REC_FLOW_BEGIN, write_context(control, text));
    return 1;
}

/* Returns 1 if the text is valid or NULL; ret_span gets the sender's span, or 0. */
static APART int read_context(struct control *control, const char *traceparent, uint64_t *ret_span)
{
    struct trace_context context = {0};
    if (traceparent && !trace_context_read(traceparent, &context))
        return 0;
    control->keep->trace[0] = context.trace[0];
    control->keep->trace[1] = context.trace[1];
    *ret_span = context.span;
    return 1;
}

int annot_trace_context_adopt(const char *traceparent)
{
    uint64_t span;
    FORWARD_VALUE(trace_context_adopt, 0, traceparent);
    struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control || !read_context(control, traceparent, &span))
        return 0;
    if (span)
        general(ANNOT_REC_FLOW_END, span);
    return 1;
}

/* ---- Open ranges ----------------------------------------------------------------------------- */

/* Copies a thread's open ranges, for another thread that continues its work, and reads names. */

/* Reads one of the live stack; returns 0 if it is a parent's, or its name is unknown. */
static int copy_open(struct control *control, uint32_t index, struct annot_open_range *ret_range)
{
    const struct annot_open *open = levels_live(control, index);
    if (!open || open->name == 0)
        return 0;
    *ret_range = (struct annot_open_range){.name = open->name};
    if (open->time < ANNOT_OPEN_MARK_END) {
        const uint64_t kinds = ANNOT_OPEN_MARK(ANNOT_OPEN_INHERITED, 0);
        ret_range->domain = (annot_domain)(open->time >> 2);
        ret_range->is_shown = 1;
        return (open->time & kinds) != ANNOT_OPEN_INHERITED;
    }
    const struct open_scope *scope =
        index < ANNOT_LIVE_DEPTH ? &control->keep->scopes[index] : NULL;
    if (scope && open->instance != 0 && scope->instance == open->instance) {
        ret_range->domain = scope->domain;
        ret_range->category = scope->category;
    }
    return 1;
}

uint32_t annot_open_ranges(struct annot_open_range *ranges, uint32_t count)
{
    uint32_t copied = 0;
    FORWARD_VALUE(open_ranges, 0, ranges, count);
    struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control || !control->thread)
        return 0;
    for (uint32_t i = 0; i < control->live_depth && copied < count; i++)
        copied += (uint32_t)copy_open(control, i, &ranges[copied]);
    return copied;
}

static size_t no_text(char *text, size_t size)
{
    if (size)
        text[0] = 0;
    return 0;
}

size_t annot_name_text(annot_name name, char *text, size_t size)
{
    FORWARD_VALUE(name_text, no_text(text, size), name, text, size);
    const struct annot_string *string = strings_get(name);
    if (!string || string_kind(string) != ANNOT_STRING_NAME || size == 0)
        return no_text(text, size);
    size_t length = string_length(string), kept = length < size ? length : size - 1;
    memcpy(text, string_bytes(string), kept);
    text[kept] = 0;
    return length;
}

/* ---- The last word of a process -------------------------------------------------------------- */

static void fill(struct annot_note *note, const char *text)
{
    struct string_key key;
    uint32_t unwritten = 0;
    /* Partner: itself; one writes. */
    if (!annot_cas_acq_rel(&note->state, &unwritten, 1u))
        return;
    string_key_init(&key, text, ANNOT_STRING_NAME);
    uint32_t length = key.length;
    if (length > ANNOT_NOTE_MAX)
        length = text_cut(key.bytes, ANNOT_NOTE_MAX);
    note->tid = proc_tid();
    note->time = clock_now();
    note->length = length;
    memcpy(note->text, key.bytes, length);
    annot_store_release(&note->state, 2u); /* partner: the collector's acquire load */
}

static void note_write(const char *text)
{
    uint64_t gate = annot_gate_v1.generation;
    if (gate == 0)
        return;
    uint64_t before = proc_block_signals(); /* a handler that forks would lose the segment */
    struct segment *segment = process_join(gate);
    if (segment) {
        fill(&segment->header->note, text);
        segment_put(segment);
    }
    proc_restore_signals(before);
}

/* ---- Names made by printf -------------------------------------------------------------------- */

/* Falls back to `format` on failure; NULL stays, and becomes "(null)" as everywhere. */
static const char *format_text(char *scratch, const char *format, va_list arguments)
{
    int error = errno;
    if (!format || !scratch)
        return format;
    /* clang-tidy 14 does not see the callers' va_start. NOLINTNEXTLINE(clang-analyzer-valist*) */
    int length = vsnprintf(scratch, SCRATCH_SIZE, format, arguments);
    errno = error;
    return length >= 0 ? scratch : format;
}

static APART void push_from(const char *text, uintptr_t frame)
{
    struct emission emission = {.kind = ANNOT_REC_PUSH, .text = text, .manner = SPELL_SPARING};
    emit_from(&emission, frame);
}

static APART void mark_from(const char *text, uintptr_t frame)
{
    struct emission emission = {.kind = ANNOT_REC_MARK, .text = text, .manner = SPELL_INLINE};
    emit_from(&emission, frame);
}

void push_formatted(const char *text)
{
    push_from(text, stack_pointer());
}

void mark_formatted(const char *text)
{
    mark_from(text, stack_pointer());
}

/* A serving copy without this function must push all the same: the pop will come. */
static void push_text(const char *text, uintptr_t frame)
{
    if (runtime_other && !RUNTIME_HAS(push_formatted))
        FORWARD(push, text);
    FORWARD(push_formatted, text);
    push_from(text, frame);
}

static void mark_text(const char *text, uintptr_t frame)
{
    FORWARD(mark_formatted, text);
    mark_from(text, frame);
}

void annot_emit_push_format(const char *format, ...)
{
    char *scratch = scratch_take();
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(scratch, format, arguments);
    va_end(arguments);
    push_text(text, (uintptr_t)__builtin_frame_address(0));
    scratch_give(scratch);
}

void annot_emit_mark_format(const char *format, ...)
{
    char *scratch = scratch_take();
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(scratch, format, arguments);
    va_end(arguments);
    mark_text(text, (uintptr_t)__builtin_frame_address(0));
    scratch_give(scratch);
}

/* ---- Logs ------------------------------------------------------------------------------------ */

#define SEVERITY(text)                                                                             \
    {                                                                                              \
        .key = "severity", .value.string = (text), .kind = ANNOT_PAYLOAD_STRING                    \
    }

static const struct annot_value severities[] = {
    SEVERITY("debug"), SEVERITY("info"), SEVERITY("warning"), SEVERITY("error"), SEVERITY("fatal")};

enum { SEVERITIES = sizeof(severities) / sizeof(*severities) };

static unsigned number_of(enum annot_severity severity)
{
    return (unsigned)severity < SEVERITIES ? (unsigned)severity : ANNOT_SEVERITY_FATAL;
}

/* The default domain of logs, which identifies a message and its severity to readers. */
static annot_domain domain_of(unsigned severity)
{
    static annot_domain domains[SEVERITIES];
    annot_domain domain = annot_load_relaxed(&domains[severity]);
    if (domain == 0) { /* a concurrent call gets the same number */
        domain = annot_domain_observed("", ANNOT_OBSERVER_LOG, (uint16_t)(severity + 1));
        annot_store_relaxed(&domains[severity], domain);
    }
    return domain;
}

static APART void log_from(enum annot_severity severity, const char *text, uintptr_t frame)
{
    unsigned number = number_of(severity);
    struct emission emission = {.kind = ANNOT_REC_MARK,
                                .text = text,
                                .manner = SPELL_INLINE,
                                .domain = domain_of(number),
                                .values = &severities[number],
                                .value_count = 1};
    emit_from(&emission, frame);
}

static void log_text(enum annot_severity severity, const char *text, uintptr_t frame)
{
    FORWARD(log, severity, text);
    log_from(severity, text, frame);
}

void annot_emit_log(enum annot_severity severity, const char *text)
{
    log_text(severity, text, stack_pointer());
}

void annot_emit_log_format(enum annot_severity severity, const char *format, ...)
{
    domain_of(number_of(severity)); /* while the scratch is free */
    char *scratch = scratch_take();
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(scratch, format, arguments);
    va_end(arguments);
    log_text(severity, text, (uintptr_t)__builtin_frame_address(0));
    scratch_give(scratch);
}

void annot_abort_note(const char *text)
{
    FORWARD(abort_note, text);
    int error = errno;
    note_write(text);
    errno = error;
}

/* ---- Notes about the process ----------------------------------------------------------------- */

static void emit_remark(const char *text)
{
    int cancel, error = errno;
    struct refusal ignored;
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control)
        return;
    uint64_t session_id = control->segment->session_id;
    uint64_t before = proc_block_signals(); /* a handler that forks would leave the file open */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int directory_fd = directory_open(&ignored);
    if (directory_fd >= 0) {
        process_notes_emit_one(directory_fd, session_id, text);
        close(directory_fd);
    }
    pthread_setcancelstate(cancel, &cancel);
    proc_restore_signals(before);
    errno = error;
}

/* Written before it is stored, so that a concurrent join does not write it as well. */
void annot_process_note(const char *text)
{
    char clean[ANNOT_PROCESS_NOTE_MAX + 1];
    FORWARD(process_note, text);
    uint32_t index = process_notes_take(clean, text);
    if (index == PROCESS_NOTES_UNKEPT)
        return;
    emit_remark(clean);
    process_notes_keep(index, clean);
}

/* ---- For later copies ------------------------------------------------------------------------ */

OWN(annot_current);
OWN(annot_recording);
OWN(annot_trace_context);
OWN(annot_trace_context_adopt);
OWN(annot_open_ranges);
OWN(annot_name_text);
OWN(push_formatted);
OWN(mark_formatted);
OWN(annot_emit_log);
OWN(annot_abort_note);
OWN(annot_process_note);
