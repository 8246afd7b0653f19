/* SPDX-License-Identifier: MIT */
/* Native and Python frames of one thread into one stack.
 *
 * Python frames come in segments, one per call of the eval function; each belongs in the place of
 * the native frame of that call. The segment's mark is an address inside that native frame's
 * memory, which pairs them exactly, whatever the linker made of the function. Segments without such
 * a mark are paired with eval frames by order. Thread-safety: none needed, no state. */
#include "python_stack.h"

enum { UNPLACED = UINT32_MAX };

struct segment {
    uint32_t begin, end; /* frames */
    uint64_t anchor;
    uint32_t native; /* index; native_count: behind all */
};

struct joining {
    const struct python_join *join;
    uint32_t native_count, frame_count;
    uint32_t segment_count;
    struct segment segments[PYTHON_JOIN_MAX];
};

static bool is_eval(const struct python_join *join, uint32_t native)
{
    uint64_t address = join->natives[native].address;
    return address >= join->eval && address <= join->eval_end && join->eval;
}

static void split(struct joining *joining)
{
    const struct python_join *join = joining->join;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < joining->frame_count; i++) {
        bool last = i + 1 == joining->frame_count;
        if (!last && !(join->frames[i].flags & (PYTHON_FRAME_ENTRY | PYTHON_FRAME_SHIM)))
            continue;
        joining->segments[joining->segment_count++] =
            (struct segment){begin, i + 1, join->frames[i].anchor, UNPLACED};
        begin = i + 1;
    }
}

/* From 3.15 on the outermost mark of every thread is no call: it lies in the thread state. */
static void drop_base(struct joining *joining)
{
    const struct segment *last = &joining->segments[joining->segment_count - 1];
    if (joining->segment_count && last->end - last->begin == 1 &&
        joining->join->frames[last->begin].flags & PYTHON_FRAME_SHIM)
        joining->segment_count--;
}

/* Segments and native frames are mostly both in the order of the C stack, so one pass finds all.
 * Behind a frame of unknown extent (a signal's) the stack may be another one. */
static void place_by_address(struct joining *joining)
{
    const struct python_join *join = joining->join;
    struct segment *segments = joining->segments;
    uint32_t segment = 0;
    uint64_t begin = join->native_begin;
    for (uint32_t i = 0; i < joining->native_count; i++) {
        uint64_t end = join->natives[i].cfa;
        for (uint32_t s = segment; end && s < joining->segment_count; s++) {
            uint64_t anchor = segments[s].anchor;
            if (segments[s].native != UNPLACED || !anchor || anchor < begin || anchor >= end)
                continue;
            segments[s].native = i;
            break;
        }
        while (segment < joining->segment_count && segments[segment].native != UNPLACED)
            segment++;
        begin = end;
    }
}

/* Interpreters that call each other come one after the other, whoever called whom. */
static void order_by_place(struct joining *joining)
{
    struct segment *segments = joining->segments;
    for (uint32_t i = 1; i < joining->segment_count; i++) {
        struct segment moved = segments[i];
        uint32_t at = i;
        for (; at > 0 && moved.native != UNPLACED && segments[at - 1].native != UNPLACED &&
               segments[at - 1].native > moved.native;
             at--)
            segments[at] = segments[at - 1];
        segments[at] = moved;
    }
}

/* The unplaced segments [first, last) lie between native frames (after, before). Pairs them with
 * the eval frames there. Returns how many frames were guessed: none if there are as many, or, in a
 * whole stack, one eval frame more: a call gets its Python frame late and loses it early. */
static uint32_t place_between(struct joining *joining, uint32_t first, uint32_t last,
                              uint32_t after, uint32_t before)
{
    uint32_t places = 0, guessed = 0, segment = first, wanted = last - first;
    for (uint32_t i = after; i < before; i++)
        places += is_eval(joining->join, i);
    bool late = places == wanted + 1;
    for (uint32_t i = after, skip = late; i < before && segment < last; i++) {
        if (!is_eval(joining->join, i))
            continue;
        if (skip)
            skip = 0;
        else
            joining->segments[segment++].native = i;
    }
    for (; segment < last; segment++)
        joining->segments[segment].native = before;
    if (places == wanted || (late && wanted == joining->segment_count))
        return 0;
    for (uint32_t s = first; s < last; s++)
        guessed += joining->segments[s].end - joining->segments[s].begin;
    return guessed;
}

static uint32_t place_by_order(struct joining *joining)
{
    uint32_t guessed = 0, after = 0;
    for (uint32_t s = 0; s < joining->segment_count;) {
        if (joining->segments[s].native != UNPLACED) {
            after = joining->segments[s++].native + 1;
            continue;
        }
        uint32_t last = s;
        while (last < joining->segment_count && joining->segments[last].native == UNPLACED)
            last++;
        uint32_t before =
            last < joining->segment_count ? joining->segments[last].native : joining->native_count;
        guessed += place_between(joining, s, last, after, before);
        s = last;
    }
    return guessed;
}

/* Writes the segment's frames without its mark. */
static uint32_t write_segment(const struct joining *joining, const struct segment *segment,
                              struct python_joint *ret, uint32_t count)
{
    for (uint32_t i = segment->begin; i < segment->end; i++)
        if (!(joining->join->frames[i].flags & PYTHON_FRAME_SHIM))
            ret[count++] = (struct python_joint){true, i};
    return count;
}

uint32_t python_stack_join(const struct python_join *join, struct python_joint *ret,
                           uint32_t *ret_unplaced)
{
    struct joining joining = {.join = join};
    uint32_t count = 0, segment = 0;
    joining.native_count =
        join->native_count < PYTHON_JOIN_MAX ? join->native_count : PYTHON_JOIN_MAX;
    joining.frame_count = join->frame_count < PYTHON_JOIN_MAX ? join->frame_count : PYTHON_JOIN_MAX;
    split(&joining);
    drop_base(&joining);
    place_by_address(&joining);
    order_by_place(&joining);
    *ret_unplaced = place_by_order(&joining);
    for (uint32_t i = 0; i <= joining.native_count; i++) {
        bool replaced = false;
        /* One that was guessed may belong further out than the one behind it: it comes all the
         * same. */
        for (; segment < joining.segment_count && joining.segments[segment].native <= i;
             segment++) {
            replaced = true;
            count = write_segment(&joining, &joining.segments[segment], ret, count);
        }
        if (i < joining.native_count && !replaced)
            ret[count++] = (struct python_joint){false, i};
    }
    return count;
}
