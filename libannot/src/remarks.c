/* SPDX-License-Identifier: MIT */
/* Sentences about the process: see remarks.h. */
#include "remarks.h"

#include "api.h"
#include "proc.h"
#include "session.h"

#include <annot/observers.h>
#include <annot_barrier.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { REMARKS_MAX = 8, LINE_SIZE = 320 };

static char remarks[REMARKS_MAX][ANNOT_PROCESS_NOTE_MAX + 1]; /* W: who took the place */
static uint32_t taken;                                        /* W: all, atomic */
static uint32_t ready;                                        /* bits; W: all, atomic */

static APART void tell(int directory_fd, uint64_t session_id, const char *text)
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

void remarks_tell(int directory_fd, uint64_t session_id)
{
    uint32_t known = annot_load_acquire(&ready); /* partner: annot_process_note */
    for (uint32_t i = 0; i < REMARKS_MAX && known >> i != 0; i++)
        if (known >> i & 1)
            tell(directory_fd, session_id, remarks[i]);
}

static int is_known(const char *text)
{
    uint32_t known = annot_load_acquire(&ready); /* partner: annot_process_note */
    for (uint32_t i = 0; i < REMARKS_MAX; i++)
        if (known >> i & 1 && strcmp(remarks[i], text) == 0)
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

static void tell_now(const char *text)
{
    int cancel, error = errno;
    struct refusal ignored;
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control)
        return;
    uint64_t session_id = control->segment->session_id;
    uint64_t before = proc_block_signals(); /* a handler that forks would leave the file open */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int directory_fd = directory_open(&ignored);
    if (directory_fd >= 0) {
        tell(directory_fd, session_id, text);
        close(directory_fd);
    }
    pthread_setcancelstate(cancel, &cancel);
    proc_restore_signals(before);
    errno = error;
}

/* Told before it is ready, so that who joins meanwhile does not tell it as well. */
void annot_process_note(const char *text)
{
    char clean[ANNOT_PROCESS_NOTE_MAX + 1];
    FORWARD(process_note, text);
    copy(clean, text);
    if (is_known(clean))
        return;
    uint32_t index = annot_fetch_add_relaxed(&taken, 1U);
    if (index >= REMARKS_MAX) {
        annot_store_relaxed(&taken, (uint32_t)REMARKS_MAX);
        return;
    }
    tell_now(clean);
    memcpy(remarks[index], clean, sizeof(clean));
    annot_fetch_or_release(&ready, 1U << index); /* partner: remarks_tell, is_known */
}

OWN(annot_process_note);
