/* SPDX-License-Identifier: MIT */
/* Messages of library code. Nothing is printed here: a sink set by the program gets them; without
 * one they vanish. Thread-safety: log_set_sink before threads start; log_message from any. */
#ifndef ANNOT_LOG_H
#define ANNOT_LOG_H

enum log_level {
    LOG_DEBUG = 0,
    LOG_INFO = 1,
    LOG_WARNING = 2,
    LOG_ERROR = 3,
};

/* `text` is one line without newline; valid during the call. */
typedef void log_sink_fn(void *context, enum log_level level, const char *text);

void log_set_sink(log_sink_fn *sink, void *context);

/* Cut at 1 KiB. */
__attribute__((format(printf, 2, 3))) void log_message(enum log_level level, const char *format,
                                                       ...);

#endif
