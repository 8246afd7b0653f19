/* SPDX-License-Identifier: MIT */
/* emit_limits RESOURCE LIMIT: under that limit, set by itself, emits ranges, then maps private
 * memory until that fails, a gigabyte at most. One line of JSON: the ranges and the memory. One
 * thread. */
#include <annot/annot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { RANGES = 1000, PIECE_KIB = 64, PIECES_MAX = 16384 };

static const struct {
    const char *name;
    int resource;
} resources[] = {
    {"as", RLIMIT_AS},       {"data", RLIMIT_DATA},     {"memlock", RLIMIT_MEMLOCK},
    {"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},
};

static int set_limit(const char *name, rlim_t value)
{
    const struct rlimit limit = {value, value};
    for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++)
        if (strcmp(resources[i].name, name) == 0)
            return setrlimit(resources[i].resource, &limit);
    return -1;
}

int main(int argc, char **argv)
{
    int pieces = 0;
    if (argc < 4) { /* libannot looks at its limits when it is loaded */
        if (argc < 3 || set_limit(argv[1], strtoull(argv[2], NULL, 10)) != 0)
            return 2;
        execl("/proc/self/exe", argv[0], argv[1], argv[2], "limited", (char *)NULL);
        return 3;
    }
    for (int i = 0; i < RANGES; i++) {
        annot_push("limited");
        annot_pop();
    }
    while (pieces < PIECES_MAX && mmap(NULL, PIECE_KIB * 1024, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        pieces++;
    printf("{\"ranges\": %d, \"kib\": %d}\n", RANGES, pieces * PIECE_KIB);
    return 0;
}
