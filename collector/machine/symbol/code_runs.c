/* SPDX-License-Identifier: MIT */
/* The one operation lays a newer run over an older one. Each newer stretch splits at most one older
 * one, so n stretches never become more than 2n. */

#include "code_runs.h"

#include "vec.h"

#include <errno.h>

static int push(struct code_run *out, uint64_t begin, uint64_t end, uint32_t name)
{
    struct code_stretch stretch = {begin, end, name};
    return begin < end ? vec_push(out, stretch) : 0;
}

/* Writes the parts of one older stretch that `newer` leaves visible; `*at` is the first newer one
 * that ends after its start. Also writes newer ones that end inside it. */
static int lay_over(const struct code_run *newer, size_t *at, const struct code_stretch *older,
                    struct code_run *out)
{
    uint64_t begin = older->begin;
    for (; *at < newer->count && newer->items[*at].begin < older->end; (*at)++) {
        const struct code_stretch *top = &newer->items[*at];
        if (push(out, begin, top->begin, older->name) != 0)
            return -ENOMEM;
        begin = top->end > begin ? top->end : begin;
        if (top->end > older->end)
            return 0; /* it continues over the next older one */
        if (vec_push(out, *top) != 0)
            return -ENOMEM;
    }
    return push(out, begin, older->end, older->name);
}

static int merge(const struct code_run *older, const struct code_run *newer, struct code_run *out)
{
    size_t at = 0;
    for (size_t i = 0; i < older->count; i++) {
        for (; at < newer->count && newer->items[at].end <= older->items[i].begin; at++) {
            if (vec_push(out, newer->items[at]) != 0)
                return -ENOMEM;
        }
        if (lay_over(newer, &at, &older->items[i], out) != 0)
            return -ENOMEM;
    }
    for (; at < newer->count; at++) {
        if (vec_push(out, newer->items[at]) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* Makes one run of stretches in order of age. */
static int flatten(const struct code_stretch *stretches, size_t count, struct code_run *out)
{
    if (count == 1)
        return vec_push(out, stretches[0]);
    struct code_run older = {0}, newer = {0};
    int error = flatten(stretches, count / 2, &older);
    if (!error)
        error = flatten(stretches + count / 2, count - count / 2, &newer);
    if (!error)
        error = merge(&older, &newer, out);
    vec_free(&older);
    vec_free(&newer);
    return error;
}

/* Merges the newest two runs while the older is not twice as long. Without memory they stay
 * separate. */
static void join(struct code_runs *runs)
{
    while (runs->runs.count >= 2) {
        struct code_run *older = &runs->runs.items[runs->runs.count - 2], *newer = older + 1;
        struct code_run out = {0};
        if (older->count >= 2 * newer->count)
            return;
        if (merge(older, newer, &out) != 0) {
            vec_free(&out);
            return;
        }
        vec_free(older);
        vec_free(newer);
        *older = out;
        runs->runs.count--;
    }
}

int code_runs_add(struct code_runs *runs, const struct code_stretch *stretches, size_t count)
{
    struct code_run run = {0};
    if (count == 0)
        return 0;
    if (flatten(stretches, count, &run) != 0 || vec_push(&runs->runs, run) != 0) {
        vec_free(&run);
        return -ENOMEM;
    }
    join(runs);
    return 0;
}

static bool find_in(const struct code_run *run, uint64_t address, uint32_t *ret_name)
{
    size_t low = 0, high = run->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->items[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= run->items[low - 1].end)
        return false;
    *ret_name = run->items[low - 1].name;
    return true;
}

bool code_runs_find(const struct code_runs *runs, uint64_t address, uint32_t *ret_name)
{
    for (size_t i = runs->runs.count; i-- > 0;) {
        if (find_in(&runs->runs.items[i], address, ret_name))
            return true;
    }
    return false;
}

size_t code_runs_count(const struct code_runs *runs)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->runs.count; i++)
        count += runs->runs.items[i].count;
    return count;
}

void code_runs_free(struct code_runs *runs)
{
    for (size_t i = 0; i < runs->runs.count; i++)
        vec_free(&runs->runs.items[i]);
    vec_free(&runs->runs);
}
