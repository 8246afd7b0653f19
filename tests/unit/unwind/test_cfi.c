/* SPDX-License-Identifier: MIT */
/* The rows of real files against an independent decoder, at every row's first and last byte.
 *
 * ANNOT_TEST_FILES: more files, separated by blanks. */
#include "bare_code.h"
#include "cfi_index.h"
#include "cfi_truth.h"
#include "test.h"
#include "unwind_table.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

static struct elf_file *open_path(const char *path)
{
    struct elf_file *file = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(elf_file_open(fd, &file), 0);
    close(fd);
    return file;
}

struct counts {
    uint64_t entry; /* where the program begins */
    uint64_t same, none, skipped, wrong;
    uint64_t bare; /* rows of code that nothing describes */
};

static void print_rule(const char *whose, const struct unwind_rule *rule)
{
    printf("  %s: cfa %u %+d add %d, rbp %u %+d, rbx %u %+d\n", whose, rule->cfa, rule->cfa_offset,
           rule->cfa_add, rule->rbp, rule->rbp_offset, rule->rbx, rule->rbx_offset);
}

static void compare_at(const struct unwind_table *table, struct cfi_truth *truth, uint64_t address,
                       struct counts *counts)
{
    static const struct unwind_rule unknown = {.cfa = UNWIND_CFA_UNKNOWN};
    struct unwind_rule expected = unknown;
    enum cfi_verdict verdict = cfi_truth_rule(truth, address, &expected);
    const struct unwind_rule *rule = unwind_table_find(table, address);
    rule = rule ? rule : &unknown;
    if (rule->cfa == UNWIND_CFA_UNKNOWN) {
        counts->none += verdict == TRUTH_NONE;
        counts->skipped += verdict != TRUTH_NONE;
    } else if (verdict == TRUTH_RULE && memcmp(rule, &expected, sizeof(expected)) == 0) {
        counts->same++;
    } else if (rule->cfa == UNWIND_CFA_END && address - counts->entry < 128) {
        counts->none += verdict == TRUTH_NONE; /* assembly without description */
    } else if (verdict == TRUTH_NONE) {
        counts->bare++;
    } else if (counts->wrong++ < 5) {
        printf("  at %#llx, verdict %d\n", (unsigned long long)address, verdict);
        print_rule("ours", rule);
        print_rule("libdw's", &expected);
    }
}

/* Of registers that are saved, one may know that they are not written yet, or restored. */
static bool same_place(const struct unwind_rule *followed, const struct unwind_rule *expected)
{
    return followed->cfa == expected->cfa && followed->cfa_offset == expected->cfa_offset;
}

static void compare_bare_row(struct cfi_truth *truth, uint64_t begin, const struct bare_row *row,
                             struct counts *counts)
{
    struct unwind_rule expected;
    if (row->rule.cfa == UNWIND_CFA_UNKNOWN ||
        cfi_truth_rule(truth, begin + row->offset, &expected) != TRUTH_RULE)
        return;
    /* Linkers describe the offset in a whole table by one expression; compilers describe a frame by
     * RBP, where it was followed by RSP: not to be compared. */
    bool framed = expected.cfa == UNWIND_CFA_RBP && row->rule.rbp == UNWIND_SAVE_CFA;
    if (framed || expected.cfa == UNWIND_CFA_PLT || expected.cfa == UNWIND_CFA_END)
        return;
    if (memcmp(&row->rule, &expected, sizeof(expected)) == 0 || same_place(&row->rule, &expected)) {
        counts->same++;
    } else if (counts->wrong++ < 5) {
        printf("  at %#llx + %u\n", (unsigned long long)begin, row->offset);
        print_rule("followed", &row->rule);
        print_rule("libdw's", &expected);
    }
}

static void compare_path(const char *path)
{
    struct cfi_truth *truth = cfi_truth_open(path);
    struct unwind_table *table;
    struct counts counts = {0};
    struct elf_file *file = open_path(path);
    counts.entry = elf_file_entry(file);
    CHECK(truth != NULL);
    CHECK_INT(unwind_table_build(file, &table), 0);
    for (uint32_t i = 0; i < table->row_count; i++) {
        uint64_t begin = table->base + table->rows[i].address;
        uint64_t end = i + 1 < table->row_count ? table->base + table->rows[i + 1].address : begin;
        CHECK(i + 1 == table->row_count || begin < end);
        compare_at(table, truth, begin, &counts);
        if (begin + 1 < end)
            compare_at(table, truth, end - 1, &counts);
    }
    uint64_t described = counts.same + counts.skipped + counts.wrong;
    printf("%s: %u rows, %u rules; %llu places: %.3f %% same, %llu skipped, %llu wrong, "
           "%llu in gaps, of which %llu followed; %u descriptions skipped\n",
           path, table->row_count, table->rule_count, (unsigned long long)described,
           100.0 * (double)counts.same / (double)described, (unsigned long long)counts.skipped,
           (unsigned long long)counts.wrong, (unsigned long long)(counts.none + counts.bare),
           (unsigned long long)counts.bare, table->skipped_count);
    fflush(stdout); /* a check that fails does not */
    CHECK_INT(counts.wrong, 0);
    CHECK(counts.skipped * 100 <= described);
    CHECK(counts.skipped == 0 || table->skipped_count > 0);
    unwind_table_destroy(table);
    elf_file_close(file);
    cfi_truth_close(truth);
}

/* Described functions as if nothing described them. */
static void compare_bare(const char *path)
{
    static struct bare_row rows[BARE_ROWS_MAX];
    static uint8_t bytes[8192];
    struct elf_section named;
    struct cfi_index index;
    struct counts counts = {0};
    uint64_t followed = 0, tried = 0;
    struct cfi_truth *truth = cfi_truth_open(path);
    struct elf_file *file = open_path(path);
    CHECK(truth && elf_file_section(file, ".eh_frame", &named));
    struct cfi_section section = {named.bytes, named.size, named.address, false, false};
    CHECK_INT(cfi_index_build(&section, file, &index), 0);
    for (size_t i = 0; i < index.functions.count; i++) {
        const struct cfi_function *function = &index.functions.items[i];
        uint64_t size = function->end - function->begin;
        if (size > sizeof(bytes) || !elf_file_copy_at(file, function->begin, bytes, size))
            continue;
        size_t count = bare_code_rows(bytes, size, function->begin, rows);
        tried++;
        followed += count > 0;
        for (size_t k = 0; k < count; k++)
            compare_bare_row(truth, function->begin, &rows[k], &counts);
    }
    printf("%s: %llu of %llu functions followed by their code, %llu places right, %llu wrong\n",
           path, (unsigned long long)followed, (unsigned long long)tried,
           (unsigned long long)counts.same, (unsigned long long)counts.wrong);
    fflush(stdout);
    CHECK_INT(counts.wrong, 0);
    cfi_index_fini(&index);
    elf_file_close(file);
    cfi_truth_close(truth);
}

static int compare_loaded_bare(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    if (info->dlpi_name[0] == '/')
        compare_bare(info->dlpi_name);
    return 0;
}

static void load_more(void)
{
    static const char *const names[] = {"libstdc++.so.6", "libcrypto.so.3", "libm.so.6",
                                        "libgcc_s.so.1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!dlopen(names[i], RTLD_NOW))
            printf("no %s here\n", names[i]);
    }
}

TEST(code_that_is_followed_gives_the_rules_that_describe_it)
{
    load_more();
    dl_iterate_phdr(compare_loaded_bare, NULL);
    compare_bare("/proc/self/exe");
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    if (info->dlpi_name[0] == '/')
        compare_path(info->dlpi_name);
    return 0;
}

TEST(rows_of_loaded_libraries_are_those_of_libdw)
{
    load_more();
    dl_iterate_phdr(compare_loaded, NULL);
    compare_path("/proc/self/exe");
}

/* What a command prints, line by line, is a path each. */
static unsigned compare_printed(const char *command)
{
    char path[4096];
    unsigned count = 0;
    FILE *pipe = popen(command, "re");
    CHECK(pipe != NULL);
    while (fscanf(pipe, "%4095s", path) == 1) {
        compare_path(path);
        count++;
    }
    pclose(pipe);
    return count;
}

TEST(rows_of_programs_are_those_of_libdw)
{
    unsigned count = compare_printed("command -v bash gdb ldconfig");
    count += compare_printed("python3 -c 'import os, sys, sysconfig\n"
                             "get = sysconfig.get_config_var\n"
                             "print(os.path.realpath(sys.executable))\n"
                             "if get(\"Py_ENABLE_SHARED\"):\n"
                             "    print(os.path.join(get(\"LIBDIR\"), get(\"INSTSONAME\")))'");
    CHECK(count >= 2);
    compare_printed("printf '%s\\n' $ANNOT_TEST_FILES");
}
