/* SPDX-License-Identifier: MIT */
/* An ELF file, read without trust: 64-bit little endian, executables and shared objects.
 *
 * Nothing is mapped: what is asked for is read (pread) when it is asked for and kept until close,
 * so a file that shrinks costs an error, not the process, and a file of hundreds of megabytes costs
 * its headers. Every offset, count and string is bounded before use. Source: System V ABI, chapters
 * 4, 5. Thread-safety: any call from any thread (what is kept is under a lock), but open, close and
 * trim. */
#ifndef ANNOT_ELF_FILE_H
#define ANNOT_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* Takes a copy of fd. 0, -EBADMSG (no ELF file that we can read), -errno. */
int elf_file_open(int fd, struct elf_file **ret_file);

/* An image in memory, as the vDSO is read from a process. The bytes are copied. */
int elf_file_open_image(const void *bytes, size_t size, struct elf_file **ret_file);

/* A second object for the same file: what it reads, and when that is trimmed, is its own affair. 0
 * or -errno. */
int elf_file_reopen(const struct elf_file *file, struct elf_file **ret_file);
void elf_file_close(struct elf_file *file);

/* Whose file it is. false: not known, or an image in memory. */
bool elf_file_owner(const struct elf_file *file, uint32_t *ret_uid);

/* Gives back the memory of all that was read so far. Pointers to sections, bytes and names from
 * before are invalid; the file stays open and is read again when asked. */
void elf_file_trim(struct elf_file *file);
uint16_t elf_file_machine(const struct elf_file *file);

/* Where a program begins, an address of its own. */
uint64_t elf_file_entry(const struct elf_file *file);

enum { ELF_BUILD_ID_MAX = 32 };

/* Its length; 0 = it has none. */
size_t elf_file_build_id(const struct elf_file *file, uint8_t id[ELF_BUILD_ID_MAX]);

/* A named section's bytes (decompressed if it is compressed). false: not there or damaged. Valid
 * until close. */
struct elf_section {
    const uint8_t *bytes;
    size_t size;
    uint64_t address; /* in the module's own address space; 0 = not loaded */
    uint64_t flags;
};

bool elf_file_section(struct elf_file *file, const char *name, struct elf_section *ret_section);

/* The same, but the caller owns the bytes: free((void *)ret_section->bytes). For large sections
 * that are read once. */
bool elf_file_copy_section(struct elf_file *file, const char *name,
                           struct elf_section *ret_section);

/* A loaded stretch (PT_LOAD) of the file; behind file_size, memory is zero. */
struct elf_segment {
    uint64_t address, size; /* in the module's own address space */
    uint64_t offset, file_size;
    uint32_t flags; /* PF_X, ... */
};

size_t elf_file_segment_count(const struct elf_file *file);
struct elf_segment elf_file_segment(const struct elf_file *file, size_t index);

/* The first program header of a type (PT_TLS, PT_DYNAMIC, ...). false: none. */
bool elf_file_header(const struct elf_file *file, uint32_t type, struct elf_segment *ret_segment);

/* The module's own address of what lies at `offset` of the file. false: nothing loaded is there.
 * The load bias of a mapping is: its begin - that address. Mappings begin at whole pages, so bytes
 * in front of a segment's first one count to it; a page of two segments is the executable one's. */
bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address);

/* Bytes at an address of its own, from the file. NULL: not that many. Valid until close. */
const uint8_t *elf_file_at(struct elf_file *file, uint64_t address, size_t size);

/* The same into the caller's memory; nothing is kept. false: not that many. */
bool elf_file_copy_at(const struct elf_file *file, uint64_t address, void *bytes, size_t size);

/* Copies exactly `size` bytes at an offset of the file; nothing of it is kept. */
bool elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size);

/* .gnu_debuglink: the file's name and its checksum. NULL: none. */
const char *elf_file_debug_link(struct elf_file *file, uint32_t *ret_crc);

/* ---- For elf_symbols.c, which knows elf_parts.h -------------------------------------------------
 */

struct elf_piece;

/* The piece of a whole section. NULL: no memory, not in the file, damaged. `keep` puts it into the
 * file's list (or finds it there); else the caller owns it. */
struct elf_piece *elf_piece_of_section(struct elf_file *file, const Elf64_Shdr *section, bool keep);

#endif
