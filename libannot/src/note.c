/* SPDX-License-Identifier: MIT */
/* The last word of a process: see note.h. */
#include "note.h"

#include "clock.h"
#include "proc.h"
#include "process.h"
#include "strings.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <signal.h>
#include <string.h>

static void fill(struct annot_note *note, const char *text)
{
    struct string_key key;
    uint32_t none = 0;
    /* Partner: itself; one writes. */
    if (!annot_cas_acq_rel(&note->state, &none, 1u))
        return;
    string_key_init(&key, text, ANNOT_STRING_NAME);
    uint32_t length = key.length;
    if (length > ANNOT_NOTE_MAX)
        length = text_cut(key.bytes, ANNOT_NOTE_MAX);
    note->tid = proc_tid();
    note->time = clock_now();
    note->length = length;
    memcpy(note->text, key.bytes, length);
    annot_store_release(&note->state, 2u); /* partner: the collector's acquire load */
}

void note_write(const char *text)
{
    uint64_t gate = annot_gate_v1.generation;
    if (gate == 0)
        return;
    uint64_t before = proc_block_signals(); /* a handler that forks would take the segment away */
    struct segment *segment = process_join(gate);
    if (segment) {
        fill(&segment->header->note, text);
        segment_put(segment);
    }
    proc_restore_signals(before);
}
