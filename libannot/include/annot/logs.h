/* SPDX-License-Identifier: MIT */
/* Names made by printf, log messages, last words, and numbers that tie a recording to logs and to
 * other services. Part of annot.h, which says what holds for all of annot. */
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

/* The text is cut at 1,024 bytes. Arguments are evaluated only while somebody records. Not for
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

/* A mark with a severity, as a key-value. The text is not kept in the table of names, so each may
 * be another. Cost: 2 P. */
ANNOT_UNTRACED static inline void annot_log(enum annot_severity severity, const char *text)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_log(severity, text);
}

/* The last word of this process, for a handler of SIGSEGV or SIGABRT: works in whatever state the
 * interrupted code is, once per process; up to 984 bytes. Shown where the process ends. */
ANNOT_API void annot_abort_note(const char *text);

/* A number of the calling thread's innermost range, to write into logs; docs/wire-format.md says
 * how a reader of a recording finds the range of a number. 0: none is open, or nobody records.
 * Cost: 0.2 P. */
ANNOT_API uint64_t annot_current(void);

/* A number of the recording that this process takes part in: another one in each. What a library
 * keeps open over a long time, or tells only where it has changed, has to be told anew when this
 * has. 0: none, or not known at this instant. Cost: 0.5 P. */
ANNOT_API uint64_t annot_recording(void);

/* W3C trace context. `annot_trace_context` writes a traceparent ("00-...-01", 55 characters and
 * NUL) that names the innermost range, for a request to another service, and lets an arrow leave
 * here; annot_trace_context_adopt takes the one of a request that came in: the arrow arrives here,
 * and what this thread sends on belongs to the same trace, until it adopts another one or NULL.
 * Both return 1, or 0 with nothing done: nobody records, or the text is no traceparent. */
enum { ANNOT_TRACE_CONTEXT_SIZE = 56 };

ANNOT_API int annot_trace_context(char text[ANNOT_TRACE_CONTEXT_SIZE]);
ANNOT_API int annot_trace_context_adopt(const char *traceparent);

#ifdef __cplusplus
}
#endif

#endif
