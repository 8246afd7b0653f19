/* SPDX-License-Identifier: MIT */
/* The anchor, and constructor and destructor of a copy of libannot: see runtime.h. */
#include "runtime.h"

#include "directory.h"
#include "entry.h"
#include "process.h"

#include <annot_barrier.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

const struct runtime_table *runtime_other;

/* First word: the serving copy's table. In assembler because C cannot declare a "unique" symbol. */
__asm__(".pushsection .bss.annot_anchor_v1,\"aw\",@nobits\n"
        ".balign 64\n"
        "annot_anchor_here:\n"
        ".weak annot_anchor_v1\n"
        ".type annot_anchor_v1, @gnu_unique_object\n"
        ".size annot_anchor_v1, 64\n"
        "annot_anchor_v1:\n"
        ".zero 64\n"
        ".popsection\n");
extern ANNOT_API const struct runtime_table *annot_anchor_v1;

/* A note in each image locates its anchor: a program exports no symbols unless it is linked for
 * that, and a library may hide those of its archives, but notes are part of the loaded image. */
#define NOTE_NAME "annot"

enum { NOTE_ANCHOR = 1, NOTE_NAME_SPACE = 8 };

__asm__(".pushsection .note.annot,\"a\",%note\n"
        ".balign 4\n"
        ".long 6, 8, 1\n" /* sizes of name and content; NOTE_ANCHOR */
        ".asciz \"" NOTE_NAME "\"\n"
        ".balign 4\n"
        "annot_note_here:\n"
        ".quad annot_anchor_here - annot_note_here\n"
        ".popsection\n");

struct note {
    ElfW(Nhdr) head;
    char name[NOTE_NAME_SPACE];
    char distance[sizeof(int64_t)]; /* from itself to the anchor; not aligned */
};

/* Returns the table at the anchor of a note, or NULL. */
static const struct runtime_table *table_of(const struct note *note)
{
    int64_t distance;
    memcpy(&distance, note->distance, sizeof(distance));
    uintptr_t anchor = (uintptr_t)note->distance + (uintptr_t)distance;
    /* Partner: the swap in runtime_take_anchor of that copy. */
    return annot_load_acquire((const struct runtime_table **)anchor);
}

static size_t note_align(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static const struct runtime_table *find_in_notes(const char *at, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const struct note *note = (const struct note *)at;
        size_t name = note_align(note->head.n_namesz), content = note_align(note->head.n_descsz);
        size_t whole = sizeof(note->head) + name + content;
        if (whole > size)
            return NULL;
        if (note->head.n_type == NOTE_ANCHOR && whole == sizeof(*note) &&
            note->head.n_namesz == sizeof(NOTE_NAME) &&
            memcmp(note->name, NOTE_NAME, sizeof(NOTE_NAME)) == 0 && table_of(note))
            return table_of(note);
        at += whole;
        size -= whole;
    }
    return NULL;
}

static int look_at_image(struct dl_phdr_info *image, size_t size, void *ret_table)
{
    const struct runtime_table **table = ret_table;
    (void)size;
    for (int i = 0; i < image->dlpi_phnum && !*table; i++) {
        const ElfW(Phdr) *part = &image->dlpi_phdr[i];
        if (part->p_type == PT_NOTE)
            *table = find_in_notes((const char *)(image->dlpi_addr + part->p_vaddr), part->p_memsz);
    }
    return *table != NULL;
}

void runtime_take_anchor(const struct runtime_table *own)
{
    const struct runtime_table *table = NULL;
    dl_iterate_phdr(look_at_image, &table);
    /* Partner: the same swap in another copy. */
    if (!table && annot_cas_acq_rel(&annot_anchor_v1, &table, own))
        return;
    runtime_other = table == own ? NULL : table;
}

/* ---- Constructor and destructor -------------------------------------------------------------- */

/* Events after dlclose, and the exit of threads, still need this code. */
static void pin(void)
{
    Dl_info info;
    if (dladdr((const void *)&runtime_other, &info) && info.dli_fname && info.dli_fname[0])
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Before other constructors of the same image, so that they can be recorded. */
__attribute__((constructor(101))) static void runtime_begin(void)
{
    int error = errno; /* the C standard requires 0 when main begins */
    int secure = getauxval(AT_SECURE) != 0;
    runtime_take_anchor(&runtime_own);
    if (runtime_other) {
        struct refusal ignored;
        if (!secure)
            directory_setup(&ignored); /* maps this copy's own gate */
        errno = error;
        return;
    }
    process_setup(secure);
    entry_setup();
    pthread_atfork(entry_fork_prepare, entry_fork_parent, process_fork_child);
    pin();
    errno = error;
}

__attribute__((destructor(101))) static void runtime_end(void)
{
    if (!runtime_other)
        process_exit();
}
