/* SPDX-License-Identifier: MIT */
/* What the files of the reader of speedscope's format share. */
#ifndef ANNOT_IMPORT_FROM_SPEEDSCOPE_PARTS_H
#define ANNOT_IMPORT_FROM_SPEEDSCOPE_PARTS_H

#include "import_parts.h"
#include "sorter.h"

struct from_speedscope_profile {
    uint32_t name; /* string */
    double scale;  /* nanoseconds of 1; 0: it is no time */
    bool bytes, none;
    double start;
};

struct from_speedscope_frame {
    uint32_t name, file; /* strings */
    int32_t line;
};

/* A stack by the numbers of its frames, which may be described later. */
struct from_speedscope_node {
    uint32_t parent, frame; /* 1 + index, 0: none; index */
};

/* What is told of a profile at an index: both meet in the sorter. */
enum { SPEEDSCOPE_SAMPLE, SPEEDSCOPE_WEIGHT, SPEEDSCOPE_OPEN, SPEEDSCOPE_CLOSE };

struct from_speedscope_record {
    uint32_t kind;
    uint32_t node; /* of a sample: 1 + index, 0: an empty stack; else a frame */
    double value;  /* weight, or time */
};

struct from_speedscope {
    struct json_reader json;
    struct import_sink *sink;
    struct sorter *records; /* by profile, and index in it */
    VEC(struct from_speedscope_profile) profiles;
    VEC(struct from_speedscope_frame) frames;
    VEC(struct from_speedscope_node) nodes;
    struct map64 node_index; /* by parent and frame: 1 + index */
    uint32_t name;           /* string: of the document */
    bool has_profiles;       /* the list is there, if empty */
    bool by_annot;           /* what a profile is, its name says */
    bool by_memray;          /* what has no unit are allocations */
};

/* What was read goes to the sink. 0 or -errno. */
int from_speedscope_tell(struct from_speedscope *reader);

#endif
