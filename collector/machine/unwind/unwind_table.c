/* SPDX-License-Identifier: MIT */
/* Builds the rows of a module: descriptions in the order of their code, each clipped at the start
 * of the next (as the C++ runtime's search resolves overlaps), the gaps between them unknown, equal
 * neighbours merged, equal rules shared. Rule 0 of every table is the unknown one, as is the last
 * row, after all code. */
#include "unwind_table.h"
#include "cfi_index.h"
#include "cfi_program.h"
#include "hash.h"
#include "unwind_cache.h"
#include "unwind_rule.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rules ----------------------------------------------------------------------------------- */

/* Expressions are evaluated symbolically: a result of the form "a register + offset", maybe read
 * from memory and added to once more, is a rule; any other is unsupported. Operations: DWARF 5,
 * section 2.5. Linkers describe procedure linkage tables by one special expression, matched by its
 * bytes. */

enum {
    DW_DEREF = 0x06,
    DW_CONST1U = 0x08, /* 1u 1s 2u 2s 4u 4s 8u 8s */
    DW_CONST8S = 0x0f,
    DW_CONSTU = 0x10,
    DW_CONSTS = 0x11,
    DW_MINUS = 0x1c,
    DW_PLUS = 0x22,
    DW_PLUS_UCONST = 0x23,
    DW_LIT0 = 0x30,
    DW_LIT31 = 0x4f,
    DW_BREG0 = 0x70,
    DW_BREG31 = 0x8f,
    DW_BREGX = 0x92,
};

enum { STACK_MAX = 8, OPERATIONS_MAX = 32, SIGNAL_RSP = 160 };

/* base + offset, or *(base + offset) + add; a base below 0 is not a register. */
enum { BASE_NONE = -1, BASE_CFA = -2 };

struct symbolic {
    int64_t base, offset, add;
    bool loaded;
};

struct evaluator {
    struct cfi_reader reader;
    struct symbolic stack[STACK_MAX];
    unsigned depth;
};

static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void push(struct evaluator *evaluator, int64_t base, int64_t offset)
{
    if (evaluator->depth == STACK_MAX)
        evaluator->reader.failed = true;
    else
        evaluator->stack[evaluator->depth++] = (struct symbolic){.base = base, .offset = offset};
}

static void add_number(struct evaluator *evaluator, int64_t number)
{
    if (evaluator->depth == 0) {
        evaluator->reader.failed = true;
        return;
    }
    struct symbolic *top = &evaluator->stack[evaluator->depth - 1];
    if (top->loaded)
        top->add = sum(top->add, number);
    else
        top->offset = sum(top->offset, number);
}

/* Adds or subtracts the two uppermost values, one of which must be a plain number. */
static void combine(struct evaluator *evaluator, bool minus)
{
    if (evaluator->depth < 2) {
        evaluator->reader.failed = true;
        return;
    }
    struct symbolic *below = &evaluator->stack[evaluator->depth - 2];
    struct symbolic top = evaluator->stack[--evaluator->depth];
    if (top.base == BASE_NONE && !top.loaded) {
        add_number(evaluator, minus ? (int64_t)(0 - (uint64_t)top.offset) : top.offset);
    } else if (below->base == BASE_NONE && !below->loaded && !minus) {
        int64_t number = below->offset;
        *below = top;
        add_number(evaluator, number);
    } else {
        evaluator->reader.failed = true;
    }
}

static void load(struct evaluator *evaluator)
{
    struct symbolic *top = evaluator->depth ? &evaluator->stack[evaluator->depth - 1] : NULL;
    if (!top || top->loaded || top->base == BASE_NONE)
        evaluator->reader.failed = true;
    else
        top->loaded = true;
}

static int64_t constant(struct cfi_reader *reader, uint8_t op)
{
    unsigned size = 1u << ((op - DW_CONST1U) / 2);
    uint64_t value = cfi_number(reader, size);
    unsigned unused = 64 - 8 * size;
    return (op - DW_CONST1U) % 2 ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static void evaluate_one(struct evaluator *evaluator)
{
    struct cfi_reader *reader = &evaluator->reader;
    uint8_t op = (uint8_t)cfi_number(reader, 1);
    if (op >= DW_BREG0 && op <= DW_BREG31) {
        push(evaluator, op - DW_BREG0, cfi_sleb(reader));
    } else if (op >= DW_LIT0 && op <= DW_LIT31) {
        push(evaluator, BASE_NONE, op - DW_LIT0);
    } else if (op >= DW_CONST1U && op <= DW_CONST8S) {
        push(evaluator, BASE_NONE, constant(reader, op));
    } else if (op == DW_CONSTU) {
        push(evaluator, BASE_NONE, (int64_t)cfi_uleb(reader));
    } else if (op == DW_CONSTS) {
        push(evaluator, BASE_NONE, cfi_sleb(reader));
    } else if (op == DW_BREGX) {
        int64_t base = (int64_t)(cfi_uleb(reader) & INT32_MAX);
        push(evaluator, base, cfi_sleb(reader));
    } else if (op == DW_PLUS_UCONST) {
        add_number(evaluator, (int64_t)cfi_uleb(reader));
    } else if (op == DW_PLUS || op == DW_MINUS) {
        combine(evaluator, op == DW_MINUS);
    } else if (op == DW_DEREF) {
        load(evaluator);
    } else {
        reader->failed = true;
    }
}

/* `with_cfa`: expressions of registers begin with the CFA on the stack. */
static bool evaluate(const uint8_t *bytes, uint32_t size, bool with_cfa, struct symbolic *ret_value)
{
    struct evaluator evaluator = {.reader = {bytes, bytes + size, false}};
    if (with_cfa)
        push(&evaluator, BASE_CFA, 0);
    for (int i = 0; i < OPERATIONS_MAX && evaluator.reader.at < evaluator.reader.end; i++) {
        evaluate_one(&evaluator);
        if (evaluator.reader.failed)
            return false;
    }
    if (evaluator.reader.at < evaluator.reader.end || evaluator.depth == 0)
        return false;
    *ret_value = evaluator.stack[evaluator.depth - 1];
    return true;
}

/* breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus. */
static bool is_plt(const uint8_t *bytes, uint32_t size, int32_t *ret_threshold)
{
    static const uint8_t begin[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a}, end[] = {0x2a, 0x33, 0x24, 0x22};
    if (size != sizeof(begin) + 1 + sizeof(end) || memcmp(bytes, begin, sizeof(begin)) != 0 ||
        memcmp(bytes + sizeof(begin) + 1, end, sizeof(end)) != 0)
        return false;
    *ret_threshold = bytes[sizeof(begin)] - DW_LIT0;
    return *ret_threshold >= 0 && *ret_threshold < 16;
}

static bool fits(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* -1: not a register that a rule can use as scratch. */
static int scratch_of(int64_t base)
{
    static const int8_t numbers[UNWIND_SCRATCH_COUNT] = {0, 9, 10, 11};
    for (int i = 0; i < UNWIND_SCRATCH_COUNT; i++) {
        if (numbers[i] == base)
            return i;
    }
    return -1;
}

static void set_cfa_rule(struct unwind_rule *rule, const struct symbolic *value)
{
    uint8_t cfa = UNWIND_CFA_UNKNOWN;
    if (value->base == CFI_RSP)
        cfa = value->loaded ? UNWIND_CFA_RSP_DEREF : UNWIND_CFA_RSP;
    else if (value->base == CFI_RBP)
        cfa = value->loaded ? UNWIND_CFA_RBP_DEREF : UNWIND_CFA_RBP;
    else if (value->base == CFI_RBX && !value->loaded)
        cfa = UNWIND_CFA_RBX;
    else if (scratch_of(value->base) >= 0 && !value->loaded)
        cfa = UNWIND_CFA_SCRATCH;
    if (cfa == UNWIND_CFA_UNKNOWN || !fits(value->offset) || !fits(value->add))
        return;
    rule->cfa = cfa;
    rule->scratch = cfa == UNWIND_CFA_SCRATCH ? (uint8_t)scratch_of(value->base) : 0;
    rule->cfa_offset = (int32_t)value->offset;
    rule->cfa_add = (int32_t)value->add;
}

static struct unwind_rule cfa_of(const struct cfi_state *state, bool signal)
{
    struct unwind_rule rule = {.cfa = UNWIND_CFA_UNKNOWN};
    struct symbolic value = {.base = (int64_t)(state->cfa_register & INT32_MAX),
                             .offset = state->cfa_offset};
    if (!state->cfa_known)
        return rule;
    if (state->cfa_expression) {
        if (is_plt(state->cfa_expression, state->cfa_expression_size, &rule.cfa_offset)) {
            rule.cfa = UNWIND_CFA_PLT;
            return rule;
        }
        if (!evaluate(state->cfa_expression, state->cfa_expression_size, false, &value))
            return rule;
        if (signal && value.base == CFI_RSP && value.loaded && value.offset == SIGNAL_RSP &&
            value.add == 0) {
            rule.cfa = UNWIND_CFA_SIGNAL;
            return rule;
        }
    }
    set_cfa_rule(&rule, &value);
    return rule;
}

/* True if the base is the CFA's own register, so the place is also relative to the CFA. */
static bool relative_to_cfa(const struct unwind_rule *rule, int64_t base)
{
    return (base == CFI_RSP && rule->cfa == UNWIND_CFA_RSP) ||
           (base == CFI_RBP && rule->cfa == UNWIND_CFA_RBP) ||
           (base == CFI_RBX && rule->cfa == UNWIND_CFA_RBX);
}

static uint8_t save_of(const struct cfi_place *place, const struct unwind_rule *rule,
                       int32_t *ret_offset)
{
    struct symbolic value = {.base = BASE_CFA, .offset = place->offset};
    *ret_offset = 0;
    if (place->how == CFI_UNSPECIFIED || place->how == CFI_SAME)
        return UNWIND_SAVE_SAME;
    if (place->how == CFI_EXPRESSION) {
        if (!evaluate(place->expression, place->expression_size, true, &value) || value.loaded)
            return UNWIND_SAVE_LOST;
    } else if (place->how != CFI_AT_CFA) {
        return UNWIND_SAVE_LOST;
    }
    if (relative_to_cfa(rule, value.base)) {
        value.base = BASE_CFA;
        value.offset = sum(value.offset, -(int64_t)rule->cfa_offset);
    }
    if ((value.base != BASE_CFA && value.base != CFI_RBP) || !fits(value.offset))
        return UNWIND_SAVE_LOST;
    *ret_offset = (int32_t)value.offset;
    return value.base == BASE_CFA ? UNWIND_SAVE_CFA : UNWIND_SAVE_RBP;
}

/* `signal`: the code is the return from a signal handler (augmentation 'S'). */
static struct unwind_rule cfi_rule_of(const struct cfi_state *state, bool signal)
{
    struct unwind_rule unknown = {.cfa = UNWIND_CFA_UNKNOWN}, end = {.cfa = UNWIND_CFA_END};
    const struct cfi_place *ret = &state->saved[CFI_TRACKED_RETURN];
    if (ret->how == CFI_UNDEFINED)
        return end;
    struct unwind_rule rule = cfa_of(state, signal);
    if (rule.cfa == UNWIND_CFA_SIGNAL)
        return rule;
    int32_t offset;
    if (rule.cfa == UNWIND_CFA_UNKNOWN || ret->how == CFI_UNSPECIFIED || ret->how == CFI_SAME ||
        save_of(ret, &rule, &offset) != UNWIND_SAVE_CFA || offset != -8)
        return unknown;
    rule.rbx = save_of(&state->saved[CFI_TRACKED_RBX], &rule, &rule.rbx_offset);
    rule.rbp = save_of(&state->saved[CFI_TRACKED_RBP], &rule, &rule.rbp_offset);
    if (rule.rbp == UNWIND_SAVE_RBP && rule.cfa == UNWIND_CFA_RSP) {
        /* Compilers leave this rule in force after a realigned frame was removed: before its
         * return. RBP has its old value back. */
        rule.rbp = UNWIND_SAVE_SAME;
        rule.rbp_offset = 0;
    }
    return rule;
}

/* ENTRY_MAX: limit of undescribed code at a program's entry, in bytes; EDGE_MAX: before and after
 * the described code. FOREIGN_*: limit of the search for frame pointers, which one function in this
 * many bytes must keep. */
enum {
    RULES_MAX = 1 << 16,
    SLOTS_MIN = 256,
    ENTRY_MAX = 128,
    EDGE_MAX = 8192,
    FOREIGN_SIZE_MAX = 64 << 20,
    FOREIGN_FRAME_BYTES = 2048,
    FOREIGN_PIECE = 8192,
};

struct builder {
    uint64_t base;
    struct elf_file *file;
    VEC(struct unwind_row) rows;
    VEC(struct unwind_rule) rules;
    uint32_t *slots; /* hash table of 1 + index of a rule */
    size_t slot_count;
    uint32_t skipped_count;
    int error;
    bool signal;        /* of the description being run */
    uint64_t clip;      /* its end */
    uint32_t last_rule; /* of the last row */
};

static void insert_rule(struct builder *builder, uint32_t index)
{
    size_t mask = builder->slot_count - 1;
    size_t slot = hash_bytes(&builder->rules.items[index], sizeof(struct unwind_rule)) & mask;
    while (builder->slots[slot])
        slot = (slot + 1) & mask;
    builder->slots[slot] = index + 1;
}

static int grow_slots(struct builder *builder)
{
    size_t count = builder->slot_count ? builder->slot_count * 2 : SLOTS_MIN;
    uint32_t *slots = calloc(count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(builder->slots);
    builder->slots = slots;
    builder->slot_count = count;
    for (uint32_t i = 0; i < builder->rules.count; i++)
        insert_rule(builder, i);
    return 0;
}

/* The rule's index; 0 if there are too many or it is out of memory. */
static uint32_t intern_rule(struct builder *builder, const struct unwind_rule *rule)
{
    size_t mask = builder->slot_count - 1;
    for (size_t slot = hash_bytes(rule, sizeof(*rule)) & mask; builder->slots[slot];
         slot = (slot + 1) & mask) {
        uint32_t index = builder->slots[slot] - 1;
        if (memcmp(&builder->rules.items[index], rule, sizeof(*rule)) == 0)
            return index;
    }
    if (builder->rules.count == RULES_MAX) {
        builder->skipped_count++;
        return 0;
    }
    builder->error = vec_push(&builder->rules, *rule);
    if (builder->error)
        return 0;
    uint32_t index = (uint32_t)builder->rules.count - 1;
    if (builder->rules.count * 2 > builder->slot_count)
        builder->error = grow_slots(builder);
    else
        insert_rule(builder, index);
    return index;
}

static void add_row(struct builder *builder, uint64_t address, uint32_t rule)
{
    uint32_t place = (uint32_t)(address - builder->base);
    struct unwind_row *last =
        builder->rows.count ? &builder->rows.items[builder->rows.count - 1] : NULL;
    if (last && last->rule == rule)
        return;
    if (last && last->address == place) {
        last->rule = rule;
        return;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): capacity implies items */
    if (vec_push(&builder->rows, ((struct unwind_row){place, rule})) < 0)
        builder->error = -ENOMEM;
}

static void on_row(void *context, uint64_t address, const struct cfi_state *state)
{
    struct builder *builder = context;
    if (address >= builder->clip)
        return;
    struct unwind_rule rule = cfi_rule_of(state, builder->signal);
    builder->skipped_count += rule.cfa == UNWIND_CFA_UNKNOWN;
    bool same = memcmp(&rule, &builder->rules.items[builder->last_rule], sizeof(rule)) == 0;
    if (!same)
        builder->last_rule = intern_rule(builder, &rule);
    add_row(builder, address, builder->last_rule);
}

static void add_function(struct builder *builder, const struct cfi_index *index,
                         const struct cfi_function *function)
{
    const struct cfi_common *common = &index->common.items[function->entry];
    const uint8_t *program = index->section.bytes + function->program;
    struct cfi_state state = common->initial;
    struct cfi_run run = {.program = {program, program + function->program_size, false},
                          .program_address = index->section.address + function->program,
                          .begin = function->begin,
                          .end = function->end,
                          .code_align = common->code_align,
                          .data_align = common->data_align,
                          .encoding = common->encoding,
                          .initial = &common->initial,
                          .row = on_row,
                          .context = builder};
    uint64_t stopped;
    builder->signal = common->signal;
    if (cfi_run(&run, &state, &stopped))
        return;
    builder->skipped_count++;
    if (stopped < builder->clip)
        add_row(builder, stopped, 0);
}

/* The number of function starts in these bytes that set up a frame pointer. */
static size_t count_frames(const uint8_t *bytes, size_t size)
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

/* Large gaps come from other compilers (V8's builtins inside of node are 1.6 MB). If functions keep
 * a frame pointer, it is followed; the caller is missed in their first and last instructions, and
 * in the few functions without one. */
static void add_foreign_code(struct builder *builder, uint64_t begin, uint64_t end)
{
    static const struct unwind_rule framed = {.cfa = UNWIND_CFA_RBP,
                                              .rbp = UNWIND_SAVE_CFA,
                                              .rbx = UNWIND_SAVE_LOST,
                                              .cfa_offset = 16,
                                              .rbp_offset = -16};
    uint8_t bytes[FOREIGN_PIECE];
    uint64_t frames = 0, size = end - begin;
    if (size <= FOREIGN_PIECE || size > FOREIGN_SIZE_MAX)
        return;
    for (uint64_t at = begin; at < end; at += sizeof(bytes)) {
        size_t piece = end - at < sizeof(bytes) ? end - at : sizeof(bytes);
        if (!elf_file_copy_at(builder->file, at, bytes, piece))
            return;
        frames += count_frames(bytes, piece);
    }
    if (frames * FOREIGN_FRAME_BYTES >= size)
        add_row(builder, begin, intern_rule(builder, &framed));
}

/* Stubs of a static program: one jump each, to the best version of a function (IFUNC). Without a
 * dynamic linker, they push nothing. */
static void add_static_stubs(struct builder *builder, uint64_t begin, uint64_t end)
{
    static const struct unwind_rule called = {.cfa = UNWIND_CFA_RSP, .cfa_offset = 8};
    struct elf_section stubs;
    struct elf_segment dynamic;
    if (elf_file_header(builder->file, PT_DYNAMIC, &dynamic) ||
        !elf_file_section(builder->file, ".plt", &stubs) || stubs.address < begin ||
        stubs.address >= end || stubs.size > end - stubs.address)
        return;
    add_row(builder, stubs.address, intern_rule(builder, &called));
    add_row(builder, stubs.address + stubs.size, 0);
}

/* Adds the undescribed range [begin, end): its caller is unknown. (Following such code instruction
 * by instruction completed 1 stack in 10,000: tests/bench/README.md.) Assembly at a program's entry
 * (in ld.so for one) often has no description, but it has no caller. */
static void add_gap(struct builder *builder, uint64_t begin, uint64_t end)
{
    static const struct unwind_rule outermost = {.cfa = UNWIND_CFA_END};
    uint64_t entry = elf_file_entry(builder->file);
    add_row(builder, begin, 0);
    if (entry < begin || entry >= end) {
        add_foreign_code(builder, begin, end);
        add_static_stubs(builder, begin, end);
        return;
    }
    add_row(builder, entry, intern_rule(builder, &outermost));
    if (end - entry > ENTRY_MAX)
        add_row(builder, entry + ENTRY_MAX, 0);
}

static int add_functions(struct builder *builder, const struct cfi_index *index, uint64_t end)
{
    const struct cfi_function *items = index->functions.items;
    size_t count = index->functions.count;
    if (builder->base < items[0].begin)
        add_gap(builder, builder->base, items[0].begin);
    for (size_t i = 0; i < count && !builder->error; i++) {
        uint64_t next = i + 1 < count ? items[i + 1].begin : end;
        builder->clip = items[i].end < next ? items[i].end : next;
        builder->skipped_count += items[i].end > next;
        if (items[i].begin < builder->clip)
            add_function(builder, index, &items[i]);
        if (builder->clip < next)
            add_gap(builder, builder->clip, next);
    }
    add_row(builder, end, 0);
    return builder->error;
}

/* The bounds of the described code, with a little before and after it in its segment. */
static void find_bounds(const struct cfi_index *index, const struct elf_file *file,
                        struct unwind_table *table)
{
    const struct cfi_function *items = index->functions.items;
    uint64_t base = items[0].begin, end = 0;
    for (size_t i = 0; i < index->functions.count; i++)
        end = items[i].end > end ? items[i].end : end;
    table->base = base;
    table->end = end;
    for (size_t i = 0; i < elf_file_segment_count(file); i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        uint64_t after = segment.address + segment.file_size;
        if (!(segment.flags & PF_X))
            continue;
        if (base > segment.address && base < after && base - segment.address <= EDGE_MAX)
            table->base = segment.address;
        if (end > segment.address && end < after && after - end <= EDGE_MAX)
            table->end = after;
    }
}

static int build_from(const struct cfi_index *index, struct elf_file *file,
                      struct unwind_table *table)
{
    struct unwind_rule unknown = {.cfa = UNWIND_CFA_UNKNOWN};
    struct builder builder = {.file = file, .skipped_count = index->skipped_count};
    find_bounds(index, file, table);
    if (table->end - table->base > UINT32_MAX)
        return -EFBIG;
    builder.base = table->base;
    int error = vec_reserve(&builder.rows, index->section.size / 16 + 1);
    if (!error)
        error = vec_push(&builder.rules, unknown);
    if (!error)
        error = grow_slots(&builder);
    if (!error)
        error = add_functions(&builder, index, table->end);
    free(builder.slots);
    if (error) {
        vec_free(&builder.rows);
        vec_free(&builder.rules);
        return error;
    }
    void *fitting = realloc(builder.rows.items, builder.rows.count * sizeof(struct unwind_row));
    table->rows = fitting ? fitting : builder.rows.items;
    table->row_count = (uint32_t)builder.rows.count;
    table->rules = builder.rules.items;
    table->rule_count = (uint32_t)builder.rules.count;
    table->skipped_count = builder.skipped_count;
    return 0;
}

int unwind_table_build_section(struct elf_file *file, const struct cfi_section *section,
                               struct unwind_table **ret_table)
{
    struct cfi_index index;
    int error = cfi_index_build(section, file, &index);
    if (error)
        return error;
    struct unwind_table *table = NULL;
    error = index.functions.count == 0 ? -ENODATA : 0;
    if (!error && !(table = calloc(1, sizeof(*table))))
        error = -ENOMEM;
    if (!error)
        error = build_from(&index, file, table);
    cfi_index_fini(&index);
    if (error)
        unwind_table_destroy(table);
    else
        *ret_table = table;
    return error;
}

int unwind_table_build(struct elf_file *file, struct unwind_table **ret_table)
{
    struct cfi_section section;
    int error = cfi_section_open(file, &section);
    if (error)
        return error;
    error = unwind_table_build_section(file, &section, ret_table);
    cfi_section_close(&section);
    return error;
}

void unwind_table_destroy(struct unwind_table *table)
{
    if (!table)
        return;
    free(table->rows);
    free(table->rules);
    free(table);
}

const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address)
{
    if (address < table->base || address >= table->end)
        return NULL;
    uint32_t place = (uint32_t)(address - table->base), begin = 0, end = table->row_count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (table->rows[middle].address <= place)
            begin = middle + 1;
        else
            end = middle;
    }
    uint32_t rule = begin ? table->rows[begin - 1].rule : table->rule_count;
    return rule < table->rule_count ? &table->rules[rule] : NULL;
}

/* ---- Starts of functions --------------------------------------------------------------------- */

/* Descriptions in the order of their code; where two overlap, the later one applies from its start
 * on, as in the rows. */

struct extent {
    uint32_t begin, size; /* relative to base */
};

struct function_starts {
    uint64_t base;
    size_t count;
    struct extent extents[];
};

static int from_index(const struct cfi_index *index, struct function_starts **ret_starts)
{
    size_t count = index->functions.count;
    if (count == 0)
        return -ENODATA;
    struct function_starts *starts = malloc(sizeof(*starts) + count * sizeof(starts->extents[0]));
    if (!starts)
        return -ENOMEM;
    starts->base = index->functions.items[0].begin;
    starts->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct cfi_function *function = &index->functions.items[i];
        if (function->end - starts->base > UINT32_MAX) {
            free(starts);
            return -EFBIG;
        }
        starts->extents[i] = (struct extent){(uint32_t)(function->begin - starts->base),
                                             (uint32_t)(function->end - function->begin)};
    }
    *ret_starts = starts;
    return 0;
}

int function_starts_build(struct elf_file *file, struct function_starts **ret_starts)
{
    struct cfi_section section;
    struct cfi_index index;
    int error = cfi_section_open(file, &section);
    if (error)
        return error;
    error = cfi_index_build(&section, file, &index);
    if (!error) {
        error = from_index(&index, ret_starts);
        cfi_index_fini(&index);
    }
    cfi_section_close(&section);
    elf_file_trim(file);
    return error;
}

void function_starts_destroy(struct function_starts *starts)
{
    free(starts);
}

bool function_starts_find(const struct function_starts *starts, uint64_t address,
                          uint64_t *ret_begin)
{
    size_t low = 0, high = starts->count;
    if (address < starts->base)
        return false;
    uint64_t place = address - starts->base;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts->extents[middle].begin <= place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || place - starts->extents[low - 1].begin >= starts->extents[low - 1].size)
        return false;
    *ret_begin = starts->base + starts->extents[low - 1].begin;
    return true;
}
