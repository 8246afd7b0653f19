/* SPDX-License-Identifier: MIT */
/* The expected payloads in the recording of a program, event by event: lines of JSON in the file in
 * NVTX_LEDGER, which test_nvtx_payload.py compares. */
#ifndef ANNOT_NVTX_TRUTH_H
#define ANNOT_NVTX_TRUTH_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Members of a JSON object, without its braces. */
__attribute__((format(printf, 1, 2))) static inline void truth(const char *format, ...)
{
    FILE *file = fopen(getenv("NVTX_LEDGER"), "a");
    va_list arguments;
    EXPECT(file);
    fputc('{', file);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputs("}\n", file);
    fclose(file);
}

#endif
