/* SPDX-License-Identifier: MIT */
/* See printed_text.h. */
#include "printed_text.h"

#include "text.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int output = -1, before = -1;

/* A control character of terminals, including those of two bytes. */
static bool is_control(const char *text, off_t size)
{
    unsigned char byte = (unsigned char)text[0];
    unsigned char next = size > 1 ? (unsigned char)text[1] : 0;
    return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f ||
           (byte == 0xc2 && next >= 0x80 && next < 0xa0);
}

static void check(const char *text, off_t size, const char *command)
{
    for (off_t i = 0; i < size; i++)
        if (is_control(text + i, size - i)) {
            dprintf(STDERR_FILENO, "annot %s: byte %d at %lld\n", command, text[i], (long long)i);
            abort();
        }
    if (!utf8_is_text(text, (size_t)size)) {
        dprintf(STDERR_FILENO, "annot %s: no UTF-8\n", command);
        abort();
    }
}

/* Finds the leading digits of 2^64 minus a moment, in any unit of ten, as a number of its own. */
static void check_durations(const char *text, off_t size, const char *command)
{
    static const char wrapped[] = "184467";
    const char *end = text + size, *at = text;
    while ((at = memmem(at, (size_t)(end - at), wrapped, sizeof(wrapped) - 1))) {
        bool inside = at > text && (at[-1] == '.' || (at[-1] >= '0' && at[-1] <= '9'));
        if (!inside) {
            dprintf(STDERR_FILENO, "annot %s: %.40s\n", command, at);
            abort();
        }
        at++;
    }
}

static void prepare(void)
{
    output = memfd_create("output", MFD_CLOEXEC);
    stderr = fopen("/dev/null", "we");
    if (output < 0 || !stderr)
        abort();
    setenv("ANNOT_DIR", "/nonexistent", 1);
}

static void make_empty(void)
{
    if (ftruncate(output, 0) != 0 || lseek(output, 0, SEEK_SET) != 0)
        abort();
}

void printed_text_begin(void)
{
    if (output < 0)
        prepare();
    fflush(stdout);
    before = dup(STDOUT_FILENO);
    make_empty();
    if (before < 0 || dup2(output, STDOUT_FILENO) < 0)
        abort();
}

typedef void check_text(const char *text, off_t size, const char *command);

static void look_at(check_text *also, const char *command)
{
    fflush(stdout);
    off_t size = lseek(output, 0, SEEK_END);
    if (size <= 0)
        return;
    void *text = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, output, 0);
    if (text == MAP_FAILED)
        abort();
    check(text, size, command);
    if (also)
        also(text, size, command);
    munmap(text, (size_t)size);
    make_empty();
}

void printed_text_check(const char *command)
{
    look_at(NULL, command);
}

void printed_text_check_short(const char *command)
{
    look_at(check_durations, command);
}

void printed_text_end(void)
{
    dup2(before, STDOUT_FILENO);
    close(before);
}
