/* SPDX-License-Identifier: MIT */
/* Requested arguments, and operands of static probes from untrusted files: known forms become
 * places, all others are reported as unknown. */
#include "elf_symbols.h"
#include "probe.h"
#include "probe_args.h"
#include "symbol_arguments.h"
#include "test.h"

#include <stdio.h>

enum { RAX = 0, RCX = 1, RSP = 4, RBP = 5, RDI = 7, R14 = 14, NONE = SAMPLER_ARG_NOTHING };

static struct arg_list list_of(const char *arguments, const struct arg_wishes *wishes)
{
    static const struct arg_wishes none;
    const struct elf_probe probe = {.provider = "shop", .name = "request", .arguments = arguments};
    struct trace *trace = trace_create();
    struct arg_list list;
    CHECK_INT(probe_args_of_static(trace, wishes ? wishes : &none, &probe, false, &list), 0);
    trace_destroy(trace);
    return list;
}

TEST(operands_are_places)
{
    static const struct {
        const char *text;
        struct sampler_arg place;
        uint8_t type, size;
    } operands[] = {
        {"-4@%edi", {.base = RDI, .index = NONE}, CODE_SIGNED, 4},
        {"8@%rax", {.base = RAX, .index = NONE}, CODE_UNSIGNED, 8},
        {"1@%cl", {.base = RCX, .index = NONE}, CODE_UNSIGNED, 1},
        {"-2@%r14w", {.base = R14, .index = NONE}, CODE_SIGNED, 2},
        {"4@$-7", {.base = NONE, .index = NONE, .offset = -7}, CODE_UNSIGNED, 4},
        {"-4@112(%rsp)", {112, RSP, NONE, 0, 4, 0, NONE, {0}}, CODE_SIGNED, 4},
        {"8@-0x10(%rbp)", {-16, RBP, NONE, 0, 8, 0, NONE, {0}}, CODE_UNSIGNED, 8},
        {"8@(%rax)", {0, RAX, NONE, 0, 8, 0, NONE, {0}}, CODE_UNSIGNED, 8},
        {"8@8(%rbp,%rcx,4)", {8, RBP, RCX, 2, 8, 0, NONE, {0}}, CODE_UNSIGNED, 8},
        {"8f@-24(%rbp)", {-24, RBP, NONE, 0, 8, 0, NONE, {0}}, CODE_FLOAT, 8},
    };

    for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
        const struct arg_list list = list_of(operands[i].text, NULL);
        const struct sampler_arg *found = &list.wanted.items[0], *place = &operands[i].place;
        CHECK_INT(list.wanted.count, 1);
        CHECK_INT(list.told.items[0].text, 0);
        CHECK_INT(found->base, place->base);
        CHECK_INT(found->index, place->index);
        CHECK_INT(found->shift, place->shift);
        CHECK_INT(found->size, place->size);
        CHECK_INT(found->offset, place->offset);
        CHECK_INT(list.told.items[0].type, operands[i].type);
        CHECK_INT(list.told.items[0].size, operands[i].size);
    }
}

/* Tests each malformed one between two valid ones. */
TEST(what_is_no_operand_is_told_as_such)
{
    static const char *const operands[] = {
        "",
        "x",
        "@",
        "4",
        "4@",
        "0@%rax",
        "9@%rax",
        "4@%ah",
        "8f@%xmm0",
        "4@%rax%rbx",
        "4@%",
        "4@x(%rip)",
        "4@8(%rax",
        "4@8%rax)",
        "4@(%rax,%q)",
        "8@(%rax,,3)",
        "4@$",
        "8@-(%rax)",
        "8@(%r8,%r9,3)",
        "-99999999999999999999999@%rax",
        "99999999999999999999999@%rax",
    };
    for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "4@%%eax %s -8@%%rcx", operands[i]);
        const struct arg_list list = list_of(text, NULL);
        uint32_t count = operands[i][0] ? 3 : 2;
        CHECK_INT(list.wanted.count, count);
        CHECK_INT(list.wanted.items[0].base, RAX);
        CHECK_INT(list.wanted.items[count - 1].base, RCX);
        if (count == 3 && list.told.items[1].text == 0)
            test_fail(__FILE__, __LINE__, "%s was understood", operands[i]);
    }
}

TEST(no_more_are_kept_than_fit)
{
    const struct arg_list list =
        list_of("4@$0 4@$1 4@$2 4@$3 4@$4 4@$5 4@$6 4@$7 4@$8 4@$9 4@$10 4@$11", NULL);
    CHECK_INT(list.wanted.count, SAMPLER_ARGS_MAX);
    CHECK_INT(list.wanted.items[SAMPLER_ARGS_MAX - 1].offset, SAMPLER_ARGS_MAX - 1);
}

TEST(some_are_asked_for)
{
    struct arg_wishes wishes;
    CHECK(probe_args_parse("3=str,1", PROBE_ARGS_OF_STATIC, &wishes));
    const struct arg_list list = list_of("4@%eax 8@%rcx 8@8(%rsp)", &wishes);
    CHECK_INT(list.wanted.count, 2);
    CHECK_INT(list.wanted.texts, 1);
    CHECK_INT(list.wanted.items[0].base, RAX);
    CHECK_INT(list.wanted.items[1].base, RSP);
    CHECK_INT(list.wanted.items[1].text, 1);
    CHECK_INT(list.told.items[1].type, CODE_TEXT);
}

TEST(wishes_are_names_numbers_and_types)
{
    static const char *const refused[] = {
        "",
        ",",
        "1,",
        "0",
        "7",
        "12",
        "1=",
        "1=float",
        "a,,b",
        "a-b",
        "*,a",
        "a b",
        "=int",
        "1=int,",
        "1,2,3,4,5,6,1",
        "a_name_that_is_longer_than_any_that_people_would_give_x"};
    struct arg_wishes wishes;
    CHECK(probe_args_parse("*", PROBE_ARGS_OF_FUNCTION, &wishes));
    CHECK(wishes.all);
    CHECK(probe_args_parse("name,2=ulong,_x1=str", PROBE_ARGS_OF_FUNCTION, &wishes));
    CHECK_INT(wishes.count, 3);
    CHECK_STR(wishes.items[0].name, "name");
    CHECK_INT(wishes.items[1].number, 2);
    CHECK_INT(wishes.items[1].size, 8);
    CHECK_STR(wishes.items[2].name, "_x1");
    CHECK_INT(wishes.items[2].type, CODE_TEXT);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (probe_args_parse(refused[i], PROBE_ARGS_OF_FUNCTION, &wishes))
            test_fail(__FILE__, __LINE__, "\"%s\" was understood", refused[i]);
}
