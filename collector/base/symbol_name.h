/* SPDX-License-Identifier: MIT */
/* Demangles names: C++ and Rust (both manglings) by libiberty; without it names stay as in the
 * file. Always UTF-8, without control characters, of bounded length. Thread-safety: any thread. */
#ifndef ANNOT_SYMBOL_NAME_H
#define ANNOT_SYMBOL_NAME_H

#include <stddef.h>

/* Bytes of a name, its NUL included; longer ones end with an ellipsis. */
enum { SYMBOL_NAME_SIZE = 1024 };

/* Removes a version suffix ("memcpy@@GLIBC_2.14") and keeps "@plt". Returns the length. */
size_t symbol_demangle(const char *name, char buffer[SYMBOL_NAME_SIZE]);

/* An unmangled name of any length: made valid UTF-8 and cut. Returns the length. */
size_t symbol_clean(const char *name, size_t length, char buffer[SYMBOL_NAME_SIZE]);

#endif
