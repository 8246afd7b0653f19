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

static FAST int is_plain_enter(const struct control *control, annot_name name)
{
    return name != 0 && name < control->name_limit && control->codes &&
           control->depth < LEVELS_KEPT && control->deep_suppressed == 0;
}

/* 0: nothing is done. */
static FAST int fast_enter_code(struct control *control, annot_name name, uint32_t head,
                                uint32_t *ret_token)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return 0;
    if (is_rare(!is_plain_enter(control, name)) || is_rare(!codes_are_wanted(control, name))) {
        control->generation = generation;
        return 0;
    }
    uint64_t time = clock_now();
    annot_signal_fence();
    uint32_t level = control->depth;
    record_base(record_at(control->block, at), time, head, name);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    control->codes[level] = (struct annot_open){name, control->instance, time};
    control->levels[level] = LEVEL_CALL;
    control->depth = level + 1;
    control->instance = instance_after(control->instance);
    *ret_token = control->code_count++;
    fast_leave(control, generation);
    return 1;
}

/* The innermost range is that call. */
static FAST int fast_leave_code(struct control *control, uint32_t token)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return 0;
    uint32_t level = control->depth - 1, count = control->code_count - 1;
    if (is_rare(token != count) || is_rare(level >= LEVELS_KEPT) ||
        is_rare(control->levels[level] != LEVEL_CALL)) {
        control->generation = generation;
        return 0;
    }
    uint64_t time = clock_now();
    annot_signal_fence();
    record_base(record_at(control->block, at), time,
                record_head(ANNOT_REC_POP, 1, 0, ANNOT_CODE_LEVEL), control->recorded + count);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    control->levels[level] = LEVEL_RECORDED;
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

uint32_t annot_code_enter(annot_name code, int continues)
{
    uint32_t level = ANNOT_CODE_LEVEL | (continues ? ANNOT_RECORD_CONTINUES : 0);
    uint32_t token;
    if (__builtin_expect(
            fast_enter_code(annot_control, code, record_head(ANNOT_REC_PUSH, 1, 0, level), &token),
            1))
        return token;
    FORWARD_VALUE(code_enter, ANNOT_CODE_HELD, code, continues);
    return general_enter(code, continues, NULL, 0);
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

void annot_code_leave(uint32_t token)
{
    if (__builtin_expect(fast_leave_code(annot_control, token), 1))
        return;
    FORWARD(code_leave, token);
    general_leave(token, NULL, 0);
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
