/* SPDX-License-Identifier: MIT */
/* Fuzz target: an importer (IMPORT_FORMAT). Accepted input must result in a complete, readable
 * recording. Rejected input must leave no file. */
#include "import.h"
#include "input.h"
#include "pass.h"
#include "reader.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *context, const struct item *item)
{
    (void)context;
    if (item->kind == ITEM_SPAN && item->end_ns < item->begin_ns)
        abort();
    return 0;
}

static void check_recording(const char *path)
{
    struct store_reader *reader;
    struct store_info info;
    if (store_reader_open(path, &reader) != 0)
        abort();
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sink = {.take = take, .wants = WANT_EVENTS | WANT_SAMPLES | WANT_PATHS};
    if (pass_read(&source, &PASS_SELECT_ALL, &sink, 1) != 0)
        abort();
    store_reader_info(reader, &info);
    if (!info.complete || store_reader_damage_count(reader) != 0)
        abort();
    store_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct import_result result;
    const struct import_options options = {
        .format = IMPORT_FORMAT, .source = "fuzz", .version = "0", .overwrite = true};
    struct import_input *input = import_input_memory(data, size);
    if (!input)
        return 0;
    snprintf(path, sizeof(path), "import-%s-%d.annot", IMPORT_FORMAT, (int)getpid());
    int error = import_run(input, path, &options, &result);
    bool there = access(path, F_OK) == 0;
    if (there != (error == 0))
        abort();
    if (there)
        check_recording(path);
    unlink(path);
    return 0;
}
