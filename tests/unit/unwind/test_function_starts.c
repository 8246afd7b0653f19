/* SPDX-License-Identifier: MIT */
/* Compares the functions of this program by .eh_frame with its symbol table. */
#include "elf_symbols.h"
#include "test.h"
#include "unwind_table.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static struct elf_file *open_self(void)
{
    struct elf_file *file;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(elf_file_open(fd, &file), 0);
    close(fd);
    return file;
}

__attribute__((noinline)) int shape(const volatile int *in, int count);

/* Visible, so that compilers make no copy specialized for its caller. */
int shape(const volatile int *in, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += in[i] * (i % 3 ? in[count - 1 - i] : 7);
    return sum;
}

struct tally {
    const struct function_starts *starts;
    unsigned same, other;
};

static bool on_symbol(void *context, const struct elf_symbol *symbol)
{
    struct tally *tally = context;
    uint64_t begin;
    if (symbol->type != STT_FUNC || symbol->size < 2)
        return true;
    bool same = function_starts_find(tally->starts, symbol->address, &begin) &&
                begin == symbol->address &&
                function_starts_find(tally->starts, symbol->address + symbol->size - 1, &begin) &&
                begin == symbol->address;
    tally->same += same;
    tally->other += !same;
    return true;
}

TEST(each_byte_of_a_function_leads_to_its_begin)
{
    struct elf_file *file = open_self();
    struct function_starts *starts;
    struct elf_symbol symbol;
    uint64_t begin;
    const int in[] = {1, 2, 3};
    CHECK_INT(shape(in, 3), 7 + 4 + 3);
    CHECK_INT(function_starts_build(file, &starts), 0);
    CHECK(elf_file_find_symbol(file, "shape", &symbol));
    for (uint64_t i = 0; i < symbol.size; i++) {
        CHECK(function_starts_find(starts, symbol.address + i, &begin));
        CHECK_INT(begin, symbol.address);
    }
    CHECK(!function_starts_find(starts, symbol.address + symbol.size, &begin) ||
          begin > symbol.address);
    CHECK(!function_starts_find(starts, 0, &begin));
    CHECK(!function_starts_find(starts, UINT64_MAX, &begin));
    function_starts_destroy(starts);
    elf_file_close(file);
}

/* Except for small pieces of the C runtime (_init, _fini, deregister_tm_clones). */
TEST(functions_are_those_of_the_symbol_table)
{
    struct elf_file *file = open_self();
    struct tally tally = {0};
    struct function_starts *starts;
    CHECK_INT(function_starts_build(file, &starts), 0);
    tally.starts = starts;
    elf_file_symbols(file, on_symbol, &tally);
    CHECK(tally.same > 20);
    CHECK(tally.other <= 2);
    function_starts_destroy(starts);
    elf_file_close(file);
}

TEST(what_has_no_eh_frame_says_so)
{
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof(header),
                         .e_phentsize = sizeof(Elf64_Phdr)};
    struct elf_file *file;
    struct function_starts *starts = NULL;
    CHECK_INT(elf_file_open_image(&header, sizeof(header), &file), 0);
    CHECK_INT(function_starts_build(file, &starts), -ENODATA);
    function_starts_destroy(starts);
    elf_file_close(file);
}
