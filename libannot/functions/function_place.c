/* SPDX-License-Identifier: MIT */
/* Reads /proc/self/maps a character at a time: see function_place.h. */
#include "function_place.h"

#include <annot_barrier.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PLACES_KEPT = 64, READ_SIZE = 128 };

static struct function_place kept[PLACES_KEPT]; /* all of these are owned by the holder of `busy` */
static uint32_t kept_count, kept_epoch;
static uint32_t busy; /* W: all, atomic */

struct maps {
    int fd;
    uint32_t at, size;
    char bytes[READ_SIZE];
};

/* Returns -1 at the end. */
static int next_char(struct maps *maps)
{
    if (maps->at == maps->size) {
        ssize_t size = read(maps->fd, maps->bytes, sizeof(maps->bytes));
        if (size <= 0)
            return -1;
        maps->size = (uint32_t)size;
        maps->at = 0;
    }
    return (unsigned char)maps->bytes[maps->at++];
}

static int digit_of(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Reads a number and the character that ends it. Returns that character. */
static int read_number(struct maps *maps, unsigned base, uint64_t *ret_number)
{
    int c;
    *ret_number = 0;
    while ((c = next_char(maps)) >= 0 && (unsigned)digit_of(c) < base)
        *ret_number = *ret_number * base + (unsigned)digit_of(c);
    return c;
}

/* Skips past the next space. */
static void skip_word(struct maps *maps)
{
    int c;
    while ((c = next_char(maps)) >= 0 && c != ' ')
        continue;
}

static void skip_line(struct maps *maps, int c)
{
    while (c >= 0 && c != '\n')
        c = next_char(maps);
}

/* Reads the path after the inode: spaces, then a path or the line's end. */
static void read_path(struct maps *maps, int c, char *path)
{
    uint32_t length = 0;
    while (c == ' ')
        c = next_char(maps);
    for (; c >= 0 && c != '\n'; c = next_char(maps))
        if (length < PLACE_PATH_SIZE - 1)
            path[length++] = (char)c;
    path[length] = 0;
}

/* "begin-end perms offset major:minor inode   path" */
static int search(struct maps *maps, uintptr_t address, struct function_place *place)
{
    for (;;) {
        uint64_t begin, end;
        int c = read_number(maps, 16, &begin);
        if (c != '-')
            return 0;
        c = read_number(maps, 16, &end);
        if (address < begin || address >= end) {
            skip_line(maps, c);
            continue;
        }
        place->begin = (uintptr_t)begin;
        place->end = (uintptr_t)end;
        skip_word(maps);
        read_number(maps, 16, &place->offset);
        skip_word(maps);
        c = read_number(maps, 10, &place->inode);
        read_path(maps, c, place->path);
        return place->path[0] == '/';
    }
}

static int read_maps(uintptr_t address, struct function_place *place)
{
    struct maps maps;
    maps.at = maps.size = 0;
    maps.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps.fd < 0)
        return 0;
    int found = search(&maps, address, place);
    close(maps.fd);
    return found;
}

static int find_kept(uintptr_t address, struct function_place *place)
{
    for (uint32_t i = 0; i < kept_count; i++) {
        if (address < kept[i].begin || address >= kept[i].end)
            continue;
        *place = kept[i];
        return 1;
    }
    return 0;
}

static void keep(const struct function_place *place)
{
    if (kept_count < PLACES_KEPT)
        kept[kept_count++] = *place;
}

int function_place_find(uintptr_t address, uint32_t epoch, struct function_place *ret_place)
{
    uint32_t idle = 0;
    if (!annot_cas_acq_rel(&busy, &idle, 1u)) /* partner: the store below */
        return read_maps(address, ret_place);
    if (kept_epoch != epoch)
        kept_count = 0;
    kept_epoch = epoch;
    int found = find_kept(address, ret_place);
    if (!found) {
        found = read_maps(address, ret_place);
        if (found)
            keep(ret_place);
    }
    annot_store_release(&busy, 0u); /* partner: the swap above */
    return found;
}

void function_place_after_fork(void)
{
    kept_count = 0; /* another thread may have been writing to it */
    busy = 0;
}
