/* SPDX-License-Identifier: MIT */
/* The ELF reader on files of this machine, compared with the dynamic linker's view of this process
 * and readelf's of the files; and on truncated, packed, stripped and non-ELF files. */
#include "elf_file.h"
#include "elf_symbols.h"
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define PUBLIC __attribute__((visibility("default"), noinline))

PUBLIC int elf_test_marker(int x);

PUBLIC int elf_test_marker(int x)
{
    __asm__ volatile("" ::: "memory");
    return x + 1;
}

static struct elf_file *open_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct elf_file *file = NULL;
    CHECK(fd >= 0);
    CHECK_INT(elf_file_open(fd, &file), 0);
    close(fd);
    return file;
}

static const char *libc_path(void)
{
    static char path[4096];
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4096];
    while (maps && fgets(line, sizeof(line), maps)) {
        char *at = strchr(line, '/');
        if (at && strstr(at, "/libc.so.6"))
            sscanf(at, "%4095s", path);
    }
    if (maps)
        fclose(maps);
    if (!path[0])
        test_skip("this program uses no libc.so.6");
    return path;
}

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
    char command[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof(command), format, list);
    va_end(list);
    CHECK_INT(system(command), 0);
}

static const char *tool(const char *variable)
{
    const char *path = getenv(variable);
    if (!path)
        test_skip("%s is not set", variable);
    return path;
}

static char *path_in(const char *name)
{
    char *path = NULL;
    CHECK(asprintf(&path, "%s/%s", test_directory(), name) > 0);
    return path;
}

/* The first word of a command's output. */
__attribute__((format(printf, 2, 3))) static void ask(char word[128], const char *format, ...)
{
    char command[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof(command), format, list);
    va_end(list);
    FILE *pipe = popen(command, "re");
    CHECK(pipe != NULL);
    CHECK_INT(fscanf(pipe, "%127s", word), 1);
    pclose(pipe);
}

TEST(symbols_of_this_program_lie_where_the_compiler_says)
{
    struct elf_file *file = open_path("/proc/self/exe");
    struct elf_symbol symbol;
    CHECK(elf_file_find_symbol(file, "elf_test_marker", &symbol));
    CHECK_INT(symbol.type, STT_FUNC);
    CHECK_INT(symbol.binding, STB_GLOBAL);
    uint64_t entry = getauxval(AT_ENTRY);
    struct elf_symbol start;
    CHECK(elf_file_find_symbol(file, "_start", &start));
    CHECK_INT(symbol.address + (entry - start.address), (uintptr_t)elf_test_marker);
    const uint8_t *code = elf_file_at(file, symbol.address, symbol.size);
    CHECK(code && memcmp(code, (void *)(uintptr_t)elf_test_marker, symbol.size) == 0);
    CHECK(!elf_file_find_symbol(file, "no such symbol", &symbol));
    elf_file_close(file);
}

static unsigned biases_checked;

static int check_bias(struct dl_phdr_info *info, size_t size, void *context)
{
    char path[4096], line[4096];
    (void)size, (void)context;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long begin, end, offset;
        char flags[8];
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &begin, &end, flags, &offset, path) != 5)
            continue;
        const ElfW(Phdr) *code = NULL;
        for (int i = 0; i < info->dlpi_phnum; i++) {
            if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X))
                code = &info->dlpi_phdr[i];
        }
        if (!code || path[0] != '/' || flags[2] != 'x' || begin > info->dlpi_addr + code->p_vaddr ||
            end <= info->dlpi_addr + code->p_vaddr)
            continue;
        struct elf_file *file = open_path(path);
        uint64_t address;
        CHECK(elf_file_address(file, offset, &address));
        CHECK_INT(begin - address, info->dlpi_addr);
        elf_file_close(file);
        biases_checked++;
    }
    fclose(maps);
    return 0;
}

TEST(load_biases_are_those_of_the_dynamic_linker)
{
    dl_iterate_phdr(check_bias, NULL);
    CHECK(biases_checked >= 3); /* the program, libc, ld.so */
}

TEST(build_ids_are_those_of_readelf)
{
    char expected[128], found[128] = "";
    uint8_t id[ELF_BUILD_ID_MAX];
    struct elf_file *file = open_path(libc_path());
    size_t size = elf_file_build_id(file, id);
    for (size_t i = 0; i < size; i++)
        snprintf(found + 2 * i, 3, "%02x", id[i]);
    ask(expected, "%s -nW %s | sed -n 's/.*Build ID: //p'", tool("ANNOT_TEST_READELF"),
        libc_path());
    CHECK_STR(found, expected);
    elf_file_close(file);
}

struct sum {
    uint64_t count, addresses, stop_after;
};

static bool add_symbol(void *context, const struct elf_symbol *symbol)
{
    struct sum *sum = context;
    sum->count++;
    sum->addresses += symbol->address * 31 + symbol->size + strlen(symbol->name);
    return sum->stop_after == 0 || sum->count < sum->stop_after;
}

TEST(symbol_counts_are_those_of_readelf)
{
    const char *paths[] = {"/proc/self/exe", libc_path()};
    for (size_t i = 0; i < 2; i++) {
        char expected[128], path[4096];
        CHECK(realpath(paths[i], path) != NULL);
        struct sum sum = {0}, two = {.stop_after = 2};
        struct elf_file *file = open_path(path);
        elf_file_symbols(file, add_symbol, &sum);
        elf_file_symbols(file, add_symbol, &two);
        /* readelf gives unnamed section symbols the section's name. */
        ask(expected,
            "%s -sW %s | awk '$1 ~ /^[0-9]+:$/ && $7 != \"UND\" && $4 != \"SECTION\" && NF >= 8' "
            "| wc -l",
            tool("ANNOT_TEST_READELF"), path);
        printf("%s: %llu symbols\n", path, (unsigned long long)sum.count);
        CHECK_INT(sum.count, atoll(expected));
        CHECK_INT(two.count, 2);
        elf_file_close(file);
    }
}

/* A copy of libc with bytes of its head overwritten. */
static char *libc_copy(size_t offset, const void *bytes, size_t size)
{
    char *path = path_in("copy.so");
    shell("cp %s %s", libc_path(), path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK_INT(pwrite(fd, bytes, size, (off_t)offset), size);
    close(fd);
    return path;
}

struct exported {
    struct elf_symbol symbols[64];
    size_t count, seen;
};

static bool take_exported(void *context, const struct elf_symbol *symbol)
{
    struct exported *all = context;
    bool versioned = symbol->type == STT_OBJECT && symbol->size == 0; /* "GLIBC_2.2.5" */
    if (symbol->dynamic && !versioned && all->seen++ % 97 == 0 && all->count < 64)
        all->symbols[all->count++] = *symbol;
    return true;
}

/* Any of several versions of a name is accepted. */
TEST(exported_symbols_are_found_by_their_hashes)
{
    char *path = libc_copy(0, ELFMAG, SELFMAG);
    struct elf_file *file = open_path(path);
    struct elf_symbol symbol;
    struct exported all = {0};
    elf_file_symbols(file, take_exported, &all);
    CHECK(all.count > 20);
    for (size_t i = 0; i < all.count; i++) {
        CHECK(elf_file_find_symbol(file, all.symbols[i].name, &symbol));
        CHECK_STR(symbol.name, all.symbols[i].name);
        CHECK(symbol.dynamic);
    }
    CHECK(elf_file_find_symbol(file, "malloc", &symbol));
    CHECK(symbol.address != 0 && symbol.type == STT_FUNC);
    CHECK(!elf_file_find_symbol(file, "mallod", &symbol));
    CHECK(!elf_file_find_exported(file, "mallod", &symbol));
    elf_file_close(file);
    free(path);
}

/* Replaces an entry of the dynamic segment. Returns true if there is a hash table of the old
 * kind. */
static bool hide_gnu_hash(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    Elf64_Ehdr head;
    Elf64_Phdr header;
    Elf64_Dyn entry = {.d_tag = 1};
    bool old = false;
    CHECK_INT(pread(fd, &head, sizeof(head), 0), sizeof(head));
    for (uint64_t i = 0; i < head.e_phnum; i++) {
        uint64_t at = head.e_phoff + i * sizeof(header);
        CHECK_INT(pread(fd, &header, sizeof(header), (off_t)at), sizeof(header));
        if (header.p_type == PT_DYNAMIC)
            break;
    }
    for (uint64_t at = header.p_offset; entry.d_tag != DT_NULL; at += sizeof(entry)) {
        CHECK_INT(pread(fd, &entry, sizeof(entry), (off_t)at), sizeof(entry));
        old |= entry.d_tag == DT_HASH;
        if (entry.d_tag != DT_GNU_HASH)
            continue;
        entry.d_tag = DT_DEBUG;
        CHECK_INT(pwrite(fd, &entry, sizeof(entry), (off_t)at), sizeof(entry));
    }
    close(fd);
    return old;
}

/* No sections and no GNU hashes: a fully stripped file of an old linker. */
TEST(exported_symbols_are_found_without_sections_and_hashes)
{
    Elf64_Off none = 0;
    char *path = libc_copy(offsetof(Elf64_Ehdr, e_shoff), &none, sizeof(none));
    struct elf_file *file = open_path(path);
    struct elf_symbol symbol;
    CHECK(elf_file_find_exported(file, "malloc", &symbol));
    CHECK(elf_file_find_symbol(file, "malloc", &symbol));
    CHECK_INT(elf_file_symbol_count(file), 0);
    elf_file_close(file);
    bool old = hide_gnu_hash(path);
    file = open_path(path);
    CHECK_INT(elf_file_find_exported(file, "malloc", &symbol), old);
    CHECK_INT(elf_file_find_symbol(file, "malloc", &symbol), old);
    elf_file_close(file);
    free(path);
}

TEST(without_section_headers_the_dynamic_symbols_are_still_there)
{
    static const uint64_t none;
    char *path = libc_copy(offsetof(Elf64_Ehdr, e_shoff), &none, sizeof(none));
    struct elf_file *file = open_path(path), *whole = open_path(libc_path());
    struct sum bare = {0}, full = {0};
    struct elf_section section;
    elf_file_symbols(file, add_symbol, &bare);
    elf_file_symbols(whole, add_symbol, &full);
    CHECK(!elf_file_section(file, ".text", &section));
    CHECK(bare.count > 1000);
    if (!elf_file_section(whole, ".symtab", &section)) {
        CHECK_INT(bare.count, full.count);
        CHECK_INT(bare.addresses, full.addresses);
    }
    uint8_t id[ELF_BUILD_ID_MAX], whole_id[ELF_BUILD_ID_MAX];
    CHECK_INT(elf_file_build_id(file, id), elf_file_build_id(whole, whole_id));
    CHECK(memcmp(id, whole_id, 16) == 0);
    elf_file_close(file);
    elf_file_close(whole);
    free(path);
}

TEST(the_vdso_is_an_image)
{
    const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    if (!image)
        test_skip("no vDSO");
    struct elf_file *file;
    struct elf_symbol symbol;
    struct elf_section section;
    char size[128];
    ask(size, "awk '$6 == \"[vdso]\" {print $1}' /proc/%d/maps", (int)getpid());
    uint64_t end = strtoull(strchr(size, '-') + 1, NULL, 16);
    CHECK_INT(elf_file_open_image(image, end - (uintptr_t)image, &file), 0);
    CHECK(elf_file_find_symbol(file, "__vdso_clock_gettime", &symbol));
    CHECK(elf_file_section(file, ".eh_frame", &section) && section.size > 0);
    uint64_t address;
    CHECK(elf_file_address(file, 0, &address));
    CHECK_INT(address, 0);
    elf_file_close(file);
}

static void check_same_section(const char *plain, const char *packed, uint64_t flags)
{
    struct elf_file *one = open_path(plain), *two = open_path(packed);
    struct elf_section a, b, c;
    CHECK(elf_file_section(one, ".debug_made", &a));
    CHECK(elf_file_section(two, ".debug_made", &b));
    CHECK(elf_file_copy_section(two, ".debug_made", &c));
    CHECK_INT(b.flags & SHF_COMPRESSED, flags);
    CHECK_INT(a.size, b.size);
    CHECK_INT(c.size, b.size);
    CHECK(memcmp(a.bytes, b.bytes, a.size) == 0 && memcmp(a.bytes, c.bytes, a.size) == 0);
    free((void *)(uintptr_t)c.bytes);
    elf_file_close(one);
    elf_file_close(two);
}

TEST(compressed_sections_are_unpacked)
{
    const char *objcopy = tool("ANNOT_TEST_OBJCOPY");
    char *text = path_in("text"), *plain = path_in("plain"), *zlib = path_in("zlib"),
         *zstd = path_in("zstd");
    shell("for i in $(seq 20000); do echo line $i; done > %s", text);
    shell("%s --add-section .debug_made=%s /proc/self/exe %s", objcopy, text, plain);
    shell("%s --compress-debug-sections=zlib %s %s", objcopy, plain, zlib);
    check_same_section(plain, zlib, SHF_COMPRESSED);
    char known[128];
    ask(known, "%s --help | grep -c zstd || true", objcopy);
    if (atoi(known) > 0) {
        shell("%s --compress-debug-sections=zstd %s %s", objcopy, plain, zstd);
        check_same_section(plain, zstd, SHF_COMPRESSED);
    } else {
        printf("objcopy knows no zstd: not tested\n");
    }
    free(text), free(plain), free(zlib), free(zstd);
}

TEST(the_debug_link_is_name_and_checksum)
{
    char *debug = path_in("made-up.debug"), *linked = path_in("linked");
    shell("head -c 4321 /proc/self/exe > %s", debug);
    shell("%s --remove-section .gnu_debuglink --add-gnu-debuglink=%s /proc/self/exe %s",
          tool("ANNOT_TEST_OBJCOPY"), debug, linked);
    struct elf_file *file = open_path(linked);
    uint32_t crc = 0;
    CHECK_STR(elf_file_debug_link(file, &crc), "made-up.debug");
    uint8_t bytes[4321];
    int fd = open(debug, O_RDONLY | O_CLOEXEC);
    CHECK_INT(read(fd, bytes, sizeof(bytes)), sizeof(bytes));
    CHECK_INT(crc, crc32(0, bytes, sizeof(bytes)));
    close(fd);
    elf_file_close(file);
    free(debug), free(linked);
}

struct places {
    size_t count;
    uint64_t places[4096];
    char names[4096][64];
};

static bool keep_place(void *context, const struct elf_symbol *symbol)
{
    struct places *places = context;
    if (strlen(symbol->name) >= 64)
        return true;
    places->places[places->count] = symbol->name_place;
    strcpy(places->names[places->count++], symbol->name);
    return places->count < 4096;
}

static void check_places(const char *path)
{
    struct places *places = calloc(1, sizeof(*places));
    struct elf_file *file = open_path(path), *second = NULL;
    CHECK(places != NULL);
    elf_file_symbols(file, keep_place, places);
    CHECK_INT(elf_file_reopen(file, &second), 0);
    elf_file_close(file);
    CHECK(places->count > 100);
    for (size_t i = 0; i < places->count; i++) {
        char name[64];
        CHECK(places->places[i] != 0);
        CHECK(elf_file_read(second, places->places[i], name, strlen(places->names[i]) + 1));
        CHECK_STR(name, places->names[i]);
    }
    elf_file_close(second);
    free(places);
}

TEST(a_second_object_reads_names_at_their_places)
{
    static const uint64_t none;
    char *bare = libc_copy(offsetof(Elf64_Ehdr, e_shoff), &none, sizeof(none));
    check_places(libc_path());
    check_places("/proc/self/exe");
    check_places(bare);
    free(bare);
}

TEST(a_file_that_shrinks_costs_an_error)
{
    char *path = libc_copy(0, ELFMAG, SELFMAG);
    struct elf_file *file = open_path(path);
    struct elf_section section;
    struct elf_symbol symbol;
    struct sum sum = {0};
    CHECK_INT(truncate(path, 4096), 0);
    CHECK(!elf_file_section(file, ".text", &section));
    CHECK(!elf_file_section(file, ".eh_frame", &section));
    CHECK(!elf_file_find_symbol(file, "malloc", &symbol));
    elf_file_symbols(file, add_symbol, &sum);
    CHECK_INT(sum.count, 0);
    elf_file_close(file);
    file = open_path(path); /* without its table of sections, with its program headers */
    CHECK(elf_file_segment_count(file) > 1);
    CHECK(!elf_file_section(file, ".text", &section));
    elf_file_close(file);
    free(path);
}

TEST(trimming_frees_what_is_read_again_later)
{
    struct elf_file *file = open_path(libc_path());
    struct sum before = {0}, after = {0};
    elf_file_symbols(file, add_symbol, &before);
    elf_file_trim(file);
    elf_file_symbols(file, add_symbol, &after);
    CHECK_INT(before.addresses, after.addresses);
    elf_file_close(file);
}

TEST(what_is_no_elf_file_is_refused)
{
    struct elf_file *file;
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_DYN};
    CHECK_INT(elf_file_open_image("", 0, &file), -EBADMSG);
    CHECK_INT(elf_file_open_image(&head, sizeof(head), &file), -EBADMSG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    CHECK_INT(elf_file_open_image(&head, sizeof(head) - 1, &file), -EBADMSG);
    head.e_phnum = 9;
    head.e_phentsize = sizeof(Elf64_Phdr);
    CHECK_INT(elf_file_open_image(&head, sizeof(head), &file), -EBADMSG);
    head.e_phnum = 0;
    CHECK_INT(elf_file_open_image(&head, sizeof(head), &file), 0);
    CHECK_INT(elf_file_segment_count(file), 0);
    elf_file_close(file);
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC), folder = open("/", O_RDONLY | O_CLOEXEC);
    CHECK_INT(elf_file_open(fd, &file), -EBADMSG);
    CHECK_INT(elf_file_open(folder, &file), -EBADMSG);
    CHECK_INT(elf_file_open(-1, &file), -EBADF);
    close(fd), close(folder);
}
