/* SPDX-License-Identifier: MIT */
/* Names stored elsewhere: in separate debug files at each possible place, in the packed table of
 * the file itself, in relocations. Debug files of other builds are rejected. */
#include "named_files.h"
#include "symbol_debug.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
    "__attribute__((noinline)) static int inner_one(int x) { __asm__ volatile(\"\"); return x * 3; "
    "}\n"
    "__attribute__((noinline)) static int inner_two(int x) { __asm__ volatile(\"\"); return "
    "inner_one(x) + 1; }\n"
    "int main(int c, char **v) { (void)v; return inner_two(c); }\n";

static const char calling_source[] = "#include <stdio.h>\n#include <stdlib.h>\n"
                                     "int main(void)\n"
                                     "{ puts(\"x\"); rand(); free(malloc(3)); return 0; }\n";

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    CHECK(file && fputs(text, file) >= 0);
    CHECK_INT(fclose(file), 0);
}

/* The address of a function; 0: unknown to nm. */
static unsigned long address_of(const char *path, const char *name)
{
    char command[4096];
    unsigned long address = 0;
    snprintf(command, sizeof(command), "%s '%s' 2>/dev/null | awk '$3 == \"%s\" {print $1}'",
             test_tool("ANNOT_TEST_NM"), path, name);
    FILE *pipe = popen(command, "re");
    CHECK(pipe != NULL);
    if (fscanf(pipe, "%lx", &address) != 1)
        address = 0;
    pclose(pipe);
    return address;
}

struct fixture {
    char *whole, *program, *debug;
    unsigned long one, two;
};

/* A program without symbols, its debug file, and the complete program. */
static struct fixture build(const char *flags)
{
    struct fixture fixture = {test_path("whole"), test_path("program"), test_path("program.debug"),
                              0, 0};
    const char *objcopy = test_tool("ANNOT_TEST_OBJCOPY");
    write_file(test_path("whole.c"), source);
    test_shell("cd '%s' && %s -g -O1 %s whole.c -o whole", test_directory(),
               test_tool("ANNOT_TEST_CC"), flags);
    test_shell("cd '%s' && %s --only-keep-debug whole program.debug && %s --strip-all whole "
               "program",
               test_directory(), objcopy, objcopy);
    fixture.one = address_of(fixture.whole, "inner_one");
    fixture.two = address_of(fixture.whole, "inner_two");
    CHECK(fixture.one != 0 && fixture.two != 0);
    symbol_debug_set_root(test_directory());
    return fixture;
}

static void check_known(const struct fixture *fixture, const char *path)
{
    struct symbol_module *module = test_module(path);
    struct symbol symbol;
    const char *file;
    int line;
    CHECK(symbol_module_find(module, fixture->one + 1, &symbol));
    CHECK_STR(symbol.name, "inner_one");
    CHECK_INT(symbol.begin, fixture->one);
    CHECK(!symbol.guessed);
    CHECK(symbol_module_find(module, fixture->two, &symbol));
    CHECK_STR(symbol.name, "inner_two");
    if (HAVE_LINES) {
        CHECK(symbol_module_line(module, fixture->two, &file, &line));
        CHECK_INT(line, 2);
        CHECK(strstr(file, "whole.c") != NULL);
    }
    symbol_module_destroy(module);
}

static void check_unknown(const struct fixture *fixture, const char *path)
{
    struct symbol_module *module = test_module(path);
    struct symbol symbol;
    const char *file;
    int line;
    CHECK(!symbol_module_find(module, fixture->one + 1, &symbol) || symbol.guessed);
    CHECK(!symbol_module_line(module, fixture->one, &file, &line));
    symbol_module_destroy(module);
}

/* Installs a file as the debug file for the program's build-id. */
static void install_by_build_id(const struct fixture *fixture, const char *from)
{
    char command[4096], id[128] = "";
    snprintf(command, sizeof(command), "%s -n '%s' | awk '/Build ID/ {print $3}'",
             test_tool("ANNOT_TEST_READELF"), fixture->program);
    FILE *pipe = popen(command, "re");
    CHECK(pipe && fscanf(pipe, "%127s", id) == 1);
    pclose(pipe);
    test_shell("cd '%s' && mkdir -p .build-id/%.2s && cp %s .build-id/%.2s/%s.debug",
               test_directory(), id, from, id, id + 2);
}

TEST(a_debug_file_is_found_by_build_id)
{
    struct fixture fixture = build("-Wl,--build-id=sha1");
    check_known(&fixture, fixture.whole);
    check_unknown(&fixture, fixture.program);
    install_by_build_id(&fixture, "program.debug");
    check_known(&fixture, fixture.program);
}

TEST(a_debug_file_of_another_build_is_not_taken)
{
    struct fixture fixture = build("-Wl,--build-id=sha1");
    test_shell("cd '%s' && %s -g -O1 -Wl,--build-id=0x1234567890 whole.c -o other",
               test_directory(), test_tool("ANNOT_TEST_CC"));
    install_by_build_id(&fixture, "other");
    check_unknown(&fixture, fixture.program);
}

static void add_link(void)
{
    test_shell("cd '%s' && %s --add-gnu-debuglink=program.debug program", test_directory(),
               test_tool("ANNOT_TEST_OBJCOPY"));
}

TEST(a_debug_file_is_found_by_its_link_at_three_places)
{
    struct fixture fixture = build("-Wl,--build-id=none");
    add_link();
    check_known(&fixture, fixture.program);
    test_shell("cd '%s' && mkdir .debug && mv program.debug .debug/", test_directory());
    check_known(&fixture, fixture.program);
    test_shell("cd '%s' && mkdir -p root/$PWD && mv .debug/program.debug root/$PWD/",
               test_directory());
    check_unknown(&fixture, fixture.program);
    symbol_debug_set_root(test_path("root"));
    check_known(&fixture, fixture.program);
}

TEST(a_debug_file_with_another_checksum_is_not_taken)
{
    struct fixture fixture = build("-Wl,--build-id=none");
    add_link();
    test_shell("printf x >> '%s'", fixture.debug);
    check_unknown(&fixture, fixture.program);
}

TEST_TIMEOUT(a_pipe_in_place_of_a_debug_file_does_not_stop_us, 10)
{
    struct fixture fixture = build("-Wl,--build-id=none");
    add_link();
    CHECK_INT(unlink(fixture.debug), 0);
    CHECK_INT(mkfifo(fixture.debug, 0600), 0);
    check_unknown(&fixture, fixture.program);
}

TEST(a_packed_table_in_the_file_is_read)
{
    struct fixture fixture = build("-Wl,--build-id=none");
    const char *objcopy = test_tool("ANNOT_TEST_OBJCOPY");
    if (!HAVE_PACKED)
        test_skip("built without liblzma");
    if (system("command -v xz >/dev/null") != 0)
        test_skip("no xz on this machine");
    write_file(test_path("names"), "inner_one\ninner_two\n");
    test_shell("cd '%s' && %s -S --keep-symbols=names -R .comment program.debug mini && xz mini && "
               "%s --add-section .gnu_debugdata=mini.xz program && rm program.debug",
               test_directory(), objcopy, objcopy);
    struct symbol_module *module = test_module(fixture.program);
    struct symbol symbol;
    CHECK(symbol_module_find(module, fixture.one, &symbol));
    CHECK_STR(symbol.name, "inner_one");
    CHECK(symbol_module_find(module, fixture.two + 1, &symbol));
    CHECK_STR(symbol.name, "inner_two");
    symbol_module_destroy(module);
}

TEST(a_label_inside_of_a_function_is_not_its_name)
{
    write_file(test_path("label.c"), "int main(void)\n{ __asm__ volatile(\"nop\\nplain_label: nop; "
                                     "nop\"); return 0; }\n");
    test_shell("cd '%s' && %s -O1 label.c -o label", test_directory(), test_tool("ANNOT_TEST_CC"));
    unsigned long label = address_of(test_path("label"), "plain_label");
    CHECK(label != 0);
    struct symbol_module *module = test_module(test_path("label"));
    struct symbol symbol;
    CHECK(symbol_module_find(module, label + 1, &symbol));
    CHECK_STR(symbol.name, "main");
    symbol_module_destroy(module);
}

/* Checks every stub with a call target that objdump names. */
static size_t check_stubs(const char *path, const char *section)
{
    struct symbol_module *module = test_module(path);
    char command[8192], text[8192];
    size_t checked = 0;
    snprintf(command, sizeof(command), "%s -C -d -j %s '%s' 2>/dev/null",
             test_tool("ANNOT_TEST_OBJDUMP"), section, path);
    FILE *pipe = popen(command, "re");
    CHECK(pipe != NULL);
    while (fgets(text, sizeof(text), pipe)) {
        struct symbol symbol;
        unsigned long address;
        int used = 0;
        char *end = strstr(text, "@plt>:");
        if (!end || sscanf(text, "%lx <%n", &address, &used) != 1 || text[used] == '*')
            continue;
        end[strlen("@plt")] = '\0';
        char *version = strchr(text + used, '@');
        memmove(version, "@plt", sizeof("@plt"));
        CHECK(symbol_module_find(module, address + 2, &symbol));
        CHECK_STR(symbol.name, text + used);
        CHECK_INT(symbol.begin, address);
        CHECK(!symbol.guessed);
        checked++;
    }
    pclose(pipe);
    symbol_module_destroy(module);
    printf("  %s, %s: %zu stubs\n", path, section, checked);
    return checked;
}

TEST(stubs_are_named_by_what_they_call)
{
    symbol_debug_set_root("/nonexistent");
    char path[PATH_MAX];
    CHECK(realpath("/proc/self/exe", path) != NULL);
    CHECK(check_stubs(path, ".plt") > 10);
    CHECK(check_stubs(test_tool("ANNOT_TEST_LIBSTDCXX"), ".plt") > 500);
    CHECK(check_stubs(test_tool("ANNOT_TEST_LIBSTDCXX"), ".plt.got") > 5);
}

TEST(stubs_that_begin_with_a_branch_target_are_named_too)
{
    write_file(test_path("calls.c"), calling_source);
    test_shell("cd '%s' && %s -O0 -fno-builtin -fcf-protection=full -Wl,-z,ibtplt -Wl,-z,lazy "
               "calls.c -o calls",
               test_directory(), test_tool("ANNOT_TEST_CC"));
    CHECK(check_stubs(test_path("calls"), ".plt.sec") >= 4);
    test_shell("cd '%s' && %s -O0 -fno-builtin -fcf-protection=full -Wl,-z,ibtplt -Wl,-z,now "
               "calls.c -o calls",
               test_directory(), test_tool("ANNOT_TEST_CC"));
    CHECK(check_stubs(test_path("calls"), ".plt.sec") >= 4);
}
