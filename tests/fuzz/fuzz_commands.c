/* SPDX-License-Identifier: MIT */
/* Fuzz target: every command that reads a recording, called as a user would, on the recordings of
 * recording_input.h. The output must be text (printed_text.h). One thread. */
#include "annot_program.h"
#include "cmd.h"
#include "printed_text.h"
#include "recording_input.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* FILE stands for the recording, OUT for an output file, which is text if the standard output
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
    "export -f folded --by thread --python-only --force -o OUT FILE",
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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[RECORDING_INPUT_PATH];
    int recording = recording_input(data, size, path);
    if (recording < 0)
        return 0;
    printed_text_begin();
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        run(commands[i], path, "-");
        printed_text_check(commands[i]);
    }
    printed_text_end();
    close(recording);
    return 0;
}
