/* SPDX-License-Identifier: MIT */
/* The entries of .eh_frame: common ones (CIE) parsed once each, descriptions of functions (FDE)
 * sorted by the code they describe. LSB core 5.0, 10.6.1. Foreign bytes, which must outlive the
 * index: it points into them. Thread-safety: immutable once built. */
#ifndef ANNOT_CFI_INDEX_H
#define ANNOT_CFI_INDEX_H

#include "cfi_program.h"
#include "elf_file.h"
#include "vec.h"

/* Where the bytes are, and where they are loaded in the module's own address space. */
struct cfi_section {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    bool open;  /* its size is not known: it ends at the first terminator or nonsense */
    bool owned; /* the bytes are a copy, else the file's */
};

/* The .eh_frame of a file, which must stay open and untrimmed until it is closed. 0, -ENODATA: it
 * has none, -EBADMSG: it cannot be read. */
int cfi_section_open(struct elf_file *file, struct cfi_section *ret_section);
void cfi_section_close(struct cfi_section *section);

struct cfi_common {
    uint32_t offset; /* in the section */
    bool usable, augmented, signal;
    uint8_t encoding;
    uint64_t code_align;
    int64_t data_align;
    struct cfi_state initial;
};

struct cfi_function {
    uint64_t begin, end;
    uint32_t entry; /* offset of its CIE; from cfi_index_build on, the index in `common` */
    uint32_t program, program_size;
};

struct cfi_index {
    struct cfi_section section;
    VEC(struct cfi_common) common;
    VEC(struct cfi_function) functions; /* begin < end, inside executable segments */
    uint32_t skipped_count;
};

/* 0, -ENOMEM, -EFBIG (4 GiB). On failure nothing is kept. */
int cfi_index_build(const struct cfi_section *section, const struct elf_file *file,
                    struct cfi_index *ret_index);
void cfi_index_fini(struct cfi_index *index);

#endif
