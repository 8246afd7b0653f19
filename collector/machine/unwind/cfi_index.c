/* SPDX-License-Identifier: MIT */
/* Locates call frame information in a file, and its entries. */
#include "cfi_index.h"

#include "cfi_program.h"
#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

/* ---- Encoded pointers ------------------------------------------------------------------------ */

/* Encoded pointers: LSB core 5.0, 10.5.1. Those that need a running program
 * (indirect, relative to its text or function) fail. */
uint64_t cfi_pointer_number(struct cfi_reader *reader, uint8_t encoding)
{
    switch (encoding & CFI_POINTER_FORM) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x08: /* signed, of the size of a pointer */
    case 0x0c: /* sdata8 */
        return cfi_number(reader, 8);
    case 0x01:
        return cfi_uleb(reader);
    case 0x02:
        return cfi_number(reader, 2);
    case 0x03:
        return cfi_number(reader, 4);
    case 0x09:
        return (uint64_t)cfi_sleb(reader);
    case 0x0a:
        return (uint64_t)(int64_t)(int16_t)cfi_number(reader, 2);
    case 0x0b:
        return (uint64_t)(int64_t)(int32_t)cfi_number(reader, 4);
    default:
        reader->failed = true;
        return 0;
    }
}

uint64_t cfi_pointer(struct cfi_reader *reader, uint8_t encoding, struct cfi_bases bases)
{
    uint64_t value = cfi_pointer_number(reader, encoding);
    if (encoding & CFI_POINTER_INDIRECT)
        reader->failed = true;
    switch (encoding & CFI_POINTER_BASE) {
    case 0:
        return value;
    case CFI_POINTER_PCREL:
        return bases.place + value;
    case CFI_POINTER_DATAREL:
        return bases.data + value;
    default:
        reader->failed = true;
        return 0;
    }
}

/* ---- The section ----------------------------------------------------------------------------- */

/* Finds it by its name; if that is stripped or compressed, by the header for the C++ runtime, which
 * points to .eh_frame but lacks its size. */
static bool find_by_header(struct elf_file *file, struct cfi_section *ret_section)
{
    struct elf_segment header;
    if (!elf_file_header(file, PT_GNU_EH_FRAME, &header) || header.file_size < 8)
        return false;
    const uint8_t *bytes = elf_file_at(file, header.address, 16);
    if (!bytes || bytes[0] != 1)
        return false;
    struct cfi_reader reader = {bytes + 4, bytes + 16, false};
    struct cfi_bases bases = {.place = header.address + 4, .data = header.address};
    uint64_t address = cfi_pointer(&reader, bytes[1], bases);
    size_t count = elf_file_segment_count(file);
    for (size_t i = 0; i < count && !reader.failed; i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        if (address < segment.address || address - segment.address >= segment.file_size)
            continue;
        size_t size = segment.file_size - (address - segment.address);
        *ret_section = (struct cfi_section){.bytes = elf_file_at(file, address, size),
                                            .size = size,
                                            .address = address,
                                            .open = true};
        return ret_section->bytes != NULL;
    }
    return false;
}

int cfi_section_open(struct elf_file *file, struct cfi_section *ret_section)
{
    struct elf_section named;
    if (elf_file_machine(file) != EM_X86_64)
        return -ENODATA;
    if (!elf_file_copy_section(file, ".eh_frame", &named)) {
        struct elf_segment header;
        if (find_by_header(file, ret_section))
            return 0;
        return elf_file_header(file, PT_GNU_EH_FRAME, &header) ? -EBADMSG : -ENODATA;
    }
    *ret_section = (struct cfi_section){
        .bytes = named.bytes, .size = named.size, .address = named.address, .owned = true};
    return 0;
}

void cfi_section_close(struct cfi_section *section)
{
    if (section->owned)
        free((void *)(uintptr_t)section->bytes);
}

/* ---- Its entries ----------------------------------------------------------------------------- */

/* Two passes: the first finds every entry and parses the common ones, the second parses the
 * functions; the encoding of their pointers is in the common entry. */

enum { INITIAL_SIZE_MAX = 512, AUGMENTATION_MAX = 16, SEGMENTS_MAX = 16 };

static const uint32_t LENGTH_64 = UINT32_MAX;

static struct cfi_reader reader_at(const struct cfi_section *section, uint64_t offset, uint64_t end)
{
    return (struct cfi_reader){section->bytes + offset, section->bytes + end, false};
}

static uint64_t address_of(const struct cfi_section *section, const struct cfi_reader *reader)
{
    return section->address + (uint64_t)(reader->at - section->bytes);
}

/* Parses the data after 'z', in the order of the letters after it. */
static bool read_augmentation(struct cfi_reader *reader, const char *letters,
                              struct cfi_common *common)
{
    uint64_t size = cfi_uleb(reader);
    if (!cfi_has(reader, size))
        return false;
    struct cfi_reader data = {reader->at, reader->at + size, false};
    reader->at += size;
    for (; *letters; letters++) {
        uint8_t encoding;
        switch (*letters) {
        case 'R':
            common->encoding = (uint8_t)cfi_number(&data, 1);
            break;
        case 'P':
            encoding = (uint8_t)cfi_number(&data, 1);
            cfi_pointer_number(&data, encoding);
            break;
        case 'L':
            cfi_number(&data, 1);
            break;
        case 'S':
            common->signal = true;
            break;
        case 'B':
        case 'G':
            break;
        default: /* unknown, as is the rest */
            return strchr(letters, 'R') == NULL;
        }
    }
    return !data.failed;
}

static bool run_initial(const struct cfi_section *section, struct cfi_reader *reader,
                        struct cfi_common *common)
{
    struct cfi_run run = {.program = *reader,
                          .program_address = address_of(section, reader),
                          .code_align = common->code_align,
                          .data_align = common->data_align,
                          .encoding = common->encoding};
    uint64_t stopped;
    return reader->end - reader->at <= INITIAL_SIZE_MAX &&
           cfi_run(&run, &common->initial, &stopped);
}

/* Parses a common entry after its id. */
static bool parse_common(const struct cfi_section *section, struct cfi_reader *reader,
                         struct cfi_common *common)
{
    uint8_t version = (uint8_t)cfi_number(reader, 1);
    const char *letters = (const char *)reader->at;
    size_t left = (size_t)(reader->end - reader->at);
    size_t length = strnlen(letters, left < AUGMENTATION_MAX ? left : AUGMENTATION_MAX);
    if (length == left || length == AUGMENTATION_MAX ||
        (version != 1 && version != 3 && version != 4))
        return false;
    reader->at += length + 1;
    uint64_t address_size = version == 4 ? cfi_number(reader, 1) : 8;
    uint64_t segment_size = version == 4 ? cfi_number(reader, 1) : 0;
    if (address_size != 8 || segment_size != 0)
        return false;
    common->code_align = cfi_uleb(reader);
    common->data_align = cfi_sleb(reader);
    uint64_t column = version == 1 ? cfi_number(reader, 1) : cfi_uleb(reader);
    if (reader->failed || column != CFI_RETURN)
        return false;
    common->augmented = letters[0] == 'z';
    if (letters[0] && !common->augmented)
        return false;
    if (common->augmented && !read_augmentation(reader, letters + 1, common))
        return false;
    return run_initial(section, reader, common);
}

static int add_common(struct cfi_index *index, uint32_t offset, struct cfi_reader *reader)
{
    struct cfi_common common = {.offset = offset};
    common.usable = parse_common(&index->section, reader, &common);
    return vec_push(&index->common, common);
}

/* Adds a function in the first pass: `program` is the offset after its id. */
static int add_function(struct cfi_index *index, uint64_t id_offset, uint32_t id, uint64_t end)
{
    if (id > id_offset) {
        index->skipped_count++;
        return 0;
    }
    struct cfi_function function = {.entry = (uint32_t)(id_offset - id),
                                    .program = (uint32_t)id_offset + 4,
                                    .program_size = (uint32_t)(end - id_offset - 4)};
    return vec_push(&index->functions, function);
}

/* Reads one entry at *offset, and moves past it. 0, 1 (no more), -ENOMEM. */
static int read_entry(struct cfi_index *index, uint64_t *offset)
{
    const struct cfi_section *section = &index->section;
    struct cfi_reader reader = reader_at(section, *offset, section->size);
    uint64_t begin = *offset, length = cfi_number(&reader, 4);
    if (length == LENGTH_64)
        length = cfi_number(&reader, 8);
    uint64_t id_offset = (uint64_t)(reader.at - section->bytes);
    *offset = id_offset;
    if (reader.failed || length == 0)
        return reader.failed || section->open;
    if (length < 4 || !cfi_has(&reader, length)) {
        index->skipped_count += !section->open;
        return 1;
    }
    *offset += length;
    reader.end = reader.at + length;
    uint32_t id = (uint32_t)cfi_number(&reader, 4);
    if (id == 0)
        return add_common(index, (uint32_t)begin, &reader);
    return add_function(index, id_offset, id, *offset);
}

static const struct cfi_common *find_common(const struct cfi_index *index, uint32_t offset,
                                            const struct cfi_common *last)
{
    size_t begin = 0, end = index->common.count;
    if (last && last->offset == offset)
        return last;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (index->common.items[middle].offset < offset)
            begin = middle + 1;
        else
            end = middle;
    }
    const struct cfi_common *common = &index->common.items[begin];
    return begin < index->common.count && common->offset == offset ? common : NULL;
}

/* The code of a module: its executable segments. */
struct code {
    uint64_t begin[SEGMENTS_MAX], end[SEGMENTS_MAX];
    size_t count;
};

static struct code code_of(const struct elf_file *file)
{
    struct code code = {.count = 0};
    size_t count = elf_file_segment_count(file);
    for (size_t i = 0; i < count && code.count < SEGMENTS_MAX; i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        if (!(segment.flags & PF_X) || segment.size > UINT64_MAX - segment.address)
            continue;
        code.begin[code.count] = segment.address;
        code.end[code.count++] = segment.address + segment.size;
    }
    return code;
}

/* False for code that the linker discarded, at address 0 for one. */
static bool inside(const struct code *code, const struct cfi_function *function)
{
    for (size_t i = 0; i < code->count; i++) {
        if (function->begin >= code->begin[i] && function->end <= code->end[i])
            return true;
    }
    return false;
}

static bool parse_function(const struct cfi_section *section, const struct cfi_common *common,
                           struct cfi_function *function)
{
    struct cfi_reader reader =
        reader_at(section, function->program, (uint64_t)function->program + function->program_size);
    struct cfi_bases bases = {.place = address_of(section, &reader)};
    function->begin = cfi_pointer(&reader, common->encoding, bases);
    uint64_t size = cfi_pointer_number(&reader, common->encoding & CFI_POINTER_FORM);
    if (common->augmented)
        cfi_skip(&reader, cfi_uleb(&reader));
    if (reader.failed || size == 0 || __builtin_add_overflow(function->begin, size, &function->end))
        return false;
    function->program = (uint32_t)(reader.at - section->bytes);
    function->program_size = (uint32_t)(reader.end - reader.at);
    return true;
}

/* Second pass: parses the functions. */
static void parse_functions(struct cfi_index *index, const struct elf_file *file)
{
    const struct cfi_common *common = NULL;
    struct code code = code_of(file);
    size_t kept = 0;
    for (size_t i = 0; i < index->functions.count; i++) {
        struct cfi_function function = index->functions.items[i];
        common = find_common(index, function.entry, common);
        if (!common || !common->usable || !parse_function(&index->section, common, &function) ||
            !inside(&code, &function)) {
            index->skipped_count++;
            continue;
        }
        function.entry = (uint32_t)(common - index->common.items);
        index->functions.items[kept++] = function;
    }
    index->functions.count = kept;
}

static int compare(const void *a, const void *b)
{
    const struct cfi_function *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->program < y->program ? -1 : x->program > y->program;
}

static void sort_functions(struct cfi_index *index)
{
    struct cfi_function *items = index->functions.items;
    for (size_t i = 1; i < index->functions.count; i++) {
        if (items[i - 1].begin > items[i].begin) {
            qsort(items, index->functions.count, sizeof(*items), compare);
            return;
        }
    }
}

int cfi_index_build(const struct cfi_section *section, const struct elf_file *file,
                    struct cfi_index *ret_index)
{
    if (section->size > UINT32_MAX)
        return -EFBIG;
    struct cfi_index index = {.section = *section};
    uint64_t offset = 0;
    int error = 0;
    while (error == 0 && offset < section->size)
        error = read_entry(&index, &offset);
    if (error < 0) {
        cfi_index_fini(&index);
        return error;
    }
    parse_functions(&index, file);
    sort_functions(&index);
    *ret_index = index;
    return 0;
}

void cfi_index_fini(struct cfi_index *index)
{
    vec_free(&index->common);
    vec_free(&index->functions);
}
