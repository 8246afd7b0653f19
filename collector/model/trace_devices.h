/* SPDX-License-Identifier: MIT */
/* Identity of a machine's devices across numberings.
 *
 * A program numbers those that it may use (CUDA: in an order that its environment decides), the
 * driver all of the machine. Both report the device's UUID and its place on the PCI bus. These link
 * the driver's counters of a device to the lane of a program. Thread-safety: none. */
#ifndef ANNOT_TRACE_DEVICES_H
#define ANNOT_TRACE_DEVICES_H

#include "trace.h"

/* A device as a program's lane, or as a thread that stands for it: exactly one of the two. */
struct trace_device {
    uint32_t revision;
    uint32_t lane;   /* 1 + ordinal; 0: counters only */
    uint32_t thread; /* 1 + ordinal: the thread has only its counters; 0: a lane */
    uint32_t name;   /* string: prefix of the names of its counters, "GPU 3"; else 0 */
    uint32_t uuid;   /* string: "GPU-...", of an instance of one "MIG-..."; 0: unknown */
    uint32_t card;   /* string: the UUID of the whole device, of an instance */
    uint32_t place;  /* string: "0000:1a:00.0" */
};

/* Keys of annot/queues.h by which programs report it. */
#define QUEUE_KEY_PCI  "PCI"
#define QUEUE_KEY_UUID "UUID"
#define QUEUE_KEY_CARD "UUID of the whole GPU"

enum { TRACE_DEVICES_MAX = 1 << 16 };

/* Adds an empty one. Its ordinal; -ENOMEM, -ENOSPC. */
int64_t trace_device_add(struct trace *trace);
struct trace_device *trace_device(struct trace *trace, uint32_t ordinal);
const struct trace_device *trace_device_get(const struct trace *trace, uint32_t ordinal);
uint32_t trace_device_count(const struct trace *trace);

/* The device of a lane; NULL if unknown. */
const struct trace_device *trace_device_of_lane(const struct trace *trace, uint32_t lane);
/* The device of a thread with counters of one; NULL for nearly all threads. */
const struct trace_device *trace_device_of_thread(const struct trace *trace, uint32_t thread);

/* Relation between a program's device and that of some counters. */
enum device_relation {
    DEVICE_OTHER = 0, /* another one, or unknown */
    DEVICE_SAME,
    DEVICE_PART, /* an instance of it: the counters are those of the whole device */
};

/* By UUID; if one of both lacks it, by the place on the PCI bus. Only within one host. Cost: a few
 * comparisons of texts. */
enum device_relation trace_device_relation(const struct trace *trace,
                                           const struct trace_device *counted,
                                           const struct trace_device *used);

/* The first ordinal of the same device, perhaps its own: a number that they share. */
uint32_t trace_device_first(const struct trace *trace, uint32_t ordinal);

/* The next lane of the device with the counters of a thread: 1 + its ordinal, after `after`; 0 at
 * the end. Begin with 0. One device may have a lane in several programs. Cost: as many comparisons
 * as there are devices. */
uint32_t trace_device_next_lane(const struct trace *trace, uint32_t thread, uint32_t after);

/* A counter of such a thread, shown on a lane of the device. */
struct device_counter {
    const char *name;
    uint32_t thread, lane;
};

/* Its name on that lane: "power", without the driver's number of the device, or "power of the whole
 * GPU" on the lane of an instance. */
enum { TRACE_DEVICE_COUNTER_SIZE = 128 };

const char *trace_device_counter(const struct trace *trace, const struct device_counter *counter,
                                 char buffer[TRACE_DEVICE_COUNTER_SIZE]);

#endif
