/* SPDX-License-Identifier: MIT */
/* Compares the rows of real files with an independent decoder, at every row's first and last byte.
 *
 * ANNOT_TEST_FILES: more files, separated by blanks. */
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
    uint64_t entry; /* entry point of the program */
    uint64_t same, none, skipped, wrong;
    uint64_t framed; /* undescribed code that keeps frame pointers */
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
    static const struct unwind_rule framed = {.cfa = UNWIND_CFA_RBP,
                                              .rbp = UNWIND_SAVE_CFA,
                                              .rbx = UNWIND_SAVE_LOST,
                                              .cfa_offset = 16,
                                              .rbp_offset = -16};
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
        counts->none += verdict == TRUTH_NONE; /* undescribed assembly */
    } else if (verdict == TRUTH_NONE && memcmp(rule, &framed, sizeof(framed)) == 0) {
        counts->framed++;
    } else if (counts->wrong++ < 5) {
        printf("  at %#llx, verdict %d\n", (unsigned long long)address, verdict);
        print_rule("ours", rule);
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
           "%llu in gaps, of which %llu by frame pointers; %u descriptions skipped\n",
           path, table->row_count, table->rule_count, (unsigned long long)described,
           100.0 * (double)counts.same / (double)described, (unsigned long long)counts.skipped,
           (unsigned long long)counts.wrong, (unsigned long long)(counts.none + counts.framed),
           (unsigned long long)counts.framed, table->skipped_count);
    fflush(stdout); /* a failing check does not flush */
    CHECK_INT(counts.wrong, 0);
    CHECK(counts.skipped * 100 <= described);
    CHECK(counts.skipped == 0 || table->skipped_count > 0);
    unwind_table_destroy(table);
    elf_file_close(file);
    cfi_truth_close(truth);
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

/* Each line printed by the command is a path. */
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
