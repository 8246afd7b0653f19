/* SPDX-License-Identifier: MIT */
/* The cost of the unwind rows of a file: opened and built, read from the cache, and a lookup.
 *
 *     bench_unwind FILE...
 *
 * Best of RUNS; the cache is a new directory, removed at the end. Prints JSON, one object per
 * file. */
#include "unwind_cache.h"
#include "unwind_table.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 5, LOOKUPS = 1000000 };

static char cache[] = "/tmp/bench_unwind-XXXXXX";

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

typedef int get_fn(struct elf_file *file, struct unwind_table **ret_table);

static int get_cached(struct elf_file *file, struct unwind_table **ret_table)
{
    return unwind_cache_table(cache, file, ret_table);
}

/* Milliseconds, best of RUNS, from the open file on; the last table stays. */
static double measure(const char *path, get_fn *get, struct unwind_table **ret_table)
{
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        struct elf_file *file;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        double begin = now_ms();
        if (fd < 0 || elf_file_open(fd, &file) < 0)
            return -1;
        int error = get(file, ret_table);
        double end = now_ms();
        elf_file_close(file);
        close(fd);
        if (error)
            return -1;
        best = end - begin < best ? end - begin : best;
        if (run + 1 < RUNS)
            unwind_table_destroy(*ret_table);
    }
    return best;
}

static double lookup_ns(const struct unwind_table *table)
{
    uint64_t state = 88172645463325252u, known = 0;
    double begin = now_ms();
    for (int i = 0; i < LOOKUPS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t address = table->base + state % (table->end - table->base);
        known += unwind_table_find(table, address)->cfa != UNWIND_CFA_UNKNOWN;
    }
    double ns = (now_ms() - begin) * 1e6 / LOOKUPS;
    return known ? ns : 0;
}

static void run(const char *path)
{
    struct unwind_table *built, *cached;
    double build_ms = measure(path, unwind_table_build, &built);
    if (build_ms < 0) {
        fprintf(stderr, "%s: no rows\n", path);
        return;
    }
    double cached_ms = measure(path, get_cached, &cached);
    printf("{\"file\": \"%s\", \"rows\": %u, \"rules\": %u, \"skipped\": %u, \"bytes\": %zu, "
           "\"build_ms\": %.2f, \"cached_ms\": %.2f, \"lookup_ns\": %.0f}\n",
           path, built->row_count, built->rule_count, built->skipped_count,
           built->row_count * sizeof(*built->rows) + built->rule_count * sizeof(*built->rules),
           build_ms, cached_ms, lookup_ns(built));
    unwind_table_destroy(built);
    unwind_table_destroy(cached);
}

int main(int argc, char **argv)
{
    char command[64];
    if (!mkdtemp(cache))
        return 1;
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    snprintf(command, sizeof(command), "rm -r %s", cache);
    return argc < 2 || system(command) != 0;
}
