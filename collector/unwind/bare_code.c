/* SPDX-License-Identifier: MIT */
/* Follows functions in the order of their bytes and keeps where the caller's RSP, RBP and RBX are.
 * A function is taken only if all of it was decoded and all adds up: where paths meet, the stack is
 * the same; where it returns or jumps away, it is as it was at the begin; a register is saved
 * before anything may have written it. */
#include "bare_code.h"
#include "bare_instruction.h"

#include <stdbool.h>
#include <string.h>

enum {
    TARGETS_MAX = 32,
    STARTS_MAX = 32,
    SKIPPED_MAX = 32,
    FUNCTION_ALIGN = 16,
    STUB_ALIGN = 8,
    ENTRY_DEPTH = 8,
    DEPTH_MAX = 1 << 20
};

/* depth: CFA - rsp; rbp, rbx: where they are saved from the CFA on, 0 = nowhere; frame: the depth
 * when rbp was set to rsp, 0 = it was not. */
struct state {
    int32_t depth, rbp, rbx, frame;
};

struct target {
    size_t offset;
    struct state state;
};

struct range {
    size_t begin, end;
};

struct walker {
    uint64_t address; /* of the first byte */
    const uint8_t *bytes;
    size_t size, at, start;
    struct state state;
    bool reached; /* control can come here from the instruction before */
    bool left;    /* it returns or jumps away somewhere: so what it began with was right */
    struct target targets[TARGETS_MAX];
    size_t target_count;
    size_t starts[STARTS_MAX]; /* of functions before */
    size_t start_count;
    struct range skipped[SKIPPED_MAX]; /* what nothing had led to when it was passed */
    size_t skipped_count;
    struct bare_row *rows;
    struct state row_states[BARE_ROWS_MAX];
    size_t row_count;
};

static const struct state entry_state = {.depth = ENTRY_DEPTH};

static bool same(const struct state *a, const struct state *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static bool push_row(struct walker *walker, size_t offset, struct unwind_rule rule)
{
    if (walker->row_count == BARE_ROWS_MAX)
        return false;
    walker->row_states[walker->row_count] = walker->state;
    walker->rows[walker->row_count++] = (struct bare_row){(uint32_t)offset, rule};
    return true;
}

/* A row from here on, if anything changed. */
static bool note_state(struct walker *walker)
{
    const struct state *state = &walker->state;
    const struct bare_row *last = walker->row_count ? &walker->rows[walker->row_count - 1] : NULL;
    struct unwind_rule rule = {.cfa = UNWIND_CFA_RSP,
                               .rbp = state->rbp ? UNWIND_SAVE_CFA : UNWIND_SAVE_SAME,
                               .rbx = state->rbx ? UNWIND_SAVE_CFA : UNWIND_SAVE_SAME,
                               .cfa_offset = state->depth,
                               .rbp_offset = state->rbp,
                               .rbx_offset = state->rbx};
    if (last && memcmp(&last->rule, &rule, sizeof(rule)) == 0 &&
        same(&walker->row_states[walker->row_count - 1], state))
        return true;
    if (last && last->offset == walker->at)
        walker->row_count--;
    return push_row(walker, walker->at, rule);
}

static bool push(struct state *state, int32_t number)
{
    state->depth += 8;
    if (number == BARE_RBP && state->rbp == 0)
        state->rbp = -state->depth;
    else if (number == BARE_RBX && state->rbx == 0)
        state->rbx = -state->depth;
    return state->depth < DEPTH_MAX;
}

static bool pop(struct state *state, int32_t number)
{
    int32_t place = -state->depth;
    int32_t *saved = number == BARE_RBP ? &state->rbp : &state->rbx;
    state->depth -= 8;
    if (number == BARE_RBP)
        state->frame = 0;
    if (number == BARE_RBP || number == BARE_RBX) {
        if (*saved != place)
            return false;
        *saved = 0;
    }
    return number != BARE_RSP && state->depth >= ENTRY_DEPTH &&
           (state->rbp == 0 || -state->rbp <= state->depth) &&
           (state->rbx == 0 || -state->rbx <= state->depth);
}

static bool adjust(struct state *state, int32_t value)
{
    if (value < -DEPTH_MAX || value > DEPTH_MAX)
        return false;
    state->depth -= value;
    return state->depth >= ENTRY_DEPTH && state->depth < DEPTH_MAX &&
           (state->rbp == 0 || -state->rbp <= state->depth) &&
           (state->rbx == 0 || -state->rbx <= state->depth);
}

static bool leave(struct state *state)
{
    if (state->frame == 0 || state->frame > state->depth)
        return false;
    state->depth = state->frame;
    return pop(state, BARE_RBP) && (state->rbx == 0 || -state->rbx <= state->depth);
}

/* Registers that may be written must have been saved; RSP must not. */
static bool may_touch(struct state *state, uint32_t touched)
{
    if (touched & 1u << BARE_RBP)
        state->frame = 0;
    return !(touched & 1u << BARE_RSP) && !((touched & 1u << BARE_RBP) && state->rbp == 0) &&
           !((touched & 1u << BARE_RBX) && state->rbx == 0);
}

/* false: too many. */
static bool skip_code(struct walker *walker, size_t size)
{
    struct range *last = walker->skipped_count ? &walker->skipped[walker->skipped_count - 1] : NULL;
    if (last && last->end == walker->at) {
        last->end += size;
        return true;
    }
    if (walker->skipped_count == SKIPPED_MAX)
        return false;
    walker->skipped[walker->skipped_count++] = (struct range){walker->at, walker->at + size};
    return true;
}

/* false: the code there was not followed. */
static bool state_at(const struct walker *walker, size_t offset, struct state *ret_state)
{
    for (size_t i = 0; i < walker->skipped_count; i++) {
        if (offset >= walker->skipped[i].begin && offset < walker->skipped[i].end)
            return false;
    }
    for (size_t i = walker->row_count; i > 0; i--) {
        if (walker->rows[i - 1].offset <= offset) {
            *ret_state = walker->row_states[i - 1];
            return true;
        }
    }
    return false;
}

static bool is_start(const struct walker *walker, size_t offset)
{
    for (size_t i = 0; i < walker->start_count; i++) {
        if (walker->starts[i] == offset)
            return true;
    }
    return false;
}

/* A jump to a function before must leave the stack as it was, one inside must agree. One out of the
 * gap may lead back into the middle of what this is a piece of. */
static bool jump_to(struct walker *walker, size_t from, int32_t distance)
{
    int64_t offset = (int64_t)from + distance;
    struct state there;
    if (offset < 0 || offset >= (int64_t)walker->size)
        return false;
    if (offset < (int64_t)walker->start) {
        walker->left = true;
        return same(&walker->state, &entry_state) && is_start(walker, (size_t)offset);
    }
    if (offset < (int64_t)from)
        return state_at(walker, (size_t)offset, &there) && same(&there, &walker->state);
    if (walker->target_count == TARGETS_MAX)
        return false;
    walker->targets[walker->target_count++] = (struct target){(size_t)offset, walker->state};
    return true;
}

/* Joins what jumps here; forgets targets that are passed. */
static bool join(struct walker *walker)
{
    size_t kept = 0;
    for (size_t i = 0; i < walker->target_count; i++) {
        struct target *target = &walker->targets[i];
        if (target->offset < walker->at)
            return false; /* into the middle of an instruction */
        if (target->offset > walker->at) {
            walker->targets[kept++] = *target;
            continue;
        }
        if (walker->reached && !same(&target->state, &walker->state))
            return false;
        walker->state = target->state;
        walker->reached = true;
    }
    walker->target_count = kept;
    return true;
}

static bool run(struct walker *walker, const struct bare_instruction *instruction)
{
    struct state *state = &walker->state;
    size_t next = walker->at + instruction->size;
    switch (instruction->kind) {
    case BARE_PLAIN:
        return may_touch(state, instruction->touched);
    case BARE_PADDING:
        return true;
    case BARE_PUSH:
        return push(state, instruction->value);
    case BARE_POP:
        return pop(state, instruction->value);
    case BARE_ADJUST:
        return adjust(state, instruction->value);
    case BARE_SET_FRAME:
        state->frame = state->depth;
        return state->rbp != 0;
    case BARE_LEAVE:
        return leave(state);
    case BARE_STOP:
        walker->reached = false;
        return true;
    case BARE_RETURN:
    case BARE_JUMP_AWAY:
        walker->reached = false;
        walker->left = true;
        return same(state, &entry_state);
    case BARE_JUMP:
        walker->reached = false;
        return jump_to(walker, next, instruction->value);
    case BARE_JUMP_IF:
        return jump_to(walker, next, instruction->value);
    default:
        return false;
    }
}

/* One function; `at` moves behind it. */
static bool follow(struct walker *walker)
{
    walker->start = walker->at;
    walker->state = entry_state;
    walker->reached = true;
    walker->left = false;
    walker->target_count = walker->skipped_count = 0;
    while (walker->at < walker->size) {
        if (!join(walker) || (walker->reached && !note_state(walker)))
            return false;
        if (!walker->reached && walker->target_count == 0)
            return walker->left;
        struct bare_instruction instruction =
            bare_decode(walker->bytes + walker->at, walker->size - walker->at);
        if (instruction.kind == BARE_UNKNOWN)
            return false;
        if (walker->reached ? !run(walker, &instruction) : !skip_code(walker, instruction.size))
            return false;
        walker->at += instruction.size;
    }
    return !walker->reached && walker->target_count == 0 && walker->left;
}

/* What a lazily bound procedure linkage table begins with, and the second half of its entries: they
 * jump with words pushed that are none of the caller's. */
static bool follow_lazy(struct walker *walker)
{
    const uint8_t *bytes = walker->bytes + walker->at;
    size_t left = walker->size - walker->at;
    bool first =
        left >= 12 && bytes[0] == 0xff && bytes[1] == 0x35 && bytes[6] == 0xff && bytes[7] == 0x25;
    bool entry = left >= 10 && bytes[0] == 0x68 && bytes[5] == 0xe9;
    if (!first && !entry)
        return false;
    walker->state = (struct state){.depth = first ? 2 * ENTRY_DEPTH : ENTRY_DEPTH};
    if (!note_state(walker))
        return false;
    walker->at += first ? 6 : 5;
    walker->state.depth += 8;
    if (!note_state(walker))
        return false;
    walker->at += first ? 6 : 5;
    return true;
}

/* Return from a signal handler: mov $15, %rax (or %eax); syscall. It is found through the return
 * address that the kernel pushed, hence by the byte before it. */
static bool follow_restorer(struct walker *walker)
{
    static const uint8_t codes[][9] = {{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05},
                                       {0xb8, 15, 0, 0, 0, 0x0f, 0x05}};
    static const size_t sizes[] = {9, 7};
    struct unwind_rule rule = {.cfa = UNWIND_CFA_SIGNAL};
    size_t free_from = walker->row_count ? walker->rows[walker->row_count - 1].offset : 0;
    for (size_t i = 0; i < 2; i++) {
        if (walker->at <= free_from || walker->size - walker->at < sizes[i] ||
            memcmp(walker->bytes + walker->at, codes[i], sizes[i]) != 0)
            continue;
        walker->state = (struct state){0};
        if (!push_row(walker, walker->at - 1, rule))
            return false;
        walker->at += sizes[i];
        return true;
    }
    return false;
}

static void skip_padding(struct walker *walker)
{
    while (walker->at < walker->size) {
        struct bare_instruction instruction =
            bare_decode(walker->bytes + walker->at, walker->size - walker->at);
        bool zero = walker->bytes[walker->at] == 0;
        if (instruction.kind != BARE_PADDING && !zero)
            return;
        walker->at += zero ? 1 : instruction.size;
    }
}

/* Behind a function, what is not aligned as functions are may be a piece of it that only a table or
 * an exception leads to. */
static bool at_begin(const struct walker *walker)
{
    const uint8_t *bytes = walker->bytes + walker->at;
    size_t left = walker->size - walker->at;
    bool stub = left >= 6 && bytes[0] == 0xff && bytes[1] == 0x25;
    return walker->row_count == 0 ||
           (walker->address + walker->at) % (stub ? STUB_ALIGN : FUNCTION_ALIGN) == 0;
}

/* What is at `at`; moves behind it. */
static bool follow_next(struct walker *walker)
{
    static const struct unwind_rule unknown = {.cfa = UNWIND_CFA_UNKNOWN};
    if (!follow_restorer(walker) && !follow_lazy(walker) && (!at_begin(walker) || !follow(walker)))
        return false;
    if (walker->start_count < STARTS_MAX)
        walker->starts[walker->start_count++] = walker->start;
    walker->state = (struct state){0};
    return push_row(walker, walker->at, unknown);
}

size_t bare_code_rows(const uint8_t *bytes, size_t size, uint64_t address,
                      struct bare_row rows[BARE_ROWS_MAX])
{
    struct walker walker = {.bytes = bytes, .size = size, .address = address, .rows = rows};
    struct bare_row last = {0}; /* of what was understood: what was not may have replaced it */
    size_t good = 0;
    for (skip_padding(&walker); walker.at < size && follow_next(&walker); skip_padding(&walker)) {
        good = walker.row_count;
        last = rows[good - 1];
    }
    if (good > 0)
        rows[good - 1] = last;
    return good;
}

size_t bare_code_frames(const uint8_t *bytes, size_t size)
{
    static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5}; /* push %rbp; mov %rsp, %rbp */
    size_t count = 0;
    const uint8_t *at = bytes, *end = bytes + size;
    while ((at = memmem(at, (size_t)(end - at), begin, sizeof(begin))) != NULL) {
        count++;
        at += sizeof(begin);
    }
    return count;
}
