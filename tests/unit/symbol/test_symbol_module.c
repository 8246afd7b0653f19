/* SPDX-License-Identifier: MIT */
/* Compares names of functions with nm's output for the same files, and with programs that print the
 * addresses, names and lines of their own functions. */
#include "interpreters.h"
#include "named_files.h"
#include "symbol_debug.h"
#include "symbol_name.h"

#include "clock_now.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* One line of nm: a function. */
struct nm_line {
    uint64_t address, size;
    char *name;
};

struct nm_list {
    struct nm_line *lines;
    size_t count, capacity;
};

static int compare_lines(const void *left, const void *right)
{
    const struct nm_line *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static bool parse_line(char *text, struct nm_line *ret_line)
{
    char type;
    int used = 0;
    text[strcspn(text, "\n")] = '\0';
    *ret_line = (struct nm_line){0};
    if (sscanf(text, "%lx %lx %c %n", &ret_line->address, &ret_line->size, &type, &used) != 3) {
        ret_line->size = 0;
        if (sscanf(text, "%lx %c %n", &ret_line->address, &type, &used) != 2)
            return false;
    }
    if (used == 0 || !strchr("tTwWi", type))
        return false;
    char *name = text + used, *version = name[0] ? strchr(name + 1, '@') : NULL;
    if (version)
        *version = '\0';
    ret_line->name = strdup(name);
    return true;
}

static bool is_code(const struct elf_file *file, uint64_t address)
{
    for (size_t i = 0; i < elf_file_segment_count(file); i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        if ((segment.flags & PF_X) && address - segment.address < segment.size)
            return true;
    }
    return false;
}

/* nm -C, without options that would select names. */
static void read_nm(struct nm_list *list, const char *options, const char *path)
{
    char command[8192], text[65536];
    struct elf_file *file = test_open(path);
    snprintf(command, sizeof(command), "%s -C -S --defined-only %s '%s' 2>/dev/null",
             test_tool("ANNOT_TEST_NM"), options, path);
    FILE *pipe = popen(command, "re");
    CHECK(pipe != NULL);
    while (fgets(text, sizeof(text), pipe)) {
        struct nm_line line;
        if (!parse_line(text, &line))
            continue;
        if (!is_code(file, line.address)) { /* a weak thread-local variable also has type W */
            free(line.name);
            continue;
        }
        if (list->count == list->capacity) {
            list->capacity = list->capacity * 2 + 1024;
            list->lines = realloc(list->lines, list->capacity * sizeof(*list->lines));
            CHECK(list->lines != NULL);
        }
        list->lines[list->count++] = line;
    }
    pclose(pipe);
    elf_file_close(file);
}

/* annot's name, possibly cut, is one of nm's at that address. */
static bool is_named(const struct nm_list *list, uint64_t address, const char *name)
{
    struct nm_line key = {.address = address};
    struct nm_line *found = bsearch(&key, list->lines, list->count, sizeof(key), compare_lines);
    size_t length = strlen(name);
    bool cut = length > 3 && strcmp(name + length - 3, "\xe2\x80\xa6") == 0;
    while (found && found > list->lines && found[-1].address == address)
        found--;
    for (; found && found < list->lines + list->count && found->address == address; found++) {
        if (cut ? strncmp(found->name, name, length - 3) == 0 : strcmp(found->name, name) == 0)
            return true;
    }
    return false;
}

static void check_address(struct symbol_module *module, const struct nm_list *list,
                          const struct nm_line *line, uint64_t address)
{
    struct symbol symbol;
    if (!symbol_module_find(module, address, &symbol))
        test_fail(__FILE__, __LINE__, "%lx in %s: no name", address, line->name);
    if (symbol.guessed || symbol.begin < line->address || symbol.begin > address ||
        (symbol.end && symbol.end <= address) || !is_named(list, symbol.begin, symbol.name))
        test_fail(__FILE__, __LINE__, "%lx in %s (%lx + %lx): %s, %lx to %lx", address, line->name,
                  line->address, line->size, symbol.name, symbol.begin, symbol.end);
}

/* Begin, middle and last byte of every function with a size in nm's output. */
static size_t check_file(const char *path, size_t least)
{
    struct nm_list list = {0};
    struct symbol_module *module = test_module(path);
    read_nm(&list, "", path);
    read_nm(&list, "-D", path);
    if (list.count)
        qsort(list.lines, list.count, sizeof(*list.lines), compare_lines);
    size_t checked = 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct nm_line *line = &list.lines[i];
        if (line->size == 0)
            continue;
        check_address(module, &list, line, line->address);
        check_address(module, &list, line, line->address + line->size / 2);
        check_address(module, &list, line, line->address + line->size - 1);
        checked++;
    }
    printf("  %s: %zu functions\n", path, checked);
    CHECK(checked >= least);
    symbol_module_destroy(module);
    for (size_t i = 0; i < list.count; i++)
        free(list.lines[i].name);
    free(list.lines);
    return checked;
}

static void loaded_path(const char *part, char path[4096])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[8192];
    path[0] = '\0';
    while (maps && fgets(line, sizeof(line), maps)) {
        char *at = strchr(line, '/');
        if (at && strstr(at, part))
            sscanf(at, "%4095s", path);
    }
    if (maps)
        fclose(maps);
}

TEST(names_of_this_program_are_those_of_nm)
{
    char path[PATH_MAX];
    CHECK(realpath("/proc/self/exe", path) != NULL);
    check_file(path, 50);
}

TEST(names_of_libc_are_those_of_nm)
{
    char path[4096];
    loaded_path("/libc.so", path);
    if (!path[0])
        test_skip("this program uses no shared libc");
    /* Its debug file, if installed, would add names that nm is not asked for. */
    symbol_debug_set_root("/nonexistent");
    check_file(path, 1000);
}

/* Of all names of one function, the commonly called one is chosen. */
TEST(a_function_with_many_names_has_the_one_that_people_call)
{
    static const char *const names[] = {"malloc",    "free",           "read",   "write", "printf",
                                        "nanosleep", "pthread_create", "getpid", "fopen", "qsort"};
    char path[4096];
    struct symbol symbol;
    Dl_info info;
    loaded_path("/libc.so", path);
    if (!path[0])
        test_skip("this program uses no shared libc");
    struct symbol_module *module = test_module(path);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        void *function = dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), names[i]);
        CHECK(function && dladdr(function, &info));
        uint64_t address = (uint64_t)((char *)function - (char *)info.dli_fbase);
        CHECK(symbol_module_find(module, address, &symbol));
        CHECK_STR(symbol.name, names[i]);
    }
    symbol_module_destroy(module);
}

TEST(names_of_a_cxx_library_are_those_of_nm)
{
    check_file(test_tool("ANNOT_TEST_LIBSTDCXX"), 1000);
}

/* The shared library of an interpreter, or the interpreter itself. */
static void libpython_path(const struct interpreter *interpreter, char path[4096])
{
    char command[8192];
    snprintf(
        command, sizeof(command),
        "'%.500s' -c 'import os, sys, sysconfig as s; v = s.get_config_var; "
        "p = os.path.join(v(\"LIBDIR\") or \"\", v(\"INSTSONAME\") or \"\"); "
        "print(p if \".so\" in p and os.path.exists(p) else os.path.realpath(sys.executable))'",
        interpreter->command);
    FILE *pipe = popen(command, "re");
    CHECK(pipe && fgets(path, 4096, pipe));
    path[strcspn(path, "\n")] = '\0';
    pclose(pipe);
}

TEST_TIMEOUT(names_of_python_are_those_of_nm, 300)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    symbol_debug_set_root("/nonexistent");
    for (size_t i = 0; i < count; i++) {
        char path[4096];
        libpython_path(&found[i], path);
        check_file(path, 1000);
    }
    if (count == 0)
        test_skip("no Python");
}

/* Compares with the program's own output. */
static void check_program(const char *path)
{
    struct symbol_module *module = test_module(path);
    FILE *pipe = popen(path, "re");
    char text[4096];
    int checked = 0;
    CHECK(pipe != NULL);
    for (; fgets(text, sizeof(text), pipe); checked++) {
        struct symbol symbol;
        unsigned long address;
        int line = 0, used = 0, found_line = 0;
        const char *file = "";
        text[strcspn(text, "\n")] = '\0';
        CHECK_INT(sscanf(text, "%lx %d %n", &address, &line, &used), 2);
        CHECK(symbol_module_find(module, address, &symbol));
        CHECK_STR(symbol.name, text + used);
        CHECK_INT(symbol.begin, address);
        CHECK(!symbol.guessed);
        for (int again = 0; HAVE_LINES && again < 2; again++) { /* also from the cache */
            CHECK(symbol_module_line(module, address, &file, &found_line));
            CHECK_INT(found_line, line);
            CHECK(strstr(file, "named_functions.") != NULL);
        }
    }
    CHECK_INT(pclose(pipe), 0);
    CHECK(checked >= 2);
    symbol_module_destroy(module);
}

TEST(a_cxx_program_has_the_names_and_lines_that_it_says)
{
    check_program(test_tool("ANNOT_TEST_CXX_PROGRAM"));
}

TEST(a_rust_program_has_the_names_and_lines_that_it_says)
{
    check_program(test_tool("ANNOT_TEST_RUST_PROGRAM"));
}

TEST(a_rust_program_with_v0_names_has_the_names_and_lines_that_it_says)
{
    check_program(test_tool("ANNOT_TEST_RUST_V0_PROGRAM"));
}

TEST(addresses_outside_of_code_have_no_name)
{
    struct symbol_module *module = test_module("/proc/self/exe");
    struct symbol symbol;
    CHECK(!symbol_module_find(module, 0, &symbol));
    CHECK(!symbol_module_find(module, UINT64_MAX, &symbol));
    CHECK(!symbol_module_find(module, UINT64_C(1) << 47, &symbol));
    symbol_module_destroy(module);
}

TEST(without_a_name_module_and_address_are_shown)
{
    char text[64], tiny[8];
    symbol_path_text("/usr/lib/libm.so.6", 0xabc, text, sizeof(text));
    CHECK_STR(text, "libm.so.6+0xabc");
    symbol_path_text("[vdso]", 0x80, text, sizeof(text));
    CHECK_STR(text, "[vdso]+0x80");
    CHECK_INT(symbol_path_text("/usr/lib/libm.so.6", 0xabc, tiny, sizeof(tiny)), 7);
    CHECK_STR(tiny, "libm.so");
}

TEST(odd_names_are_made_fit_to_be_shown)
{
    char name[SYMBOL_NAME_SIZE], huge[6000];
    symbol_demangle("memcpy@@GLIBC_2.14", name);
    CHECK_STR(name, "memcpy");
    symbol_demangle("printf@plt", name);
    CHECK_STR(name, "printf@plt");
    symbol_demangle("bad\x01\xffname", name);
    CHECK_STR(name, "bad?\xef\xbf\xbdname");
    memset(huge, 'a', sizeof(huge));
    huge[sizeof(huge) - 1] = '\0';
    size_t length = symbol_demangle(huge, name);
    CHECK(length < SYMBOL_NAME_SIZE && length > 1000);
    CHECK_STR(name + length - 3, "\xe2\x80\xa6");
    memset(huge, 0xe2, sizeof(huge) - 1); /* each becomes three bytes */
    length = symbol_clean(huge, 900, name);
    CHECK(length < SYMBOL_NAME_SIZE);
    CHECK_STR(name + length - 3, "\xe2\x80\xa6");
}

/* Each level doubles the text: 2^200 letters in 1 KiB. */
TEST_TIMEOUT(a_name_that_would_fill_the_memory_is_cut, 5)
{
    char mangled[2048] = "_Z1fSt4pairIiiE", name[SYMBOL_NAME_SIZE];
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t at = strlen("_Z1f");
    mangled[at] = '\0';
    at += (size_t)sprintf(mangled + at, "1aIiiE"); /* S_ = a, S0_ = a<int, int> */
    for (int i = 0; i < 30; i++) {
        char last = digits[i];
        at += (size_t)sprintf(mangled + at, "S_IS%c_S%c_E", last, last);
    }
    int64_t begin_ns = clock_now_ns();
    size_t length = symbol_demangle(mangled, name);
    printf("  %.60s... in %.3f ms\n", name, (double)(clock_now_ns() - begin_ns) / 1e6);
    CHECK(length < SYMBOL_NAME_SIZE);
    if (HAVE_NAMES) {
        CHECK(strncmp(name, "f(a<int, int>, a<a<int, int>, ", 29) == 0);
        CHECK_STR(name + length - 3, "\xe2\x80\xa6");
    }
}
