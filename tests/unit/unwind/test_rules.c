/* SPDX-License-Identifier: MIT */
/* Walks over invented tables and memory: every rule and every reason to stop, one by one. */
#include "test.h"
#include "unwind_stack.h"

enum { CODE = 0x400000, JIT = 0x600000, STACK = 0x7000, WORDS = 64, FRAMES = 16 };

/* Words from STACK on; code of rule i at CODE + 256 * i. */
struct scene {
    uint64_t words[WORDS];
    uint64_t unreadable; /* an address */
    bool no_table, missing;
    struct unwind_table table;
};

static bool find(void *context, uint64_t address, struct unwind_place *ret_place)
{
    struct scene *scene = context;
    *ret_place = (struct unwind_place){.table = scene->no_table ? NULL : &scene->table,
                                       .missing = scene->missing};
    if (address / 4096 == JIT / 4096)
        ret_place->table = NULL;
    return address / 4096 == JIT / 4096 || (address >= CODE && address < CODE + 4096);
}

static bool read_word(void *context, uint64_t address, uint64_t *ret_value)
{
    struct scene *scene = context;
    uint64_t index = (address - STACK) / 8;
    if (address < STACK || index >= WORDS || address == scene->unreadable)
        return false;
    *ret_value = scene->words[index];
    return true;
}

static uint64_t *word(struct scene *scene, uint64_t address)
{
    CHECK(address >= STACK && address < STACK + 8 * WORDS);
    return &scene->words[(address - STACK) / 8];
}

static struct unwind_row rows[FRAMES];
static struct unwind_frame frames[FRAMES];

/* Builds the table of the rules, and walks from the code of rule 1. */
static uint32_t walk(struct scene *scene, const struct unwind_rule *rules, uint32_t count,
                     struct unwind_registers at, enum stack_end *ret_end)
{
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (struct unwind_row){256 * i, i};
    scene->table = (struct unwind_table){.base = CODE,
                                         .end = CODE + 256 * count,
                                         .rows = rows,
                                         .row_count = count,
                                         .rules = (struct unwind_rule *)(uintptr_t)rules,
                                         .rule_count = count};
    struct unwind_request request = {
        .registers = at, .find = find, .read = read_word, .context = scene};
    return unwind_stack(&request, frames, FRAMES, ret_end);
}

/* The end of the walk if the code of `rule` was called by an outermost frame, with the return
 * address at `place`. */
static enum stack_end walk_one(struct unwind_rule rule, struct unwind_registers at, uint64_t place)
{
    struct unwind_rule rules[] = {{0}, rule, {.cfa = UNWIND_CFA_END}};
    struct scene scene = {{0}, .no_table = false};
    enum stack_end end;
    if (place)
        *word(&scene, place) = CODE + 2 * 256 + 1;
    *word(&scene, STACK + 0x80) = STACK + 0x90; /* for rules that read the CFA */
    at.rip = at.rip ? at.rip : CODE + 256;
    uint32_t count = walk(&scene, rules, 3, at, &end);
    if (end == STACK_COMPLETE) {
        CHECK_INT(count, 2);
        CHECK_INT(frames[0].address, at.rip);
        CHECK_INT(frames[0].cfa, place + 8);
        CHECK_INT(frames[1].address, CODE + 2 * 256 + 1);
        CHECK_INT(frames[1].cfa, 0);
    }
    return end;
}

TEST(every_rule_finds_its_caller)
{
    struct unwind_registers at = {.rsp = STACK, .rbp = STACK + 0x40, .rbx = STACK + 0x50};
    struct unwind_rule rule = {.cfa = UNWIND_CFA_RSP, .cfa_offset = 24};
    CHECK_INT(walk_one(rule, at, STACK + 16), STACK_COMPLETE);
    rule = (struct unwind_rule){.cfa = UNWIND_CFA_RBP, .cfa_offset = 16};
    CHECK_INT(walk_one(rule, at, STACK + 0x48), STACK_COMPLETE);
    rule = (struct unwind_rule){.cfa = UNWIND_CFA_RBX, .cfa_offset = -8};
    CHECK_INT(walk_one(rule, at, STACK + 0x40), STACK_COMPLETE);
    rule = (struct unwind_rule){.cfa = UNWIND_CFA_RSP_DEREF, .cfa_offset = 0x80, .cfa_add = 8};
    CHECK_INT(walk_one(rule, at, STACK + 0x90), STACK_COMPLETE);
    rule = (struct unwind_rule){.cfa = UNWIND_CFA_RBP_DEREF, .cfa_offset = 0x40};
    CHECK_INT(walk_one(rule, at, STACK + 0x88), STACK_COMPLETE);
    rule = (struct unwind_rule){.cfa = UNWIND_CFA_PLT, .cfa_offset = 11};
    at.rip = CODE + 256 + 10;
    CHECK_INT(walk_one(rule, at, STACK), STACK_COMPLETE);
    at.rip = CODE + 256 + 11;
    CHECK_INT(walk_one(rule, at, STACK + 8), STACK_COMPLETE);
    at.scratch_known = true;
    at.scratch[UNWIND_SCRATCH_R11] = STACK + 0x60;
    rule = (struct unwind_rule){
        .cfa = UNWIND_CFA_SCRATCH, .scratch = UNWIND_SCRATCH_R11, .cfa_offset = 8};
    CHECK_INT(walk_one(rule, at, STACK + 0x60), STACK_COMPLETE);
    at.scratch_known = false;
    CHECK_INT(walk_one(rule, at, STACK + 0x60), STACK_NO_REGISTER);
}

TEST(every_reason_to_stop_is_told)
{
    struct unwind_registers at = {.rsp = STACK, .rbp = STACK + 0x40};
    struct unwind_rule rule = {.cfa = UNWIND_CFA_UNKNOWN};
    CHECK_INT(walk_one(rule, at, 0), STACK_NO_RULE);
    rule = (struct unwind_rule){.cfa = 200};
    CHECK_INT(walk_one(rule, at, 0), STACK_NO_RULE);
    rule = (struct unwind_rule){.cfa = UNWIND_CFA_RSP, .cfa_offset = 8};
    CHECK_INT(walk_one(rule, at, 0), STACK_NO_MAPPING); /* the return address is 0 */
    rule.cfa_offset = 0;
    CHECK_INT(walk_one(rule, at, 0), STACK_CYCLE);
    rule.cfa_offset = -16;
    CHECK_INT(walk_one(rule, at, 0), STACK_CYCLE);
    rule.cfa_offset = 8 * WORDS + 8;
    CHECK_INT(walk_one(rule, at, 0), STACK_FAULT);
    rule = (struct unwind_rule){.cfa = UNWIND_CFA_RSP_DEREF, .cfa_offset = -8};
    CHECK_INT(walk_one(rule, at, 0), STACK_FAULT);
    at.rip = CODE - 1;
    CHECK_INT(walk_one(rule, at, 0), STACK_NO_MAPPING);
    at.rip = CODE + 3 * 256; /* after the table's last code, but mapped */
    CHECK_INT(walk_one(rule, at, 0), STACK_NO_RULE);
}

TEST(a_lost_register_stops_only_those_who_need_it)
{
    struct unwind_rule rules[] = {
        {0},
        {.cfa = UNWIND_CFA_RSP, .cfa_offset = 8, .rbp = UNWIND_SAVE_LOST, .rbx = UNWIND_SAVE_LOST},
        {.cfa = UNWIND_CFA_RSP, .cfa_offset = 8},
        {.cfa = UNWIND_CFA_RSP, .cfa_offset = 8, .rbp = UNWIND_SAVE_RBP},
        {.cfa = UNWIND_CFA_RBP, .cfa_offset = 16},
        {.cfa = UNWIND_CFA_RBX, .cfa_offset = 16},
    };
    struct unwind_registers at = {.rip = CODE + 256, .rsp = STACK, .rbp = STACK, .rbx = STACK};
    struct scene scene = {{CODE + 513, CODE + 769, CODE + 1025}, .no_table = false};
    enum stack_end end;
    CHECK_INT(walk(&scene, rules, 6, at, &end), 4);
    CHECK_INT(end, STACK_NO_REGISTER);
    scene.words[2] = CODE + 1281;
    CHECK_INT(walk(&scene, rules, 6, at, &end), 4);
    CHECK_INT(end, STACK_NO_REGISTER);
}

/* As for a thread with only rip and rsp known. */
TEST(a_register_that_was_never_known_stops_those_who_need_it)
{
    struct unwind_registers at = {.rsp = STACK, .rbp_lost = true, .rbx_lost = true};
    struct unwind_rule rule = {.cfa = UNWIND_CFA_RSP, .cfa_offset = 24};
    CHECK_INT(walk_one(rule, at, STACK + 16), STACK_COMPLETE);
    at.rbp = at.rbx = STACK + 0x40;
    rule = (struct unwind_rule){.cfa = UNWIND_CFA_RBP, .cfa_offset = 16};
    CHECK_INT(walk_one(rule, at, STACK + 0x48), STACK_NO_REGISTER);
    rule.cfa = UNWIND_CFA_RBX;
    CHECK_INT(walk_one(rule, at, STACK + 0x48), STACK_NO_REGISTER);
    /* Called from code without a table: 0 would mean the outermost frame. */
    struct unwind_rule rules[] = {{0}, {.cfa = UNWIND_CFA_RSP, .cfa_offset = 8}};
    struct scene scene = {{JIT + 1}, .no_table = false};
    enum stack_end end;
    at.rip = CODE + 256;
    at.rbp = 0;
    CHECK_INT(walk(&scene, rules, 2, at, &end), 2);
    CHECK_INT(end, STACK_FRAME_POINTER);
    at.rbp_lost = false;
    CHECK_INT(walk(&scene, rules, 2, at, &end), 2);
    CHECK_INT(end, STACK_COMPLETE);
}

TEST(callers_are_looked_up_by_the_call_what_a_signal_interrupted_is_not)
{
    /* The return address is the first byte after rule 1's code, the call was inside. */
    struct unwind_rule rules[] = {{0},
                                  {.cfa = UNWIND_CFA_RSP, .cfa_offset = 8},
                                  {.cfa = UNWIND_CFA_SIGNAL},
                                  {.cfa = UNWIND_CFA_END}};
    struct scene scene = {{CODE + 512, CODE + 513}, .no_table = false};
    struct unwind_registers at = {.rip = CODE + 256, .rsp = STACK};
    uint64_t context = STACK + 16;
    enum stack_end end;
    *word(&scene, context + 0xa0) = STACK; /* a stack pointer below: another stack */
    *word(&scene, context + 0xa8) = CODE + 768;
    CHECK_INT(walk(&scene, rules, 4, at, &end), 4);
    CHECK_INT(end, STACK_COMPLETE);
    CHECK_INT(frames[1].address, CODE + 512);
    CHECK_INT(frames[2].address, CODE + 513);
    CHECK_INT(frames[2].cfa, 0);
    CHECK_INT(frames[3].address, CODE + 768);
    scene.unreadable = context + 0xa0;
    CHECK_INT(walk(&scene, rules, 4, at, &end), 3);
    CHECK_INT(end, STACK_FAULT);
}

TEST(without_a_table_the_frame_pointer_leads_on)
{
    struct scene scene = {.no_table = true};
    struct unwind_registers at = {.rip = CODE, .rsp = STACK, .rbp = STACK + 16};
    enum stack_end end;
    *word(&scene, STACK + 16) = STACK + 64;
    *word(&scene, STACK + 24) = CODE + 100;
    *word(&scene, STACK + 72) = CODE + 200;
    CHECK_INT(walk(&scene, NULL, 0, at, &end), 3); /* the chain ends with 0 */
    CHECK_INT(end, STACK_COMPLETE);
    CHECK_INT(frames[0].cfa, STACK + 32);
    CHECK_INT(frames[1].address, CODE + 100);
    CHECK_INT(frames[2].address, CODE + 200);
    *word(&scene, STACK + 64) = STACK; /* back down */
    CHECK_INT(walk(&scene, NULL, 0, at, &end), 3);
    CHECK_INT(end, STACK_FRAME_POINTER);
    at.rbp = STACK + 17;
    CHECK_INT(walk(&scene, NULL, 0, at, &end), 1);
    CHECK_INT(end, STACK_FRAME_POINTER);
    at.rbp = 0; /* has no meaning in the first frame: it may be any number there */
    CHECK_INT(walk(&scene, NULL, 0, at, &end), 1);
    CHECK_INT(end, STACK_FRAME_POINTER);
}

TEST(where_a_table_cannot_be_had_the_walk_ends)
{
    struct scene scene = {.no_table = true, .missing = true};
    struct unwind_registers at = {.rip = CODE, .rsp = STACK, .rbp = STACK + 16};
    enum stack_end end;
    *word(&scene, STACK + 24) = CODE + 100; /* reachable by the frame pointer */
    CHECK_INT(walk(&scene, NULL, 0, at, &end), 1);
    CHECK_INT(end, STACK_NO_FILE);
}

TEST(a_stack_that_never_ends_is_cut)
{
    struct unwind_rule rules[] = {{0}, {.cfa = UNWIND_CFA_RSP, .cfa_offset = 8}};
    struct scene scene = {.no_table = false};
    struct unwind_registers at = {.rip = CODE + 256, .rsp = STACK};
    enum stack_end end;
    for (int i = 0; i < WORDS; i++)
        scene.words[i] = CODE + 300;
    CHECK_INT(walk(&scene, rules, 2, at, &end), FRAMES);
    CHECK_INT(end, STACK_DEPTH);
}
