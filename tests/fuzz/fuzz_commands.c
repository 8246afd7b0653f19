/* SPDX-License-Identifier: MIT */
/* Fuzz target: every command that reads a recording, as it is called by users, on the recordings of
 * recording_input.h. What they print goes nowhere, but must be text: no control characters but line
 * ends and tabs, and UTF-8. One thread. */
#include "cmd.h"
#include "recording_input.h"
#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS_MAX = 12, OUTPUT_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* FILE stands for the recording, OUT for a file of the output, which is text if the standard output
 * is. */
static const char *const commands[] = {
    "info FILE",
    "info --limit 0 FILE",
    "info --json FILE",
    "report FILE",
    "report --limit 0 --by process FILE",
    "report --by thread --sort total --wide FILE",
    "report --json FILE",
    "report --csv FILE",
    "cat FILE",
    "cat --json FILE",
    "export -f chrome --force -o OUT FILE",
    "export -f folded --force -o OUT FILE",
    "export -f folded --by thread --python --force -o OUT FILE",
    "export -f chrome --native --force -o OUT FILE",
    "export -f perfetto --scheduler --force -o /dev/null FILE",
    "export -f perfetto --force -o /dev/null FILE",
    "query FILE SELECT\t*\tFROM\tranges;SELECT\t*\tFROM\tsamples;SELECT\t*\tFROM\tmarks",
    "query --csv FILE SELECT\t*\tFROM\tprocesses,threads\tWHERE\tprocess=processes.id",
    "query --json FILE SELECT\t*\tFROM\tcounters;SELECT\t*\tFROM\tflows;SELECT\t*\tFROM\tlosses",
    "query --json FILE SELECT\t*\tFROM\tstack_frames;SELECT\t*\tFROM\tlanes;SELECT\t*\tFROM\tfacts",
    "query --csv FILE SELECT\t*\tFROM\twaits\tJOIN\tranges\tr\tON\tr.begin_ns>=waits.begin_ns\tAND"
    "\tr.end_ns<=waits.end_ns\tAND\tr.thread=waits.thread\tLIMIT\t9",
    "query FILE SELECT\tname,quantile(duration_ns,0.5),max(inside(path,'a*'))\tFROM\tranges\tWHERE"
    "\tthread=1\tOR\tprocess=0\tOR\tend_ns<5e9\tGROUP\tBY\t1",
    "query FILE SELECT\t*\tFROM\treport_ranges;SELECT\t*\tFROM\tframes;SELECT\t*\tFROM\tstacks",
    "flame --force -o OUT FILE",
    "html --force -o OUT FILE",
    "html --data --no-source -o OUT FILE",
    "flame --by range --off-cpu --inverted --force -o OUT FILE",
};

static void run(const char *line, const char *recording, const char *out)
{
    char program[] = "annot", text[512], *words[WORDS_MAX] = {program};
    int count = 1;
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = strcmp(word, "FILE") == 0  ? (char *)recording
                         : strcmp(word, "OUT") == 0 ? (char *)out
                                                    : word;
    words[count] = NULL;
    annot_main(count, words);
    fflush(stdout);
}

/* Of terminals; those of two bytes as well. */
static bool is_control(const char *text, off_t size)
{
    unsigned char byte = (unsigned char)text[0];
    unsigned char next = size > 1 ? (unsigned char)text[1] : 0;
    return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f ||
           (byte == 0xc2 && next >= 0x80 && next < 0xa0);
}

static void check_text(int fd, const char *line)
{
    off_t size = lseek(fd, 0, SEEK_END);
    if (size <= 0)
        return;
    const char *text = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    if (text == MAP_FAILED)
        abort();
    for (off_t i = 0; i < size; i++)
        if (is_control(text + i, size - i)) {
            dprintf(STDERR_FILENO, "annot %s: byte %d at %lld\n", line, text[i], (long long)i);
            abort();
        }
    if (!utf8_is_text(text, (size_t)size)) {
        dprintf(STDERR_FILENO, "annot %s: no UTF-8\n", line);
        abort();
    }
    munmap((void *)text, (size_t)size);
}

/* A file in memory for what the commands print. Messages go nowhere, those of sanitizers do not. */
static int prepare(void)
{
    static int out = -1;
    if (out >= 0)
        return out;
    out = memfd_create("output", MFD_CLOEXEC);
    stderr = fopen("/dev/null", "we");
    if (out < 0 || !stderr)
        abort();
    setenv("ANNOT_DIR", "/nonexistent", 1);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[RECORDING_INPUT_PATH];
    int recording = recording_input(data, size, path);
    if (recording < 0)
        return 0;
    int out = prepare(), before = dup(STDOUT_FILENO);
    fflush(stdout);
    if (before < 0 || dup2(out, STDOUT_FILENO) < 0)
        abort();
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        if (ftruncate(out, 0) != 0 || lseek(out, 0, SEEK_SET) != 0)
            abort();
        run(commands[i], path, "-");
        check_text(out, commands[i]);
    }
    dup2(before, STDOUT_FILENO);
    close(before);
    close(recording);
    return 0;
}
