/* SPDX-License-Identifier: MIT */
/* Calls of traced functions: see codes.h. */
#include "codes.h"

#include "clock.h"
#include "levels.h"
#include "proc.h"
#include "record.h"
#include "spell.h"
#include "stream.h"
#include "strings.h"
#include "watched.h"
#include "write.h"

#include <sys/mman.h>

uint16_t codes_domain;

void codes_begin(struct control *control)
{
    control->code_count = control->code_pending = 0;
    control->codes = control->keep->codes;
}

static APART struct annot_open *take_codes(struct control *control)
{
    if (control->codes)
        return control->codes;
    void *memory = mmap(NULL, LEVELS_KEPT * sizeof(struct annot_open), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    return control->codes = control->keep->codes = memory;
}

static uint32_t level_end(const struct control *control)
{
    return control->depth < LEVELS_KEPT ? control->depth : (uint32_t)LEVELS_KEPT;
}

uint32_t codes_from(const struct control *control, uint32_t level)
{
    uint32_t count = 0;
    for (uint32_t end = level_end(control); level < end; level++)
        count += control->levels[level] == LEVEL_CALL;
    return count;
}

/* Removes calls and moves other levels down. Watched ranges count levels without calls. */
static void remove_calls(struct control *control, uint32_t level)
{
    uint32_t to = level;
    for (uint32_t end = level_end(control); level < end; level++) {
        uint8_t state = control->levels[level];
        control->levels[level] = LEVEL_RECORDED;
        if (state != LEVEL_CALL)
            control->levels[to++] = state;
    }
    control->depth = to;
}

void codes_leave_parent(struct control *control)
{
    if (control->depth <= LEVELS_KEPT)
        remove_calls(control, 0);
}

/* ---- Ends and begins of ranges that continue ------------------------------------------------- */

static const struct emission plain_pop = {.kind = ANNOT_REC_POP, .level = ANNOT_CODE_LEVEL};

static APART void write_pop(struct control *control)
{
    write_event(control, &plain_pop);
}

void codes_close_above(struct control *control, uint32_t level)
{
    for (uint32_t count = codes_from(control, level + 1); count > 0; count--) {
        write_pop(control);
        control->code_count--;
        control->code_pending++;
    }
}

/* Writes ends for all open ranges from this level on; `last`: the end of the level itself. */
static void close_from(struct control *control, uint32_t level, const struct emission *last)
{
    for (uint32_t at = control->depth; at > level; at--) {
        uint8_t state = control->levels[at - 1];
        if (state != LEVEL_CALL && state != LEVEL_RECORDED)
            continue;
        write_event(control, at == level + 1 ? last : &plain_pop);
        control->code_count -= state == LEVEL_CALL;
        control->recorded -= state == LEVEL_RECORDED;
        control->code_pending++;
    }
}

static APART int begin_again(struct control *control, const struct emission *emission,
                             struct annot_open *open)
{
    uint64_t time = write_event(control, emission);
    if (time == 0)
        return 0;
    *open = (struct annot_open){emission->name, control->instance, time};
    control->instance = instance_after(control->instance);
    return 1;
}

static int reopen_call(struct control *control, uint32_t level)
{
    struct annot_open *open = &control->codes[level];
    const struct emission emission = {
        .kind = ANNOT_REC_PUSH, .level = ANNOT_CODE_LEVEL, .name = open->name, .continues = 1};
    if (!begin_again(control, &emission, open))
        return 0;
    control->code_count++;
    control->code_pending--;
    return 1;
}

/* `live`: index of its entry in the live stack. */
static APART int reopen_known(struct control *control, const struct annot_open *known,
                              uint32_t live)
{
    struct emission emission = {.kind = ANNOT_REC_PUSH, .name = known->name, .continues = 1};
    struct open_scope *scope = live < ANNOT_LIVE_DEPTH ? &control->keep->scopes[live] : NULL;
    struct annot_open again;
    if (scope && scope->instance == known->instance) {
        emission.domain = scope->domain;
        emission.category = scope->category;
    }
    if (!begin_again(control, &emission, &again))
        return 0;
    if (emission.domain | emission.category)
        scope->instance = again.instance;
    control->recorded++;
    levels_live_set(control, live, &again);
    return 1;
}

/* A range whose live entry was not kept ends here. */
static int reopen_range(struct control *control, uint32_t level, uint32_t live)
{
    const struct annot_open *known = levels_live(control, live);
    int is_known = known && known->name != 0;
    int is_done = is_known && reopen_known(control, known, live);
    if (!is_done)
        control->levels[level] = LEVEL_DROPPED;
    control->code_pending--;
    return is_done || !is_known;
}

/* Returns the live index of the first level from this one on that is in the live stack. */
static uint32_t live_index(const struct control *control, uint32_t level)
{
    uint32_t index = control->live_depth;
    for (; level < control->depth; level++)
        index -= levels_is_live(control->levels[level]);
    return index;
}

/* After the first one that is lost, the rest does not begin again: calls are removed, ranges count
 * as dropped. */
void codes_reopen(struct control *control, uint32_t level)
{
    uint32_t live = live_index(control, level);
    uint32_t end = level_end(control), at = level;
    for (int is_done = 1; at < end && is_done; at++) {
        uint8_t state = control->levels[at];
        if (state == LEVEL_RECORDED)
            is_done = reopen_range(control, at, live);
        else if (state == LEVEL_CALL)
            is_done = reopen_call(control, at);
        live += (uint32_t)levels_is_live(state);
        level += (uint32_t)is_done;
    }
    for (at = level; at < end && control->code_pending > 0; at++)
        if (control->levels[at] == LEVEL_RECORDED)
            control->levels[at] = LEVEL_DROPPED;
    if (control->code_pending > 0)
        remove_calls(control, level);
    control->code_pending = 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Returns 1 if there is room for a call; else 0, and the call is counted as lost. */
static APART int has_room(struct control *control, annot_name name)
{
    enum annot_loss cause = ANNOT_LOSS_NO_MEMORY;
    if (!levels_can_record(control))
        cause = (enum annot_loss)control->last_cause;
    else if (control->depth >= LEVELS_KEPT)
        cause = ANNOT_LOSS_TOO_LARGE;
    else if (spell_ready(control, name) && take_codes(control))
        return 1;
    stream_lose(control, cause);
    return 0;
}

static void enter(struct control *control, struct emission *emission)
{
    emission->value = ANNOT_CODE_HELD;
    if (!watch_records(control) || !codes_pass(control))
        return;
    emission->value = ANNOT_CODE_LOST;
    if (!has_room(control, emission->name))
        return;
    if (!codes_are_wanted(control, emission->name)) {
        emission->value = ANNOT_CODE_HELD;
        return;
    }
    uint32_t level = control->depth;
    if (!begin_again(control, emission, &control->codes[level]))
        return;
    control->levels[level] = LEVEL_CALL;
    control->depth = level + 1;
    emission->value = control->code_count++;
}

/* Returns the level of a call. */
static uint32_t find_call(const struct control *control, uint32_t token)
{
    uint32_t level = level_end(control);
    for (uint32_t count = control->code_count; count > token && level > 0; level--)
        count -= control->levels[level - 1] == LEVEL_CALL;
    return level;
}

static void leave(struct control *control, const struct emission *emission)
{
    uint64_t token = emission->value;
    if (token == ANNOT_CODE_LOST)
        stream_lose(control, (enum annot_loss)control->last_cause);
    if (token >= control->code_count || control->depth > LEVELS_KEPT)
        return;
    uint32_t level = find_call(control, (uint32_t)token);
    close_from(control, level, emission->value_count ? emission : &plain_pop);
    control->code_pending -= codes_from(control, level);
    remove_calls(control, level);
    codes_reopen(control, level);
}

void codes_event(struct control *control, struct emission *emission)
{
    if (emission->kind == ANNOT_REC_PUSH)
        enter(control, emission);
    else if (emission->kind == ANNOT_REC_POP)
        leave(control, emission);
}
