/* SPDX-License-Identifier: MIT */
/* What the files of this folder share: the file that is read, JSON, and where its events go.
 *
 * Files are foreign bytes: what they say is checked here, and nothing behind it is. Thread-safety:
 * one thread per object. */
#ifndef ANNOT_IMPORT_PARTS_H
#define ANNOT_IMPORT_PARTS_H

#include "import.h"

#include "event.h"
#include "hash_map.h"
#include "sample.h"
#include "text.h"
#include "trace.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The file: input.c ----
 *
 * Bytes in order, decompressed if they are gzip or zstd. What was looked at lies in one piece. */

struct import_input;

enum { INPUT_PIECE_MAX = 64 << 20 }; /* that may be looked at in one piece */

/* "-" is standard input. 0 or -errno. Bytes of the caller's, for tests: NULL: out of memory. */
int import_input_open(const char *path, struct import_input **ret_input);
struct import_input *import_input_memory(const uint8_t *bytes, size_t size);
/* Accepts NULL. */
void import_input_close(struct import_input *input);

/* What comes next: at least `want` bytes, fewer at the end only. Stays until the next call. The
 * number; 0: the end; -EMSGSIZE: `want` is too large; -EBADMSG: the compressed data are cut or
 * damaged; -errno of the read. */
int64_t import_input_peek(struct import_input *input, size_t want, const char **ret_bytes);
/* So many of them are done with. */
void import_input_take(struct import_input *input, size_t count);
/* Bytes that were taken, as they are without compression. */
uint64_t import_input_offset(const struct import_input *input);
/* The next line without its end, which is taken: 1; 0 at the end; as peek. */
int import_input_line(struct import_input *input, const char **ret_line, size_t *ret_length);

/* The descriptor of a file that is not compressed, all of which then counts as taken; -1: it is no
 * such file. */
int import_input_file(struct import_input *input);

/* ---- JSON: json_reader.c ----
 *
 * A stream of tokens in bounded memory. More is taken than the standard has: NaN, Infinity, commas
 * behind the last item, bytes that are no UTF-8. */

enum json_kind {
    JSON_END = 0, /* of the document */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_STRING, /* `text` without escapes */
    JSON_NUMBER, /* `text` as it stands there */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

/* Of a longer text, 8 MiB as they stand in the file, the rest is passed over. What is left is more
 * than the sink keeps of a text, which therefore counts it as cut. */
struct json_token {
    enum json_kind kind;
    bool key; /* the name of a member: its value is the next token */
    const char *text;
    size_t length;
};

enum { JSON_DEPTH_MAX = 256 };

struct json_reader {
    struct import_input *input;
    const char *at, *end, *base; /* what was looked at; base: where the input stands */
    char *scratch;               /* of texts with escapes */
    size_t scratch_size;
    unsigned depth;
    uint8_t in_object[JSON_DEPTH_MAX]; /* by depth */
    bool wants_value;                  /* behind a key */
    bool wants_comma;
    const char *problem; /* constant text; of the first error */
    bool cut;            /* it is that the file ends */
};

void json_reader_init(struct json_reader *reader, struct import_input *input);
void json_reader_fini(struct json_reader *reader);
/* 1; 0: JSON_END; -EBADMSG: no JSON, or cut: `problem`; -errno. The text stays until the next call.
 */
int json_next(struct json_reader *reader, struct json_token *ret_token);
/* The rest of the value that begins with the token: 0 or as json_next. */
int json_skip_nested(struct json_reader *reader, const struct json_token *first);

static inline int json_skip(struct json_reader *reader, const struct json_token *first)
{
    bool nested = first->kind == JSON_OBJECT || first->kind == JSON_ARRAY;
    return nested ? json_skip_nested(reader, first) : 0;
}

/* The same, as compact JSON, of which the first `size` - 1 bytes are kept, with NUL. */
int json_copy(struct json_reader *reader, const struct json_token *first, struct text *copy);
/* A text, with quotes. */
void json_copy_text(struct text *copy, const char *bytes, size_t length);

/* Of an object whose '{' was taken: the next name, cut, and the first token of its value: 1; 0: its
 * end was taken; as json_next. */
enum { JSON_KEY_SIZE = 32 };

int json_member(struct json_reader *reader, char key[JSON_KEY_SIZE], struct json_token *ret_value);
/* Where the next token begins. */
uint64_t json_offset(const struct json_reader *reader);

/* Numbers. False: it is none, or too large. `scale`: nanoseconds of 1, a power of ten. */
bool json_time(const struct json_token *token, int64_t scale_ns, int64_t *ret_ns);
bool json_int(const struct json_token *token, int64_t *ret_value);
bool json_double(const struct json_token *token, double *ret_value);
bool json_is(const struct json_token *token, const char *text);

/* ---- Where it goes: sink.c, sink_write.c ----
 *
 * A trace and a recording of what a file tells, in whatever order. Ranges become pushed ranges of
 * their threads as far as they nest; others become ranges of the process. */

/* What could not be kept; each is counted and named once. */
enum import_left {
    LEFT_MALFORMED,    /* events without what they need */
    LEFT_UNKNOWN,      /* of kinds that have no counterpart */
    LEFT_END_ALONE,    /* ends without a begin */
    LEFT_OPEN,         /* begins without an end: not left out, but told */
    LEFT_OVERLAPPING,  /* ranges of a thread that don't nest */
    LEFT_CLIPPED,      /* that end a rounding later than the one around them */
    LEFT_TEXTS,        /* texts beyond the limit */
    LEFT_LONG,         /* that are cut */
    LEFT_VALUES,       /* values that are too many or too long */
    LEFT_UNLAUNCHED,   /* work of queues without a launch */
    LEFT_EVENT_STACKS, /* of events that are no samples */
    LEFT_DEEP,         /* stacks that are too deep */
    LEFT_STACKS,       /* frames of stacks beyond the limit */
    LEFT_REPEATED,     /* that only repeat what others tell */
    LEFT_AT_ONCE,      /* ranges whose ends are not waited for: too many are open at once */
    LEFT_THREADS,      /* threads and processes beyond the limit */
    LEFT_TRACKS,       /* events on tracks beyond the limit */
    LEFT_OBJECTS,      /* from here on, by phases of Chrome's events */
    LEFT_SAMPLES,
    LEFT_DUMPS,
    LEFT_CONTEXTS,
    LEFT_CLOCKS,
    LEFT_COUNT,
};

/* What events of a phase that no recording has are counted as. */
enum import_left import_left_of_phase(char phase);

/* Who something is, as the file has it: a number, or a text. */
struct import_id {
    uint32_t text; /* string; 0: the number */
    int64_t number;
};

struct import_open {
    int64_t end_ns;
};

struct import_later {
    int64_t end_ns;
    uint64_t id;
};

/* One that began and has no end yet, of those that files call by one id: they nest. */
struct import_pair {
    uint64_t id;     /* in the recording */
    uint32_t around; /* 1 + index of the one around it; of a free entry, of the next free one */
    uint32_t thread; /* where it began */
};

/* A thread, while its events are written. */
struct import_thread {
    VEC(struct import_open) open;   /* ranges, the outermost first */
    VEC(struct import_later) later; /* ends of those that don't nest: a heap, the earliest first */
    VEC(struct event) events;       /* that wait to be written */
    VEC(struct arg) args;
    bool busy; /* it is in the list of those that have any of this */
};

enum { SINK_RECENT = 4096 };

struct import_sink {
    struct trace *trace;
    const struct import_options *options;
    struct import_result *result;
    const char *output;
    char *folder; /* of the output */
    struct sorter *events;
    struct sorter *samples; /* NULL: none yet */
    VEC(uint8_t) record;    /* that is made at present */
    VEC(char) text;         /* the same */
    struct wide_map joined; /* by two names and what is between: the name of both */
    struct wide_map processes, threads;
    VEC(struct import_thread) writing; /* by thread */
    VEC(uint32_t) busy;                /* threads that are */
    size_t waiting, later_count;       /* of all of them */
    struct map64 paired;               /* by the file's id: 1 + index of the innermost */
    VEC(struct import_pair) pairs;
    uint32_t free_pair; /* 1 + index; 0: none */
    uint64_t text_bytes;
    uint32_t recent[SINK_RECENT]; /* strings, by a part of their hash */
    uint64_t last_id;             /* of ranges of processes */
    uint64_t left[LEFT_COUNT];
    uint32_t other_text; /* string: in place of those beyond the limit; 0: not made yet */
    uint32_t other_process, other_thread; /* the same: 1 + ordinal */
    int64_t first_ns, last_ns, shift_ns;
    int64_t realtime_ns; /* of the file's time 0; 0: not known */
    struct store_writer *writer;
    int error; /* the first one of what returns none */
};

enum {
    SINK_TEXT_BYTES_MAX = 64 << 20, /* of all texts */
    SINK_TEXTS_MAX = 1 << 20,
    SINK_TEXT_MAX = 1 << 20, /* of one text; it is cut */
    SINK_ARGS_MAX = 1024,    /* of an event */
    SINK_STACKS_MAX = 2 << 20,
    SINK_THREADS_MAX = 1 << 17, /* and processes */
};

/* In place of texts beyond the limits. */
#define IMPORT_OTHER           "[other text]"
#define IMPORT_OTHER_PROCESSES "[other processes]"
#define IMPORT_OTHER_THREADS   "[other threads]"

/* A hundred years on both sides: sums of times never overflow. */
#define IMPORT_TIME_MAX (INT64_C(100) * 366 * 86400 * 1000000000)

/* 0 or -ENOMEM; then fini all the same. */
int import_sink_init(struct import_sink *sink, const char *output,
                     const struct import_options *options, struct import_result *result);
void import_sink_fini(struct import_sink *sink);

/* The string; beyond the limits that of all others. Out of memory: 0, and the sink's error. */
uint32_t import_string(struct import_sink *sink, const char *bytes, size_t length);
/* A string, a number or a truth of JSON as a value. False: it is none, or none that can be kept. */
bool import_scalar(struct import_sink *sink, const struct json_token *token, struct arg *arg);
uint32_t import_text(struct import_sink *sink, const char *text);
/* The name that two make, with a character between; as often as they come. */
uint32_t import_joined(struct import_sink *sink, uint32_t first, char between, uint32_t second);
uint32_t import_scope(struct import_sink *sink, const struct scope *scope);
/* The name of calls of a Python function; `file` may be empty, `line` 0. */
uint32_t import_call(struct import_sink *sink, uint32_t function, uint32_t file, int32_t line);

/* A process, and a thread of it; made if new; beyond the limits one for all others. Out of memory:
 * 0, and the sink's error. */
uint32_t import_process(struct import_sink *sink, const struct import_id *id);
uint32_t import_thread(struct import_sink *sink, uint32_t process, const struct import_id *id);
/* The same of those that are there; -1: it is not. */
int64_t import_process_find(const struct import_sink *sink, const struct import_id *id);
int64_t import_thread_find(const struct import_sink *sink, uint32_t process,
                           const struct import_id *id);

/* As it is; an EVENT_START is closed by the next EVENT_END of its id, inner ones first, those of
 * the same process before others. An EVENT_PUSH is a whole range until its end_ns (INT64_MAX: it
 * has none); of equal ones, that of the smaller depth is around the other. Of impossible times:
 * counted. 0 or -errno. */
int import_add(struct import_sink *sink, const struct event *event, const struct arg *args);

/* A counter for each value of the event: "NAME/KEY"; of a single one called "value", or by its
 * unit, "NAME". Texts are counted as left out. 0 or -errno. */
int import_counters(struct import_sink *sink, const struct event *event, const struct arg *args,
                    size_t count);

/* ---- Work of queues: sink_work.c ---- */

#define IMPORT_NO_DEVICE INT64_C(-1)

struct import_work {
    int64_t device, stream, context; /* context 0: not known */
    int64_t launch_ns;
    bool has_launch;
    bool is_own; /* nobody launched it: a wait, overhead */
};

/* Ordinals; of new ones the names are to be told. */
struct import_lanes {
    uint32_t queue, device;
    bool is_new;
};

/* A span of a queue, until its end_ns; its thread is that of the launch. 0 or -errno. */
int import_work(struct import_sink *sink, const struct import_work *work, struct event *event,
                const struct arg *args, struct import_lanes *ret_lanes);
/* The same of a wait of a thread, which lies beside the streams of its context. */
int import_wait(struct import_sink *sink, const struct import_work *work, struct event *event);
void import_lanes_name(struct import_sink *sink, const struct import_lanes *lanes,
                       uint32_t queue_name, uint32_t device_name);

/* ---- Samples: sink_samples.c ---- */

/* A frame by what outputs show of it; lines 0, strings 0: not known. */
struct import_frame {
    uint32_t function, file, module; /* strings */
    int32_t line, first_line;
    uint8_t kind; /* enum frame_kind */
};

/* Ordinals of the trace's stacks; beyond STACKS_MAX the parent. Out of memory: 0, and the sink's
 * error. */
uint32_t import_frame(struct import_sink *sink, const struct import_frame *frame);
uint32_t import_stack(struct import_sink *sink, uint32_t parent, uint32_t frame);

/* Of any thread, in any order. 0 or -errno. */
int import_sample(struct import_sink *sink, const struct sample *sample);

/* Writes them, in order of time. 0 or -errno. */
int import_samples_write(struct import_sink *sink);

/* One line in the recording and on standard error. */
void import_note(struct import_sink *sink, const char *text);

/* Says in result->notes, and in the recording, what was left out. 0 or -errno. */
int import_notes_tell(struct import_sink *sink);

/* Writes the recording. 0 or -errno. */
int import_sink_finish(struct import_sink *sink);

/* ---- Importers ---- */

struct importer {
    struct import_format format;
    /* Whether it is that, by its first bytes. */
    bool (*sniff)(const char *bytes, size_t size);
    /* 0, or -errno: then result->problem says what is wrong, if anything does. */
    int (*read)(struct import_input *input, struct import_sink *sink);
};

/* What is wrong with the file, for messages: the first one stays. */
void import_problem(struct import_sink *sink, const char *problem, uint64_t offset);

extern const struct importer import_chrome, import_folded, import_nsys, import_perf,
    import_perfetto, import_pstats, import_speedscope, import_v8;

#endif
