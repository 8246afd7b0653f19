/* SPDX-License-Identifier: MIT */
/* Facts about the process itself, without stdio or malloc.
 *
 * Threads: any. Everything here is async-signal-safe and leaves no open descriptor. Callers keep
 * errno: these functions may change it. */
#ifndef ANNOT_PROC_H
#define ANNOT_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Keeps a function's frame out of its callers' frames, which stay on the stack during deeper calls:
 * a program's threads may have small stacks. */
#define APART __attribute__((noinline))

/* Reads at most `size` bytes of a file. Returns the count or negative errno. */
ssize_t proc_read(const char *path, void *buffer, size_t size);

/* Bytes that may still be mapped: RLIMIT_AS, and for private memory RLIMIT_DATA, too. UINT64_MAX
 * without a limit. The limits are meant for the program: libannot takes a small part at once. */
enum { PROC_ROOM_PARTS = 128 };

uint64_t proc_address_room(void);
uint64_t proc_private_room(void);

/* Appends text or numbers; truncates, always terminates. Return the new end. */
char *text_append(char *at, const char *end, const char *text);
/* Without separator characters; NULL is "(null)". */
char *text_append_clean(char *at, const char *end, const char *text);
char *text_append_decimal(char *at, const char *end, uint64_t value);
char *text_append_hex(char *at, const char *end, uint64_t value, int digits);

/* In a time namespace, how far the process's CLOCK_MONOTONIC is ahead of the machine's: that of the
 * first time namespace, common to all programs of a recording. proc_read_ahead reads it, and the
 * same for CLOCK_BOOTTIME. W: proc_read_ahead, atomic. */
extern int64_t proc_ahead_ns __attribute__((visibility("hidden")));
void proc_read_ahead(void);

/* Field 22 of a process's stat: start time in clock ticks since the machine's boot. 0 = unknown. In
 * a time namespace it may be one tick off: proc_same_ticks. */
uint64_t proc_start_ticks(void);
uint64_t proc_start_ticks_of(pid_t pid);
int proc_same_ticks(uint64_t a, uint64_t b);

/* Parent of a process in the own namespace. 0 = none or unknown. */
pid_t proc_parent(pid_t pid);

/* Inode of the own pid namespace. 0 = unknown. */
uint64_t proc_pid_namespace(void);

/* In a forked child, by its only thread: clears the two above, which are cached per process. */
void proc_forked(void);

pid_t proc_tid(void);
/* Blocks all signals except those that the thread's own instructions may raise. Returns the
 * previous set in the kernel's layout: the C library's is sixteen times as large. */
uint64_t proc_block_signals(void);
void proc_restore_signals(uint64_t before);

/* True if a thread of the process still exists; the same for any task. */
int proc_thread_alive(pid_t pid, pid_t tid);
int proc_task_alive(pid_t tid);

/* True if the C library's current thread is the calling task; else the task shares the storage of
 * another one. In doubt true. */
int proc_owns_storage(void);

/* A mixing step: 64-bit FNV-1a over `size` bytes, continued from `hash`. */
#define PROC_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t proc_hash(uint64_t hash, const void *bytes, size_t size);

#endif
