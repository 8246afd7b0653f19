/* SPDX-License-Identifier: MIT */
/* The public functions of logs.h that leave texts. */
#include "api.h"
#include "note.h"
#include "proc.h"
#include "scratch.h"
#include "spell.h"

#include <annot/observers.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- Names made by printf -------------------------------------------------------------------- */

/* Where that fails, what it was to be made of; of NULL, "(null)" as everywhere. */
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

/* A serving copy that does not know this must push all the same: the pop will come. */
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

/* The default domain, by which a reader knows a message and its severity. */
static annot_domain domain_of(unsigned severity)
{
    static annot_domain domains[SEVERITIES];
    annot_domain domain = annot_load_relaxed(&domains[severity]);
    if (domain == 0) { /* it comes out the same twice */
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

OWN(push_formatted);
OWN(mark_formatted);
OWN(annot_emit_log);
OWN(annot_abort_note);
