/* SPDX-License-Identifier: MIT */
/* Functions shared by tests of symbols: commands, files of the test's directory, modules by path.
 * Thread-safety: none. */
#ifndef NAMED_FILES_H
#define NAMED_FILES_H

#include "symbol_module.h"
#include "test.h"

/* A path inside the test's directory; valid until the test ends. */
char *test_path(const char *name);
/* Fails the test unless the command succeeds. */
__attribute__((format(printf, 1, 2))) void test_shell(const char *format, ...);
/* A program from the environment; skips the test if it is unset or empty. */
const char *test_tool(const char *variable);
struct elf_file *test_open(const char *path);
struct symbol_module *test_module(const char *path);

#endif
