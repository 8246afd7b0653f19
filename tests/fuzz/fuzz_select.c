/* SPDX-License-Identifier: MIT */
/* Fuzz target: every reader on recordings that mix all kinds of items (mixed_recording.h), each
 * with a selection: a range, a time interval, a process, a thread, samples with the GIL.
 *
 * The first SELECT_BYTES bytes choose the command and the selection, the rest is the recording. The
 * output must be text (printed_text.h). One thread. */
#include "annot_program.h"
#include "cmd.h"
#include "mixed_recording.h"
#include "printed_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SELECT_BYTES = 8, WORDS_MAX = 40, TEXT_MAX = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* FILE stands for the recording. The selection is inserted at GIL for commands with --gil, and
 * without that option at PART for the others. */
static const char *const commands[] = {
    "report --all GIL FILE",
    "report --json GIL FILE",
    "report --csv --by thread GIL FILE",
    "report --by name --sort total --wide GIL FILE",
    "report --lines --source GIL FILE",
    "report --callers * --native GIL FILE",
    "report --tree GIL FILE",
    "html --data --no-source -o - GIL FILE",
    "cat PART FILE",
    "cat --json --samples PART FILE",
    "cat --complete PART FILE",
    "query --json PART FILE SELECT\t*\tFROM\tranges;SELECT\t*\tFROM\tsamples",
    "query --csv PART FILE SELECT\t*\tFROM\tmarks;SELECT\t*\tFROM\tcounters",
    "query PART FILE SELECT\t*\tFROM\tflows;SELECT\t*\tFROM\tlosses;SELECT\t*\tFROM\twaits",
    "query --json PART FILE SELECT\t*\tFROM\treport_ranges;SELECT\t*\tFROM\treport_calls",
    "query PART FILE SELECT\tpath,sum(self_ns)\tFROM\tranges\tGROUP\tBY\t1",
    "export -f chrome --force -o - GIL FILE",
    "export -f perfetto --scheduler --force -o /dev/null GIL FILE",
    "export -f folded --force -o - GIL FILE",
    "export -f speedscope --force -o - GIL FILE",
    "export -f pprof --force -o /dev/null GIL FILE",
    "export -f callgrind --force -o - GIL FILE",
    "export -f pstats --force -o /dev/null GIL FILE",
    "export -f firefox --force -o - GIL FILE",
    "export -f otlp --min-duration 0 --force -o /dev/null GIL FILE",
    "export -f otlp-json --min-duration 0 --force -o - GIL FILE",
    "export -f csv --table marks --force -o - GIL FILE",
    "export -f jsonl --table samples --force -o - GIL FILE",
    "export -f jsonl --table ranges --force -o - GIL FILE",
    "export -f parquet --force -o /dev/null GIL FILE",
    "export -f arrow --table counters --force -o /dev/null GIL FILE",
    "export -f lprof --force -o /dev/null GIL FILE",
    "export -f massif --force -o - GIL FILE",
    "export -f dot --force -o - GIL FILE",
    "flame --force -o - GIL FILE",
    "flame --by range --off-cpu --force -o - PART FILE",
    "diff --all --json FILE FILE",
};

static const char *const by_thread[] = {"100", "101", "200", "work", "parse"};

struct words {
    char *items[WORDS_MAX + 1];
    int count;
    char texts[2][TEXT_MAX]; /* times */
};

static void add(struct words *words, const char *word)
{
    if (words->count == WORDS_MAX)
        abort();
    words->items[words->count++] = (char *)word;
}

static void add_option(struct words *words, const char *name, const char *value)
{
    add(words, name);
    add(words, value);
}

/* Returns a range, sometimes with blanks, quotes or patterns. */
static const char *range_of(uint8_t byte)
{
    return byte % 4 == 3 ? "*" : byte % 4 == 2 ? "[c-w]*" : mixed_names[byte / 4 % MIXED_NAMES];
}

static void add_time(struct words *words, unsigned which, const char *name, unsigned microseconds)
{
    snprintf(words->texts[which], TEXT_MAX, "%u.%03uus", microseconds / 8, microseconds % 8 * 125);
    add_option(words, name, words->texts[which]);
}

/* Each part of a selection is absent in half of the inputs. */
static void add_selection(struct words *words, const uint8_t *bytes, bool gil)
{
    if (bytes[1] & 1)
        add_option(words, "--range", range_of(bytes[1] / 2));
    if (bytes[2] & 1)
        add_time(words, 0, "--from", bytes[3]);
    if (bytes[2] & 2)
        add_time(words, 1, "--to", bytes[3] + 1u + bytes[4]);
    if ((bytes[5] & 3) == 1)
        add_option(words, "--process", mixed_names[bytes[5] / 4 % MIXED_PROCESSES]);
    if ((bytes[6] & 3) == 1)
        add_option(words, "--thread", by_thread[bytes[6] / 4 % 5]);
    if (gil && (bytes[7] & 7) == 1)
        add(words, "--gil");
}

static void run(const char *line, const uint8_t *bytes, const char *recording)
{
    char program[] = "annot", text[512];
    struct words words = {.items = {program}, .count = 1};
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        bool gil = strcmp(word, "GIL") == 0;
        if (gil || strcmp(word, "PART") == 0)
            add_selection(&words, bytes, gil);
        else
            add(&words, strcmp(word, "FILE") == 0 ? recording : word);
    }
    words.items[words.count] = NULL;
    if (annot_main(words.count, words.items) == CMD_MISUSE) {
        dprintf(STDERR_FILENO, "annot %s: wrong command line\n", line);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[TEXT_MAX];
    if (size < SELECT_BYTES)
        return 0;
    if (!path[0])
        snprintf(path, sizeof(path), "/dev/shm/fuzz-select-%d.annot", (int)getpid());
    mixed_recording(data + SELECT_BYTES, size - SELECT_BYTES, path);
    const char *line = commands[data[0] % (sizeof(commands) / sizeof(*commands))];
    printed_text_begin();
    run(line, data, path);
    printed_text_check_short(line);
    printed_text_end();
    unlink(path);
    return 0;
}
