/* SPDX-License-Identifier: MIT */
/* The public functions of logs.h that leave texts. */
#include "api.h"
#include "note.h"
#include "scratch.h"
#include "spell.h"

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

static void push_from(const char *text, uintptr_t frame)
{
    struct emission emission = {
        .kind = ANNOT_REC_PUSH, .text = text, .manner = SPELL_SPARING, .frame = frame};
    emit_general(&emission);
}

static void mark_from(const char *text, uintptr_t frame)
{
    struct emission emission = {
        .kind = ANNOT_REC_MARK, .text = text, .manner = SPELL_INLINE, .frame = frame};
    emit_general(&emission);
}

void push_formatted(const char *text)
{
    push_from(text, 0);
}

void mark_formatted(const char *text)
{
    mark_from(text, 0);
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

static const char *severity_text(enum annot_severity severity)
{
    static const char *const texts[] = {"debug", "info", "warning", "error", "fatal"};
    unsigned number = (unsigned)severity;
    return texts[number < sizeof(texts) / sizeof(*texts) ? number : ANNOT_SEVERITY_FATAL];
}

static void log_from(enum annot_severity severity, const char *text, uintptr_t frame)
{
    const struct annot_value value = annot_value_string("severity", severity_text(severity));
    struct emission emission = {.kind = ANNOT_REC_MARK,
                                .text = text,
                                .manner = SPELL_INLINE,
                                .values = &value,
                                .value_count = 1,
                                .frame = frame};
    emit_general(&emission);
}

static void log_text(enum annot_severity severity, const char *text, uintptr_t frame)
{
    FORWARD(log, severity, text);
    log_from(severity, text, frame);
}

void annot_emit_log(enum annot_severity severity, const char *text)
{
    log_text(severity, text, 0);
}

void annot_emit_log_format(enum annot_severity severity, const char *format, ...)
{
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
