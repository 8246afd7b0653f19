/* SPDX-License-Identifier: MIT */
/* An ELF file, read without trust: 64-bit little endian, executables and shared objects.
 *
 * The file is not mapped: parts are read (pread) on demand and kept until close, so a file that
 * shrinks causes an error, not a crash, and a file of hundreds of megabytes costs its headers.
 * Every offset, count and string is bounded before use. Source: System V ABI, chapters 4, 5.
 * Thread-safety: any call from any thread (cached parts are under a lock), except open, close and
 * trim. */
#ifndef ANNOT_ELF_FILE_H
#define ANNOT_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* Duplicates fd. 0, -EBADMSG (not a supported ELF file), -errno. */
int elf_file_open(int fd, struct elf_file **ret_file);

/* Opens an image in memory, such as the vDSO read from a process. The bytes are copied. */
int elf_file_open_image(const void *bytes, size_t size, struct elf_file **ret_file);

/* Opens a second object for the same file, with a separate cache. 0 or -errno. */
int elf_file_reopen(const struct elf_file *file, struct elf_file **ret_file);
void elf_file_close(struct elf_file *file);

/* The owner of the file. false: unknown, or an image in memory. */
bool elf_file_owner(const struct elf_file *file, uint32_t *ret_uid);

/* Frees the cached parts. Invalidates pointers to sections, bytes and names; the file stays open
 * and is read again on demand. */
void elf_file_trim(struct elf_file *file);
uint16_t elf_file_machine(const struct elf_file *file);

/* The entry point of a program, as a module address. */
uint64_t elf_file_entry(const struct elf_file *file);

enum { ELF_BUILD_ID_MAX = 32 };

/* The length; 0 = no build-id. */
size_t elf_file_build_id(const struct elf_file *file, uint8_t id[ELF_BUILD_ID_MAX]);

/* A named section's bytes (decompressed if needed). false: missing or damaged. Valid until
 * close. */
struct elf_section {
    const uint8_t *bytes;
    size_t size;
    uint64_t address; /* in the module's address space; 0 = not loaded */
    uint64_t flags;
};

bool elf_file_section(struct elf_file *file, const char *name, struct elf_section *ret_section);

/* As elf_file_section, but the caller owns the bytes: free((void *)ret_section->bytes). For large
 * sections that are read once. */
bool elf_file_copy_section(struct elf_file *file, const char *name,
                           struct elf_section *ret_section);

/* A loaded segment (PT_LOAD) of the file; memory after file_size is zero. */
struct elf_segment {
    uint64_t address, size; /* in the module's address space */
    uint64_t offset, file_size;
    uint32_t flags; /* PF_X, ... */
};

size_t elf_file_segment_count(const struct elf_file *file);
struct elf_segment elf_file_segment(const struct elf_file *file, size_t index);

/* The first program header of a type (PT_TLS, PT_DYNAMIC, ...). false: not found. */
bool elf_file_header(const struct elf_file *file, uint32_t type, struct elf_segment *ret_segment);

/* The module address of `offset` in the file. false: not loaded. The load bias of a mapping is its
 * start - that address. Mappings begin at whole pages, so bytes before a segment's first one belong
 * to it; a page of two segments belongs to the executable one. */
bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address);

/* Bytes at a module address, from the file. NULL: not fully in the file. Valid until close. */
const uint8_t *elf_file_at(struct elf_file *file, uint64_t address, size_t size);

/* As elf_file_at, into the caller's memory, without caching. false: not fully in the file. */
bool elf_file_copy_at(const struct elf_file *file, uint64_t address, void *bytes, size_t size);

/* Copies exactly `size` bytes at an offset of the file, without caching. */
bool elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size);

/* .gnu_debuglink: the file's name and its checksum. NULL: not present. */
const char *elf_file_debug_link(struct elf_file *file, uint32_t *ret_crc);

/* ---- For elf_symbols.c, which includes elf_parts.h ------------------------------------------- */

struct elf_piece;

/* The piece of a whole section. NULL: out of memory, not in the file, damaged. `keep` caches it (or
 * returns the cached one); else the caller owns it. */
struct elf_piece *elf_piece_of_section(struct elf_file *file, const Elf64_Shdr *section, bool keep);

#endif
