/* SPDX-License-Identifier: MIT */
/* The public functions of tracer.h and function_calls.h: calls of traced and of instrumented
 * functions, and sums of calls. */
#include "api.h"
#include "block.h"
#include "calls.h"
#include "clock.h"
#include "codes.h"
#include "fast.h"
#include "overwrite.h"
#include "proc.h"
#include "process.h"
#include "strings.h"

#include <annot/tracer.h>
#include <annot_barrier.h>
#include <string.h>
#include <unistd.h>

_Static_assert(ANNOT_CODE_LEVEL == ANNOT_CALL_LEVEL, "as in a record");

/* ---- Names of traced functions --------------------------------------------------------------- */

/* "\x1fFILE" is followed by "\x1f4294967295\x1fp" and perhaps "\x1f1000000000". */
enum { CODE_NUMBERS = 16, CODE_LEAST = 11 };

struct code_text {
    const char *qualname, *file;
    uint32_t first_line;
    enum annot_code_kind kind;
    uint64_t least_ns;
};

/* Returns the end of a text that fits `room`. */
static const char *end_of(const char *text, size_t room)
{
    size_t length = strlen(text);
    const char *at = length <= room ? text : text + (length - room);
    while (at != text && ((unsigned char)*at & 0xc0) == 0x80)
        at++;
    return at;
}

static void write_code(char *text, const struct code_text *code)
{
    const char *end =
        text + ANNOT_STRING_MAX - CODE_NUMBERS - (code->least_ns ? CODE_LEAST : 0) + 1;
    char *at = text_append_clean(text, end, code->qualname);
    if (at == end - 1 && strlen(code->qualname) >= (size_t)(at - text))
        at = text + text_cut(text, (uint32_t)(at - text));
    at = text_append(at, end + 1, "\x1f");
    text_append_clean(at, end, end_of(code->file, at < end ? (size_t)(end - 1 - at) : 0));
}

static APART annot_name intern_code(char *text, const struct code_text *code)
{
    static const char *const kinds[] = {
        [ANNOT_CODE_PYTHON] = "\x1f" ANNOT_CODE_KIND_PYTHON,
        [ANNOT_CODE_C] = "\x1f" ANNOT_CODE_KIND_C,
        [ANNOT_CODE_TASK] = "\x1f" ANNOT_CODE_KIND_TASK,
    };
    struct string_key key;
    const char *end = text + SCRATCH_SIZE;
    int is_known = code->kind > 0 && code->kind < sizeof(kinds) / sizeof(*kinds);
    write_code(text, code);
    char *at = text_append(text + strlen(text), end, "\x1f");
    at = text_append_decimal(at, end, code->first_line);
    at = text_append(at, end, kinds[is_known ? code->kind : ANNOT_CODE_PYTHON]);
    if (code->least_ns) {
        at = text_append(at, end, "\x1f");
        text_append_decimal(at, end, code->least_ns);
    }
    string_key_init(&key, text, ANNOT_STRING_CODE);
    key.sparing = 1; /* a program that makes code for ever still has room for its names */
    return strings_intern(&key);
}

static annot_name name_code(const struct code_text *code)
{
    if (codes_domain == 0) /* partner: loads of emitted calls; concurrent calls get the same id */
        annot_store_relaxed(&codes_domain, annot_domain_create(ANNOT_PYTHON_DOMAIN));
    char *scratch = scratch_take();
    annot_name name = scratch ? intern_code(scratch, code) : 0;
    scratch_give(scratch);
    return name;
}

annot_name annot_code_name(const char *qualname, const char *file, uint32_t first_line,
                           enum annot_code_kind kind)
{
    FORWARD_VALUE(code_name, 0, qualname, file, first_line, kind);
    return name_code(
        &(struct code_text){qualname ? qualname : "?", file ? file : "", first_line, kind, 0});
}

annot_name annot_code_name_least(const char *qualname, const char *file, uint32_t first_line,
                                 enum annot_code_kind kind, uint64_t least_ns)
{
    FORWARD_VALUE(code_name_least, 0, qualname, file, first_line, kind, least_ns);
    if (least_ns > ANNOT_CODE_LEAST_MAX)
        least_ns = ANNOT_CODE_LEAST_MAX;
    return name_code(&(struct code_text){qualname ? qualname : "?", file ? file : "", first_line,
                                         kind, least_ns});
}

/* ---- Calls of traced functions --------------------------------------------------------------- */

/* Two tries, as for a range (fast.h): the first, `quickly`, makes no calls; the second handles
 * clocks that are not one instruction, and numbers that wrap. Each returns 0 without effect. */
static FAST int code_begins(struct control *control, uint64_t generation, int quickly,
                            uint32_t *ret_at)
{
    const uint32_t size = sizeof(struct annot_record);
    if (!quickly)
        return fast_enter(control, generation, size, ret_at);
    if (!quick_enter(control, generation))
        return 0;
    *ret_at = annot_load_relaxed(&control->committed); /* once: see control_is_foreign */
    if (!is_rare(*ret_at + size > control->quick_limit))
        return 1;
    control->generation = generation;
    return 0;
}

static FAST uint64_t code_clock(int quickly)
{
    uint64_t time = quickly ? clock_quick() : clock_now();
    annot_signal_fence();
    return time;
}

/* If levels are suppressed, there are more than LEVELS_KEPT. */
static FAST int is_plain_enter(const struct control *control, annot_name name, uint32_t level)
{
    return name != 0 && name < control->name_limit && control->codes && level < LEVELS_KEPT &&
           codes_are_wanted(control, name);
}

static FAST int fast_enter_code(struct control *control, annot_name name, uint32_t head,
                                int quickly, uint32_t *ret_token)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!code_begins(control, generation, quickly, &at))
        return 0;
    uint32_t level = control->depth;
    if (is_rare(!is_plain_enter(control, name, level))) {
        control->generation = generation;
        return 0;
    }
    uint64_t time = code_clock(quickly);
    struct annot_block *block = control->block;
    record_base(record_at(block, at), time, head, name);
    record_commit_to(control, block, at + (uint32_t)sizeof(struct annot_record));
    struct annot_open *open = &control->codes[level];
    uint32_t instance = control->instance, count = control->code_count;
    annot_store_relaxed(&open->name, name); /* one by one: combining the halves is slower */
    annot_store_relaxed(&open->instance, instance);
    annot_store_relaxed(&open->time, time);
    control->levels[level] = LEVEL_CALL;
    control->depth = level + 1;
    control->instance = quickly ? instance + 1 : instance_after(instance);
    control->code_count = count + 1;
    fast_leave(control, generation);
    *ret_token = count;
    return 1;
}

/* Requires that the innermost range is that call. */
static FAST int fast_leave_code(struct control *control, uint32_t token, int quickly)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!code_begins(control, generation, quickly, &at))
        return 0;
    uint32_t level = control->depth - 1, count = control->code_count - 1;
    if (is_rare(token != count) || is_rare(level >= LEVELS_KEPT) ||
        is_rare(control->levels[level] != LEVEL_CALL)) {
        control->generation = generation;
        return 0;
    }
    uint8_t *state = &control->levels[level];
    uint64_t time = code_clock(quickly);
    struct annot_block *block = control->block;
    record_base(record_at(block, at), time, record_head(ANNOT_REC_POP, 1, 0, ANNOT_CODE_LEVEL),
                control->recorded + count);
    record_commit_to(control, block, at + (uint32_t)sizeof(struct annot_record));
    *state = LEVEL_RECORDED;
    control->depth = level;
    control->code_count = count;
    fast_leave(control, generation);
    return 1;
}

static APART uint32_t general_enter(annot_name name, int continues,
                                    const struct annot_value *values, size_t count)
{
    struct emission emission = {.kind = ANNOT_REC_PUSH,
                                .level = ANNOT_CODE_LEVEL,
                                .name = name,
                                .is_code = 1,
                                .continues = continues != 0,
                                .value = ANNOT_CODE_HELD,
                                .values = values,
                                .value_count = count};
    if (name != 0)
        emit_general(&emission);
    return (uint32_t)emission.value;
}

static FAST uint32_t enter_head(int continues)
{
    return record_head(ANNOT_REC_PUSH, 1, 0,
                       ANNOT_CODE_LEVEL | (continues ? ANNOT_RECORD_CONTINUES : 0));
}

static APART uint32_t enter_slowly(annot_name code, int continues)
{
    uint32_t token;
    if (fast_enter_code(annot_control, code, enter_head(continues), 0, &token))
        return token;
    FORWARD_VALUE(code_enter, ANNOT_CODE_HELD, code, continues);
    return general_enter(code, continues, NULL, 0);
}

HOT uint32_t annot_code_enter(annot_name code, int continues)
{
    uint32_t token;
    if (__builtin_expect(fast_enter_code(annot_control, code, enter_head(continues), 1, &token), 1))
        return token;
    return enter_slowly(code, continues);
}

uint32_t annot_code_enter_values(annot_name code, const struct annot_value *values, size_t count)
{
    FORWARD_VALUE(code_enter_values, ANNOT_CODE_HELD, code, values, count);
    return annot_enabled() ? general_enter(code, 0, values, count) : ANNOT_CODE_HELD;
}

static APART void general_leave(uint32_t token, const struct annot_value *values, size_t count)
{
    struct emission emission = {.kind = ANNOT_REC_POP,
                                .level = ANNOT_CODE_LEVEL,
                                .is_code = 1,
                                .value = token,
                                .values = values,
                                .value_count = count};
    if (token != ANNOT_CODE_HELD)
        emit_general(&emission);
}

static APART void leave_slowly(uint32_t token)
{
    if (fast_leave_code(annot_control, token, 0))
        return;
    FORWARD(code_leave, token);
    general_leave(token, NULL, 0);
}

HOT void annot_code_leave(uint32_t token)
{
    if (__builtin_expect(fast_leave_code(annot_control, token, 1), 1))
        return;
    leave_slowly(token);
}

void annot_code_leave_values(uint32_t token, const struct annot_value *values, size_t count)
{
    FORWARD(code_leave_values, token, values, count);
    general_leave(token, values, count);
}

int annot_code_wanted(void)
{
    FORWARD_VALUE(code_wanted, 0);
    struct control *control = annot_enabled() ? api_recording() : NULL;
    return control && control->mask && codes_pass(control);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Sums lie in blocks of the pool that the thread keeps; the owner of the sums writes them. */

#define NO_BLOCK UINT32_MAX

_Static_assert((int)ANNOT_SUM_CALLS == (int)ANNOT_WIRE_SUM_CALLS &&
                   (int)ANNOT_SUM_LINES == (int)ANNOT_WIRE_SUM_LINES &&
                   (int)ANNOT_SUM_CALLEES == (int)ANNOT_WIRE_SUM_CALLEES &&
                   sizeof(struct annot_wire_sum) ==
                       offsetof(struct annot_wire_sum, count) + sizeof(struct annot_sum) &&
                   offsetof(struct annot_wire_sum, since) ==
                       offsetof(struct annot_wire_sum, count) + offsetof(struct annot_sum, since),
               "a sum is where the collector reads it");

int annot_sums_begin(struct annot_sums *sums)
{
    *sums = (struct annot_sums){0};
    FORWARD_VALUE(sums_begin, 0, sums);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control || !control->thread || !segment_get(control->segment))
        return 0;
    *sums = (struct annot_sums){
        .segment = control->segment,
        .serial = control->serial,
        .thread = (uint32_t)(control->thread - control->segment->threads),
        .block = NO_BLOCK,
        .used = ANNOT_SUMS_OF_BLOCK,
        .pid = getpid(),
        .tid = control->thread->tid,
    };
    return 1;
}

int annot_sums_are_current(const struct annot_sums *sums)
{
    FORWARD_VALUE(sums_are_current, 0, sums);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    return control && control->thread && control->segment == sums->segment &&
           control->serial == sums->serial && sums->pid == getpid();
}

/* ---- Blocks of sums -------------------------------------------------------------------------- */

static APART void fill_header(const struct annot_sums *sums, struct annot_block *block)
{
    const struct segment *segment = sums->segment;
    const struct annot_thread *thread = &segment->threads[sums->thread];
    memset(block, 0, sizeof(*block));
    block->thread_index = sums->thread;
    block->thread_serial = sums->serial;
    block->sequence = sums->blocks;
    block->tid = sums->tid;
    block->generation = segment->made_generation;
    memcpy(block->comm, thread->comm, sizeof(block->comm));
    clock_both(&block->claim_time, &block->claim_ns);
}

/* Sums may take half of the pool, and stay. Concurrent threads may take one more block each. */
static APART int take_block(struct annot_sums *sums)
{
    struct segment *segment = sums->segment;
    uint32_t index;
    if (annot_load_relaxed(&segment->sum_blocks) >= (segment->block_count + 1) / 2)
        return 0;
    int error = block_claim(segment, &index);
    if (error && segment->policy == ANNOT_POLICY_OVERWRITE_OLDEST)
        error = overwrite_claim(segment, &index);
    if (error)
        return 0;
    fill_header(sums, segment_block(segment, index));
    block_publish(segment, index, ANNOT_BLOCK_SUMS);
    annot_fetch_add_relaxed(&segment->sum_blocks, 1u);
    sums->block = index;
    sums->blocks++;
    sums->used = 0;
    return 1;
}

/* ANNOT_SUM_REFERENCE */
static uint32_t reference_of(const struct segment *segment, const struct annot_sum *sum)
{
    if (!sum)
        return 0;
    uint64_t offset = (uint64_t)((const uint8_t *)sum - (const uint8_t *)segment_block(segment, 0));
    uint32_t in_block = (uint32_t)(offset % ANNOT_BLOCK_SIZE) - ANNOT_BLOCK_HEADER_SIZE;
    return ANNOT_SUM_REFERENCE((uint32_t)(offset / ANNOT_BLOCK_SIZE),
                               in_block / (uint32_t)sizeof(struct annot_wire_sum));
}

struct annot_sum *annot_sums_add(struct annot_sums *sums, enum annot_sum_kind kind,
                                 const struct annot_place *place)
{
    FORWARD_VALUE(sums_add, NULL, sums, kind, place);
    struct segment *segment = sums->segment;
    if (!segment || place->code == 0 || place->code > ANNOT_SUM_CODE_MASK)
        return NULL;
    if (!strings_sync_one(segment, place->code) ||
        (sums->used == ANNOT_SUMS_OF_BLOCK && !take_block(sums))) {
        annot_fetch_add_relaxed(&segment->header->shared.lost[ANNOT_LOSS_POOL_FULL], 1);
        return NULL;
    }
    struct annot_block *block = segment_block(segment, sums->block);
    struct annot_wire_sum *sum =
        (struct annot_wire_sum *)((uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE) + sums->used++;
    *sum = (struct annot_wire_sum){
        .what = (uint32_t)kind << ANNOT_SUM_KIND_SHIFT | place->code,
        .where = kind == ANNOT_SUM_CALLS ? reference_of(segment, place->caller) : place->line,
    };
    /* Partner: the collector's load of committed. */
    annot_store_release(&block->committed, sums->used * (uint32_t)sizeof(*sum));
    return (struct annot_sum *)&sum->count;
}

void annot_sums_end(struct annot_sums *sums)
{
    FORWARD(sums_end, sums);
    struct segment *segment = sums->segment;
    if (segment && sums->pid == getpid()) {
        if (sums->block != NO_BLOCK)
            block_end_sums(segment, sums->serial);
        segment_put(segment);
    }
    *sums = (struct annot_sums){0};
}

/* ---- Names of instrumented functions --------------------------------------------------------- */

/* Appends a separator and a number; printf is not for signal handlers. */
static uint32_t put_number(char *text, uint32_t length, uint64_t number, uint32_t base)
{
    char digits[20];
    uint32_t count = 0;
    text[length++] = '\x1f';
    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    while (count)
        text[length++] = digits[--count];
    return length;
}

/* Returns the end of a path that is too long: the beginning is less informative. */
static const char *shortened(const char *file, uint32_t room)
{
    size_t length = strlen(file);
    return length <= room ? file : file + (length - room);
}

static APART annot_name intern_function(char *text, const char *file, uint64_t offset,
                                        uint64_t inode)
{
    enum { NUMBERS = 2 * 21 };

    struct string_key key;
    file = shortened(file, ANNOT_STRING_MAX - NUMBERS);
    uint32_t length = (uint32_t)strlen(file);
    memcpy(text, file, length);
    length = put_number(text, length, offset, 16);
    length = put_number(text, length, inode, 10);
    text[length] = 0;
    string_key_init(&key, text, ANNOT_STRING_FUNCTION);
    return process_intern(&key);
}

annot_name annot_function_name(const char *file, uint64_t offset, uint64_t inode)
{
    FORWARD_VALUE(function_name, 0, file, offset, inode);
    if (!file)
        return annot_name_intern(file);
    if (calls_domain == 0) /* partner: loads of emitted calls; concurrent calls get the same id */
        annot_store_relaxed(&calls_domain, annot_domain_create(ANNOT_FUNCTIONS_DOMAIN));
    char *scratch = scratch_take();
    annot_name name = scratch ? intern_function(scratch, file, offset, inode) : 0;
    scratch_give(scratch);
    return name;
}

/* ---- Calls and returns of instrumented functions --------------------------------------------- */

static FAST void record_call(struct control *control, annot_name name, uint32_t at)
{
    uint64_t time = clock_now();
    record_base(record_at(control->block, at), time,
                record_head(ANNOT_REC_PUSH, 1, 0, ANNOT_CALL_LEVEL), name);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    if (__builtin_expect(control->depth >= ANNOT_LIVE_DEPTH, 0)) {
        levels_push(control, LEVEL_RECORDED, name, time, 1);
        return;
    }
    live_put(control, name, control->instance, time);
    control->depth++;
    control->recorded++;
    control->instance = instance_after(control->instance);
}

/* True if the call can be recorded here, after all earlier ones. */
static FAST int is_plain_call(const struct control *control, annot_name name,
                              const struct annot_call *made)
{
    const struct calls *calls = control->calls;
    if (!calls || name == 0 || name >= control->name_limit || calls->count >= CALLS_KEPT ||
        !levels_can_record(control))
        return 0;
    return calls->count == 0 || calls_is_open(&calls->at[calls->count - 1], made);
}

static FAST int fast_call(struct control *control, annot_name name, const struct annot_call *made)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return 0;
    if (__builtin_expect(!is_plain_call(control, name, made), 0)) {
        control->generation = generation;
        return 0;
    }
    struct calls *calls = control->calls;
    struct call *call = &calls->at[calls->count];
    call->function = (uintptr_t)made->function;
    call->site = (uintptr_t)made->site;
    call->stack = (uintptr_t)made->stack;
    call->depth = control_own(control);
    call->is_shown = (uint32_t)calls_are_wanted(control, name);
    annot_signal_fence();
    calls->count++;
    if (call->is_shown)
        record_call(control, name, at);
    fast_leave(control, generation);
    return 1;
}

static FAST void record_return(struct control *control, uint32_t at)
{
    uint32_t recorded = control->recorded - 1, level = control->depth - 1;
    int counted;
    record_base(record_at(control->block, at), clock_now(),
                record_head(ANNOT_REC_POP, 1, 0, ANNOT_CALL_LEVEL), recorded + control->code_count);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    if (__builtin_expect(level >= ANNOT_LIVE_DEPTH, 0)) {
        levels_pop(control, &counted);
        return;
    }
    uint32_t depth = control->live_depth - 1;
    control->depth = level;
    control->live_depth = depth;
    control->recorded = recorded;
    /* Partner: the sampler, which reads depth first. */
    annot_store_release(&control->thread->depth, depth);
}

/* True if the innermost call is the one that returns, and only its own range is to be closed. */
static FAST int is_plain_return(const struct control *control, const struct annot_call *made,
                                int is_down)
{
    const struct calls *calls = control->calls;
    if (!calls || calls->count == 0 || calls->beyond)
        return 0;
    const struct call *call = &calls->at[calls->count - 1];
    uintptr_t stack = (uintptr_t)made->stack;
    int is_own = is_down ? call->stack < stack && (calls->count == 1 || call[-1].stack >= stack)
                         : call->stack >= stack;
    if (!is_own || call->function != (uintptr_t)made->function ||
        call->site != (uintptr_t)made->site)
        return 0;
    uint32_t level = control->depth - 1;
    return !call->is_shown ||
           (control_own(control) - 1 == call->depth && level < LEVELS_KEPT &&
            levels_can_record(control) && control->levels[level] == LEVEL_RECORDED);
}

static FAST int fast_return(struct control *control, const struct annot_call *made, int is_down)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return 0;
    if (__builtin_expect(!is_plain_return(control, made, is_down), 0)) {
        control->generation = generation;
        return 0;
    }
    struct calls *calls = control->calls;
    if (calls->at[calls->count - 1].is_shown)
        record_return(control, at);
    annot_signal_fence();
    calls->count--;
    fast_leave(control, generation);
    return 1;
}

static APART void general_call(annot_name name, const struct annot_call *call)
{
    struct emission emission = {.kind = ANNOT_REC_PUSH,
                                .level = ANNOT_CALL_LEVEL,
                                .domain = annot_load_relaxed(&calls_domain),
                                .name = name,
                                .is_call = 1,
                                .call = call};
    emit_general(&emission);
}

void annot_emit_call(annot_name name, const struct annot_call *call)
{
    if (__builtin_expect(fast_call(annot_control, name, call), 1))
        return;
    FORWARD(call, name, call);
    general_call(name, call);
}

static APART void general_return(const struct annot_call *call, int is_down)
{
    struct emission emission = {.kind = ANNOT_REC_POP,
                                .level = ANNOT_CALL_LEVEL,
                                .is_down = is_down != 0,
                                .is_call = 1,
                                .call = call};
    emit_general(&emission);
}

void annot_emit_return(const struct annot_call *call, int is_down)
{
    if (__builtin_expect(fast_return(annot_control, call, is_down), 1))
        return;
    FORWARD(return_, call, is_down);
    general_return(call, is_down);
}

/* ---- For later copies ------------------------------------------------------------------------ */

OWN(annot_code_name);
OWN(annot_code_name_least);
OWN(annot_code_enter);
OWN(annot_code_leave);
OWN(annot_code_enter_values);
OWN(annot_code_leave_values);
OWN(annot_code_wanted);
OWN(annot_sums_begin);
OWN(annot_sums_are_current);
OWN(annot_sums_add);
OWN(annot_sums_end);
OWN(annot_function_name);
OWN(annot_emit_call);
OWN(annot_emit_return);
