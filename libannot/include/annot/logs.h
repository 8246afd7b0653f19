/* SPDX-License-Identifier: MIT */
/* Names made by printf, log messages, last words, and numbers that link a recording to logs and to
 * other services. Part of annot.h, which states the rules common to all of annot. */
#ifndef ANNOT_LOGS_H
#define ANNOT_LOGS_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

enum annot_severity {
    ANNOT_SEVERITY_DEBUG = 0,
    ANNOT_SEVERITY_INFO = 1,
    ANNOT_SEVERITY_WARNING = 2,
    ANNOT_SEVERITY_ERROR = 3,
    ANNOT_SEVERITY_FATAL = 4
};

ANNOT_EMIT void annot_emit_log(enum annot_severity severity, const char *text);
ANNOT_EMIT void annot_emit_push_format(const char *format, ...) ANNOT_PRINTF(1, 2);
ANNOT_EMIT void annot_emit_mark_format(const char *format, ...) ANNOT_PRINTF(1, 2);
ANNOT_EMIT void annot_emit_log_format(enum annot_severity severity, const char *format, ...)
    ANNOT_PRINTF(2, 3);

/* ---- Names made by printf ----------------------------------------------------------------------
 */

/* The text is cut at 1,024 bytes. Arguments are evaluated only while a recording runs. Not for
 * signal handlers. Names of ranges are interned while half of the table is free. Cost: that of
 * snprintf. */
#define annot_push_format(...)                                                                     \
    (ANNOT_UNLIKELY(annot_enabled()) ? annot_emit_push_format(__VA_ARGS__) : (void)0)
#define annot_mark_format(...)                                                                     \
    (ANNOT_UNLIKELY(annot_enabled()) ? annot_emit_mark_format(__VA_ARGS__) : (void)0)
#define annot_log_format(severity, ...)                                                            \
    (ANNOT_UNLIKELY(annot_enabled()) ? annot_emit_log_format((severity), __VA_ARGS__) : (void)0)

/* ---- Logs, crashes, other tools ----------------------------------------------------------------
 */

/* A mark with a severity, as a key-value. The text is not interned, so every text may differ.
 * Cost: 2 P. */
ANNOT_UNTRACED static inline void annot_log(enum annot_severity severity, const char *text)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_log(severity, text);
}

/* Records the last word of this process, for a handler of SIGSEGV or SIGABRT: works in any state of
 * the interrupted code, once per process; up to 984 bytes. Shown at the end of the process. */
ANNOT_API void annot_abort_note(const char *text);

/* Returns a number of the calling thread's innermost range, to write into logs; docs/wire-format.md
 * describes how a reader of a recording finds the range of a number. 0: no open range, or no
 * recording. Cost: 0.2 P. */
ANNOT_API uint64_t annot_current(void);

/* Returns a number of the process's current recording, different in each. A library that keeps
 * ranges open for long, or emits values only when they change, must emit them again when this
 * number changes. 0: no recording, or not known at this instant. Cost: 0.5 P. */
ANNOT_API uint64_t annot_recording(void);

/* W3C trace context. `annot_trace_context` writes a traceparent ("00-...-01", 55 characters and
 * NUL) that names the innermost range, for a request to another service, and begins an arrow here;
 * annot_trace_context_adopt takes the one of an incoming request: the arrow arrives here, and
 * requests that this thread sends belong to the same trace, until it adopts another one or NULL.
 * Both return 1, or 0 without effect: no recording, or the text is not a traceparent. */
enum { ANNOT_TRACE_CONTEXT_SIZE = 56 };

ANNOT_API int annot_trace_context(char text[ANNOT_TRACE_CONTEXT_SIZE]);
ANNOT_API int annot_trace_context_adopt(const char *traceparent);

#ifdef __cplusplus
}
#endif

#endif
