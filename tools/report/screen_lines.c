/* SPDX-License-Identifier: MIT */
/* Rows of the first screen whose labels are paths: each stands below the nearest one that it lies
 * in, and needs no more than the rest of its path then. */
#include "screen_parts.h"

#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows are compared with one another. More of them are left as they are. */
enum { NEST_MAX = 256, INDENT = 2, DEPTH_MAX = 5 };

int screen_lines_add(struct screen_lines *lines, uint64_t index, const char *label)
{
    char *path = strdup(label);
    if (!path || vec_push(lines, ((struct screen_line){.index = index, .path = path})) != 0) {
        free(path);
        return -ENOMEM;
    }
    lines->items[lines->count - 1].label = path;
    return 0;
}

void screen_lines_free(struct screen_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->items[i].path);
    vec_free(lines);
}

void screen_lines_inherit(struct screen_lines *lines, const char *path, uint64_t cpu_ns)
{
    for (size_t i = 0; i < lines->count; i++)
        if (strcmp(lines->items[i].path, path) == 0)
            lines->items[i].inherited_ns += cpu_ns;
}

/* Observers' names are of a domain of their own, which says nothing to people. */
static void take_domain_off(char *label)
{
    static const char domain[] = "python:";
    const size_t size = sizeof(domain) - 1;
    char *to = label;
    for (bool first = true; *label; first = *to++ == '/') {
        if (first && strncmp(label, domain, size) == 0 && label[size])
            label += size;
        *to = *label++;
    }
    *to = 0;
}

void screen_lines_shorten(struct screen_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        take_domain_off(lines->items[i].label);
}

unsigned screen_line_indent(const struct screen_line *line)
{
    return line->depth * INDENT;
}

/* How much of the path is that of the one around it; 0: it does not lie in it. */
static size_t part_inside(const struct screen_line *line, const struct screen_line *around)
{
    size_t size = strlen(around->path);
    bool inside = strncmp(line->path, around->path, size) == 0 && line->path[size] == '/';
    return inside && line->path[size + 1] ? size + 1 : 0;
}

/* The nearest row that each lies in; lines->count: none. */
static size_t find_around(const struct screen_lines *lines, size_t at)
{
    size_t around = lines->count, longest = 0;
    for (size_t i = 0; i < lines->count; i++) {
        size_t part = part_inside(&lines->items[at], &lines->items[i]);
        if (part > longest) {
            longest = part;
            around = i;
        }
    }
    return around;
}

struct nesting {
    const struct screen_lines *lines;
    const size_t *around;
    struct screen_line *placed;
    size_t placed_count;
};

/* Those that lie in `around`, each with what lies in it, in the order that they had. `part`: of
 * their paths, what is above them. What is too deep stands as deep as what it lies in. */
static void place(struct nesting *nesting, size_t around, uint32_t depth, size_t part)
{
    const struct screen_lines *lines = nesting->lines;
    for (size_t i = 0; i < lines->count; i++) {
        if (nesting->around[i] != around)
            continue;
        struct screen_line *line = &nesting->placed[nesting->placed_count++];
        *line = lines->items[i];
        line->label = line->path + part;
        line->depth = depth;
        if (depth < DEPTH_MAX)
            place(nesting, i, depth + 1, strlen(line->path) + 1);
        else
            place(nesting, i, depth, part);
    }
}

int screen_lines_nest(struct screen_lines *lines)
{
    size_t count = lines->count, around[NEST_MAX];
    if (count == 0 || count > NEST_MAX)
        return 0;
    struct nesting nesting = {lines, around, calloc(count, sizeof(*nesting.placed)), 0};
    if (!nesting.placed)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        around[i] = find_around(lines, i);
    place(&nesting, count, 0, 0);
    memcpy(lines->items, nesting.placed, count * sizeof(*lines->items));
    free(nesting.placed);
    return 0;
}
