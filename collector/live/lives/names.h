/* SPDX-License-Identifier: MIT */
/* Maps string ids of one segment to string ordinals of the trace.
 *
 * Each id is read from the segment once. The additions of a segment to the trace are bounded: texts
 * of its table by the table's size, texts inside records by NAMES_INLINE_BYTES; beyond that, names
 * are replaced by a fixed text. A FUNCTION is named by a callback, and sensibly without one.
 * Thread-safety: none. */
#ifndef ANNOT_NAMES_H
#define ANNOT_NAMES_H

#include "hash_map.h"
#include "segment_reader.h"
#include "trace.h"

#define NAMES_INLINE_BYTES (UINT64_C(256) << 20)

/* The kind of an id, in the highest bits of its entry. A range named by a function is a call. */
enum names_kind {
    NAMES_TEXT = 0,
    NAMES_NATIVE_CALL = 1, /* a FUNCTION */
    NAMES_PYTHON_CALL = 2, /* a CODE */
    NAMES_KINDS = 3,
};

#define NAMES_KIND_SHIFT  30
#define NAMES_ORDINAL_MAX ((UINT32_C(1) << NAMES_KIND_SHIFT) - 2)

enum { NAMES_FUNCTION_MAX = 1024, NAMES_JOINED_MAX = 1 << 16, NAMES_PAGE = 1024 };

/* A function of a program. */
struct names_function {
    int32_t pid;      /* 0: unknown */
    const char *file; /* as the process sees it, " (deleted)" included */
    uint64_t offset;  /* in the file */
    uint64_t inode;   /* of the file; 0: unknown */
};

/* Finds its name. Writes at most NAMES_FUNCTION_MAX bytes to `text`; returns their number, 0:
 * unknown. */
typedef size_t names_function_fn(void *context, const struct names_function *function, char *text);

typedef VEC(uint32_t) number_table; /* string ordinals by number */

/* The string that defines a domain or category. */
struct names_number {
    uint32_t id;     /* 0: not seen yet */
    uint16_t parent; /* of a category: its domain's number */
    bool is_category;
};

/* The observer of the events with a domain's or category's number. */
struct names_observer {
    uint16_t observer, role;
};

/* The scope of events with a domain and a category: by the category's number, else the domain's. */
struct names_scope {
    uint32_t ordinal; /* 0: not known yet */
    uint16_t domain;  /* the domain number of the last look-up */
};

/* A function that the program has registered. */
struct names_known_function {
    uint32_t id, ordinal;
    uint8_t kind; /* enum names_kind */
};

struct names {
    const struct segment *segment; /* NULL: only strings read before */
    struct trace *trace;
    uint32_t **pages; /* by id / NAMES_PAGE; of ordinal + 1, 0 = not read yet; kinds */
    uint32_t page_count;
    uint64_t table_bytes, inline_bytes;
    number_table domains, categories;
    number_table schemas; /* ids, not ordinals */
    VEC(struct names_number) numbers;
    VEC(struct names_observer) observers; /* by number; {0}: the program */
    VEC(struct names_scope) scopes;
    struct map64 joined;         /* ordinals of group and series -> ordinal of "group/series" */
    int32_t pid;                 /* for `function` */
    names_function_fn *function; /* or NULL: functions are named FILE+0xOFFSET */
    void *function_context;
    VEC(struct names_known_function) functions;
    uint32_t call_scopes[NAMES_KINDS]; /* of ranges with such a name; 0: not made yet */
    uint32_t walked;                   /* ids before this one are in domains and categories */
    uint32_t walk_end;                 /* string_used / 16 at the last walk */
    uint64_t walk_cost;
    struct map64 least;  /* minimum duration of a wanted call in ns, by id of its CODE */
    number_table queues; /* ids of QUEUEs, in order */
    uint64_t cut;        /* texts replaced by "(too many different texts)" */
    uint64_t broken;     /* invalid ids and texts */
};

/* `segment` and `trace` outlive it. 0 or -ENOMEM. */
int names_init(struct names *names, const struct segment *segment, struct trace *trace);
void names_fini(struct names *names);

/* Moves the ids that were read to a new object that outlives the segment; `from` becomes empty.
 * NULL: out of memory. Unread ids give 0. */
struct names *names_detach(struct names *from);
void names_destroy(struct names *names); /* accepts NULL */

/* Ordinals; 0 for id 0 and for unreadable strings. -ENOMEM, -EFAULT as negative numbers. */
int64_t names_by_id(struct names *names, uint32_t id);
int64_t names_inline(struct names *names, const char *bytes, size_t length);

/* Reads a string for the first time (room for ANNOT_STRING_MAX). 1; 0: invalid, and counted;
 * -EFAULT. */
int names_read(struct names *names, uint32_t id, struct annot_string *ret_string, char *bytes);

/* The entry of an id that was looked up before, with its kind; 0: use names_by_id(). */
static inline uint32_t names_entry(const struct names *names, uint32_t id)
{
    const uint32_t *page =
        id / NAMES_PAGE < names->page_count ? names->pages[id / NAMES_PAGE] : NULL;
    return page ? page[id % NAMES_PAGE] : 0;
}

/* The ordinal of an entry; the scope of ranges with it. */
static inline uint32_t names_entry_ordinal(uint32_t entry)
{
    return (entry & (NAMES_ORDINAL_MAX + 1)) - 1;
}

static inline uint32_t names_entry_scope(const struct names *names, uint32_t entry)
{
    return names->call_scopes[entry >> NAMES_KIND_SHIFT];
}

/* True if a name that was looked up is that of a CODE. */
static inline bool names_is_python_call(const struct names *names, uint32_t id)
{
    return names_entry(names, id) >> NAMES_KIND_SHIFT == NAMES_PYTHON_CALL;
}

/* The scope of a range by its name, which was looked up, if it has no other scope. */
static inline uint32_t names_scope_by_id(const struct names *names, uint32_t id)
{
    return names_entry_scope(names, names_entry(names, id));
}

/* The minimum duration of a wanted call with a name that was looked up, in ns; 0: any. */
static inline int64_t names_least_ns(const struct names *names, uint32_t id)
{
    const uint64_t *least = names->least.count ? map64_find(&names->least, id) : NULL;
    return least ? (int64_t)*least : 0;
}

int64_t names_domain(struct names *names, uint16_t number);

/* The scope of a record with these two numbers; cost: a load, if they were looked up before. Scope
 * 0 for unreadable ones. */
int64_t names_scope(struct names *names, uint16_t domain, uint16_t category);

/* "group/series" of two ordinals. */
int64_t names_join(struct names *names, uint32_t group, uint32_t series);

/* Reads the text of a schema (room for ANNOT_STRING_MAX). Its length; 0: undefined; -ENOMEM,
 * -EFAULT. */
int64_t names_schema(struct names *names, uint16_t number, char *text);

/* Reads the new definitions of the table; units of counters go into the trace. 0, -ENOMEM,
 * -EFAULT. */
int names_walk(struct names *names);

#endif
