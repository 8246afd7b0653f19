/* SPDX-License-Identifier: MIT */
/* Writes recordings that other tests only export from memory.
 *
 * oracle_make toolkit FILE          the recording of tests/lib/toolkit_trace.h
 * oracle_make sets FILE             the recording of tests/lib/sets_trace.h
 * oracle_make random FILE COUNT     COUNT events of tests/system/random_toolkit.h
 * One thread. */
#include "random_toolkit.h"
#include "sets_trace.h"
#include "store.h"
#include "toolkit_trace.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct maker *make(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "toolkit") == 0)
        return toolkit_trace_create();
    if (argc == 3 && strcmp(argv[1], "sets") == 0)
        return sets_trace_create();
    if (argc == 4 && strcmp(argv[1], "random") == 0)
        return random_toolkit_create((uint32_t)strtoul(argv[3], NULL, 10));
    return NULL;
}

static int write_all(struct maker *maker, const char *path)
{
    const struct store_writer_options options = {.overwrite = true};
    struct store_writer *writer;
    struct event_batch batch;
    const struct sample *samples;
    uint32_t count;
    int error = store_writer_create(path, maker_trace(maker), &options, &writer);
    if (error)
        return error;
    while (!error && maker_next(maker, &batch) > 0)
        error = store_writer_add(writer, &batch);
    while (!error && maker_next_samples(maker, &samples, &count) > 0)
        error = store_writer_add_samples(writer, samples, count);
    int closed = store_writer_close(writer);
    return error ? error : closed;
}

int main(int argc, char **argv)
{
    struct maker *maker = make(argc, argv);
    if (!maker) {
        fputs("usage: oracle_make toolkit FILE | sets FILE | random FILE COUNT\n", stderr);
        return 2;
    }
    int error = write_all(maker, argv[2]);
    if (error)
        fprintf(stderr, "%s: %s\n", argv[2], strerror(-error));
    maker_destroy(maker);
    return error ? 1 : 0;
}
