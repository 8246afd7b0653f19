/* SPDX-License-Identifier: MIT */
/* Names as programmers wrote them: C++ and Rust (both manglings) by libiberty; without it as they
 * stand in the file. Always UTF-8, without control characters, of bounded length.
 * Thread-safety: any thread. */
#ifndef ANNOT_SYMBOL_NAME_H
#define ANNOT_SYMBOL_NAME_H

#include <stddef.h>

/* Bytes of a name, its NUL included; longer ones end with an ellipsis. */
enum { SYMBOL_NAME_SIZE = 1024 };

/* A version behind the name ("memcpy@@GLIBC_2.14") goes, "@plt" stays. Returns the length. */
size_t symbol_demangle(const char *name, char buffer[SYMBOL_NAME_SIZE]);

/* A name that is not mangled, of any length: made UTF-8 and cut. Returns the length. */
size_t symbol_clean(const char *name, size_t length, char buffer[SYMBOL_NAME_SIZE]);

#endif
