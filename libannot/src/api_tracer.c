/* SPDX-License-Identifier: MIT */
/* The public functions of tracer.h. */
#include "api.h"
#include "codes.h"
#include "fast.h"
#include "proc.h"
#include "process.h"
#include "scratch.h"
#include "strings.h"

#include <string.h>

_Static_assert(ANNOT_CODE_LEVEL == ANNOT_CALL_LEVEL, "as in a record");

/* ---- Names ----------------------------------------------------------------------------------- */

/* "\x1fFILE" is followed by "\x1f4294967295\x1fp" and perhaps "\x1f1000000000". */
enum { CODE_NUMBERS = 16, CODE_LEAST = 11 };

struct code_text {
    const char *qualname, *file;
    uint32_t first_line;
    enum annot_code_kind kind;
    uint64_t least_ns;
};

/* What is left of a text when its beginning is left out. */
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
    key.sparing = 1; /* a program that makes code for ever still has names of its own */
    return strings_intern(&key);
}

static annot_name name_code(const struct code_text *code)
{
    if (codes_domain == 0) /* partner: the loads when a call is told; it comes out the same twice */
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

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Two tries, as of a range (fast.h): the first one, `quickly`, calls nothing; the second one is for
 * clocks that are no instruction, and for numbers that wrap. Each returns 0 with nothing done. */
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

/* Where levels are suppressed, there are more than LEVELS_KEPT. */
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
    annot_store_relaxed(&open->name, name); /* each by itself: halves put together take longer */
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

/* The innermost range is that call. */
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

OWN(annot_code_name);
OWN(annot_code_name_least);
OWN(annot_code_enter);
OWN(annot_code_leave);
OWN(annot_code_enter_values);
OWN(annot_code_leave_values);
OWN(annot_code_wanted);
