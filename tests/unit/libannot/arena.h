/* SPDX-License-Identifier: MIT */
/* A recording environment for tests: a private directory on tmpfs with wake page and session, and a
 * plain reader of segments.
 *
 * Before libannot's constructor runs, ANNOT_DIR and ANNOT_SESSION of the test program are set to
 * /dev/shm/annot-test-PID and the id of its first session. The real library maps the real wake page
 * there; the test acts as the collector. Forked test children use the same directory, one after the
 * other. Not thread-safe, but a reader may run concurrently with writing threads. */
#ifndef ANNOT_TEST_ARENA_H
#define ANNOT_TEST_ARENA_H

#include <annot_wire.h>
#include <stdbool.h>
#include <stdint.h>

/* ThreadSanitizer does not support vfork, threads that exit by system call, or programs that must
 * not write. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#endif
#ifndef UNDER_THREAD_SANITIZER
#define UNDER_THREAD_SANITIZER 0
#endif

struct arena_options {
    uint32_t block_count, thread_count, strings_size; /* 0: default */
    uint64_t mask[ANNOT_LEVELS];                      /* all 0: everything */
    uint64_t late_ticks;
    uint32_t policy;   /* enum annot_policy */
    uint32_t major;    /* 0: the present one */
    bool targets_only; /* processes do not join by environment or descent */
    const char *filter;
    const char *capture; /* as in struct annot_session */
};

const char *arena_directory(void);

/* Begins a session: from here on events are recorded. NULL: default options. */
void arena_begin(const struct arena_options *options);
/* Assigns the session to a process: see ANNOT_TARGET_PREFIX. start_ticks 0: any start time. */
void arena_target(int pid, uint64_t start_ticks);
void arena_remove_target(int pid);
/* Ends the session. Segments stay. */
void arena_end(void);
/* Changes the rules in the session file only. */
void arena_set_filter(const char *text);
/* Leaves the filter as a writer that died halfway would. */
void arena_tear_filter(void);
/* Starts a new generation during the session. */
void arena_bump(void);
/* Removes all segments. */
void arena_clean(void);

/* One decoded record; for a PAYLOAD, `time` is that of its record; for a string or struct, `value`
 * is the size. */
struct seen_record {
    uint64_t time, value, id, parent;
    uint32_t kind, name, value_kind, flags, color, level;
    uint16_t domain, category;
    bool continues;
    uint32_t serial, sequence; /* of the thread and its block */
    int32_t tid;
    char text[ANNOT_STRING_MAX + 1];
    char string[ANNOT_STRUCT_BYTES + 1];
};

/* The content of all segments, or of those of one pid. */
struct seen {
    uint64_t kinds[256];
    uint64_t records;                /* without PAYLOADs */
    uint64_t lost[ANNOT_LOSS_COUNT]; /* reported by blocks, threads and segments; each once */
    uint64_t lost_total;
    uint64_t shared; /* ANNOT_LOSS_SHARED, not in the above */
    uint64_t misuse[ANNOT_MISUSE_COUNT];
    uint32_t segments, threads, blocks, claimed_blocks;
    uint32_t exit_state;
    uint64_t identity, parent_identity, fork_time;
    char process_name[ANNOT_STRING_MAX + 1];
    struct annot_note note;
};

/* Records of this thread may be interleaved with others' and are not checked; 0: unset. */
extern int arena_mixed_tid;

typedef void (*arena_visit)(const struct seen_record *record, void *context);

/* Reads everything; fails the test at the first byte that violates the format. pid 0: all. */
void arena_read(int pid, struct seen *ret_seen, arena_visit visit, void *context);

/* ---- A drain concurrent with the writers ----------------------------------------------------- */

struct mapped {
    char name[64];
    uint8_t *base;
    uint64_t size;
    const struct annot_segment *header;
    struct annot_shared *shared;
    struct annot_control *control;
    struct annot_thread *threads;
    uint8_t *strings, *blocks;
    uint32_t *states, *nexts;
};

/* Maps one segment. Returns false if it is not ready. */
bool arena_map(const char *name, struct mapped *ret_mapped);
void arena_unmap(struct mapped *mapped);
/* Lists the names of segments, at most `limit`. */
int arena_list(char names[][64], int limit);

/* Counts and frees all released blocks. With `all`, also counts the claimed ones, without freeing
 * them. Adds to `seen`. */
void arena_drain(struct mapped *mapped, bool all, struct seen *seen);

#endif
