/* SPDX-License-Identifier: MIT */
/* Compares lengths and jumps of instructions with objdump, over whole libraries; finds the exits of
 * functions given as bytes. */
#include "symbol_code.h"
#include "symbol_module.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line "  401136:\tjmp    401140 <x>". */
struct line {
    uint64_t address;
    char text[64];
};

static bool read_line(FILE *list, struct line *ret_line)
{
    char text[4096];
    unsigned long long address;
    int used = 0;
    while (fgets(text, sizeof(text), list)) {
        if (sscanf(text, " %llx:\t%n", &address, &used) != 1 || used == 0)
            continue;
        ret_line->address = address;
        snprintf(ret_line->text, sizeof(ret_line->text), "%s", text + used);
        ret_line->text[strcspn(ret_line->text, "\n#<")] = 0;
        return true;
    }
    return false;
}

/* The text after prefixes, which objdump prints as words. */
static const char *mnemonic(const char *text)
{
    static const char *const prefixes[] = {"bnd ", "notrack ", "repz ",   "rep ",  "data16 ", "cs ",
                                           "ds ",  "es ",      "addr32 ", "lock ", "rex.W "};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            return mnemonic(text + strlen(prefixes[i]));
    return text;
}

static bool agrees(const struct line *line, const struct code_instruction *code)
{
    const char *name = mnemonic(line->text);
    const char *operand = strchr(name, ' ');
    operand = operand ? operand + strspn(operand, " ") : "";
    bool is_jump =
        name[0] == 'j' || strncmp(name, "loop", 4) == 0 || strncmp(name, "xbegin", 6) == 0;
    if (strncmp(name, "xbegin", 6) == 0)
        return code->kind == CODE_OTHER;
    if (strncmp(name, "ret", 3) == 0)
        return code->kind == CODE_RETURN;
    if (strncmp(name, "call", 4) == 0 && operand[0] != '*')
        return code->kind == CODE_CALL &&
               line->address + (uint64_t)code->target == strtoull(operand, NULL, 16);
    if (!is_jump)
        return code->kind == CODE_OTHER;
    if (operand[0] == '*')
        return code->kind == (operand[1] == '%' ? CODE_JUMP_REGISTER : CODE_JUMP_MEMORY);
    return code->kind == CODE_JUMP &&
           line->address + (uint64_t)code->target == strtoull(operand, NULL, 16);
}

/* Lines that objdump marks as bad, or as data, are not instructions. */
static bool is_code(const struct line *line)
{
    return line->text[0] != '(' && line->text[0] != '.' && line->text[0] != 0;
}

static void compare(const char *path)
{
    char command[4096];
    const char *objdump = getenv("ANNOT_TEST_OBJDUMP");
    struct elf_file *file = NULL;
    struct elf_section section;
    struct line line, next;
    unsigned long count = 0, wrong = 0, refused = 0;
    FILE *own = path ? fopen(path, "re") : NULL;
    if (!objdump || !own)
        test_skip("objdump or its input is missing");
    CHECK_INT(elf_file_open(fileno(own), &file), 0);
    CHECK(elf_file_section(file, ".text", &section));
    snprintf(command, sizeof(command), "%s -d -w -j .text --no-show-raw-insn '%s'", objdump, path);
    FILE *list = popen(command, "re");
    CHECK(list && read_line(list, &line));
    for (; read_line(list, &next); line = next) {
        uint64_t at = line.address - section.address;
        struct code_instruction code;
        if (at >= section.size || !is_code(&line))
            continue;
        count++;
        bool known = code_read(section.bytes + at, section.size - at, &code);
        refused += !known;
        if (!known || (line.address + code.length == next.address && agrees(&line, &code)))
            continue;
        if (wrong++ < 5)
            fprintf(stderr, "%s: %llx: length %d, kind %d, not \"%s\"\n", path,
                    (unsigned long long)line.address, code.length, code.kind, line.text);
    }
    pclose(list);
    elf_file_close(file);
    fclose(own);
    fprintf(stderr, "%s: %lu instructions, %lu refused\n", path, count, refused);
    CHECK_INT(wrong, 0);
    CHECK(count > 1000 && refused * 1000 < count);
}

TEST(instructions_are_those_of_objdump)
{
    compare(getenv("ANNOT_TEST_LIBSTDCXX"));
}

TEST(instructions_of_this_program_too)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    CHECK(length > 0);
    path[length] = 0;
    compare(path);
}

/* For checking further files by hand. */
TEST(instructions_of_what_is_named)
{
    compare(getenv("ANNOT_TEST_CODE"));
}

/* ---- Exits ----------------------------------------------------------------------------------- */

enum { HERE = 0x1000 };

static int find(const uint8_t *bytes, size_t size, struct code_exits *ret_exits)
{
    struct code_piece piece = {HERE, size, bytes};
    return code_exits_find(&piece, 1, ret_exits);
}

TEST(returns_and_jumps_out_are_exits)
{
    static const uint8_t bytes[] = {
        0xf3, 0x0f, 0x1e, 0xfa,          /* endbr64           */
        0x85, 0xff,                      /* test %edi, %edi   */
        0x74, 0x01,                      /* je over the ret   */
        0xc3,                            /* ret               */
        0x0f, 0x84, 0x00, 0x01, 0, 0,    /* je far away       */
        0xff, 0xe0,                      /* jmp *%rax         */
        0x41, 0xff, 0xe3,                /* jmp *%r11         */
        0xff, 0x60, 0x10,                /* jmp *16(%rax)     */
        0xff, 0x24, 0xc5, 0,    0, 0, 0, /* jmp *table(,%rax) */
        0xe9, 0x00, 0x01, 0,    0,       /* jmp far away      */
    };
    static const struct code_exit exits[] = {
        {HERE + 8, CODE_RETURN, 0},         {HERE + 9, CODE_JUMP, 4},
        {HERE + 15, CODE_JUMP_REGISTER, 0}, {HERE + 17, CODE_JUMP_REGISTER, 11},
        {HERE + 20, CODE_JUMP_MEMORY, 0},   {HERE + 30, CODE_JUMP, CODE_ALWAYS},
    };
    struct code_exits found;
    CHECK_INT(find(bytes, sizeof(bytes), &found), 0);
    CHECK_INT(found.entry, HERE + 4);
    CHECK(!found.restarts);
    CHECK_INT(found.items.count, sizeof(exits) / sizeof(exits[0]));
    for (size_t i = 0; i < found.items.count; i++) {
        CHECK_INT(found.items.items[i].address, exits[i].address);
        CHECK_INT(found.items.items[i].kind, exits[i].kind);
        CHECK_INT(found.items.items[i].detail, exits[i].detail);
    }
    code_exits_fini(&found);
}

TEST(a_function_that_jumps_to_its_begin_is_known)
{
    static const uint8_t bytes[] = {0x90, 0x75, 0xfd, 0xc3}; /* nop, jne to it, ret */
    struct code_exits found;
    CHECK_INT(find(bytes, sizeof(bytes), &found), 0);
    CHECK(found.restarts);
    CHECK_INT(found.items.count, 1);
    code_exits_fini(&found);
}

TEST(a_function_that_calls_itself_is_known)
{
    static const uint8_t bytes[] = {0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3}; /* call it, ret */
    struct code_exits found;
    CHECK_INT(find(bytes, sizeof(bytes), &found), 0);
    CHECK(found.recurses && !found.restarts);
    CHECK_INT(found.items.count, 1);
    code_exits_fini(&found);
}

TEST(a_part_elsewhere_is_no_exit_and_has_its_own)
{
    static const uint8_t first[] = {0x75, 0x0e, 0xc3};        /* jne to the part, ret */
    static const uint8_t second[] = {0x90, 0xeb, 0xef, 0xc3}; /* nop, jmp to the ret, ret */
    struct code_piece pieces[] = {{HERE, 3, first}, {HERE + 16, 4, second}};
    struct code_exits found;
    CHECK_INT(code_exits_find(pieces, 2, &found), 0);
    CHECK_INT(found.items.count, 2);
    CHECK_INT(found.items.items[1].address, HERE + 19);
    code_exits_fini(&found);
}

TEST(data_between_instructions_is_refused)
{
    static const uint8_t invalid[] = {0xc3, 0x06, 0xc3};
    static const uint8_t inside[] = {0xeb, 0x01, 0xb8, 0xc3, 0xc3, 0xc3, 0xc3}; /* into mov */
    static const uint8_t broken[] = {0xc3, 0xe9, 0x00};
    struct code_exits found;
    CHECK_INT(find(invalid, sizeof(invalid), &found), -EBADMSG);
    CHECK_INT(find(inside, sizeof(inside), &found), -EBADMSG);
    CHECK_INT(find(broken, sizeof(broken), &found), -EBADMSG);
}
