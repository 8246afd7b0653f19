/* SPDX-License-Identifier: MIT */
/* Notes about the process: see process_notes.h. */
#include "process_notes.h"

#include "proc.h"
#include "session.h"

#include <annot/observers.h>
#include <annot_barrier.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_MAX = 8, LINE_SIZE = 320 };

static char notes[NOTES_MAX][ANNOT_PROCESS_NOTE_MAX + 1]; /* W: the index's owner */
static uint32_t taken;                                    /* W: all, atomic */
static uint32_t ready;                                    /* bits; W: all, atomic */

APART void process_notes_emit_one(int directory_fd, uint64_t session_id, const char *text)
{
    char line[LINE_SIZE];
    const char *end = line + sizeof(line);
    char *at = text_append(line, end, "note\t");
    at = text_append_decimal(at, end, (uint64_t)getpid());
    at = text_append(at, end, "\t");
    at = text_append(at, end, text);
    at = text_append(at, end, "\n");
    session_add_line(directory_fd, session_id, line, (uint32_t)(at - line));
}

void process_notes_emit(int directory_fd, uint64_t session_id)
{
    uint32_t known = annot_load_acquire(&ready); /* partner: process_notes_keep */
    for (uint32_t i = 0; i < NOTES_MAX && known >> i != 0; i++)
        if (known >> i & 1)
            process_notes_emit_one(directory_fd, session_id, notes[i]);
}

static int is_known(const char *text)
{
    uint32_t known = annot_load_acquire(&ready); /* partner: process_notes_keep */
    for (uint32_t i = 0; i < NOTES_MAX; i++)
        if (known >> i & 1 && strcmp(notes[i], text) == 0)
            return 1;
    return 0;
}

/* Fields of a line are separated by tabs. */
static void copy(char *to, const char *text)
{
    size_t i = 0;
    for (; i < ANNOT_PROCESS_NOTE_MAX && text[i]; i++) {
        to[i] = text[i];
        if ((unsigned char)text[i] < ' ')
            to[i] = ' ';
    }
    to[i] = 0;
}

uint32_t process_notes_take(char clean[ANNOT_PROCESS_NOTE_MAX + 1], const char *text)
{
    copy(clean, text);
    if (is_known(clean))
        return PROCESS_NOTES_UNKEPT;
    uint32_t index = annot_fetch_add_relaxed(&taken, 1U);
    if (index < NOTES_MAX)
        return index;
    annot_store_relaxed(&taken, (uint32_t)NOTES_MAX);
    return PROCESS_NOTES_UNKEPT;
}

void process_notes_keep(uint32_t index, const char clean[ANNOT_PROCESS_NOTE_MAX + 1])
{
    memcpy(notes[index], clean, sizeof(notes[index]));
    annot_fetch_or_release(&ready, 1U << index); /* partner: process_notes_emit, is_known */
}
