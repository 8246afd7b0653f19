/* SPDX-License-Identifier: MIT */
/* Which device of the machine is meant, by those who number devices each in their own way.
 *
 * A program numbers those that it may use (CUDA: in an order that its environment decides), the
 * driver all that there are. What both know is the device's UUID, and its place on the PCI bus. So
 * the counters that the driver keeps of a device are found for the lane of a program.
 * Thread-safety: none. */
#ifndef ANNOT_TRACE_DEVICES_H
#define ANNOT_TRACE_DEVICES_H

#include "trace.h"

/* Of a program that has a lane for it, or of a thread that stands for it: one of both. */
struct trace_device {
    uint32_t revision;
    uint32_t lane;   /* 1 + ordinal; 0: none */
    uint32_t thread; /* 1 + ordinal: that has its counters, and nothing else; 0: none */
    uint32_t name;   /* string: what the names of its counters begin with, "GPU 3"; else 0 */
    uint32_t uuid;   /* string: "GPU-...", of an instance of one "MIG-..."; 0: not known */
    uint32_t card;   /* string: the UUID of the whole device, of an instance */
    uint32_t place;  /* string: "0000:1a:00.0" */
};

/* Keys of annot/queues.h by which programs say it. */
#define QUEUE_KEY_PCI  "PCI"
#define QUEUE_KEY_UUID "UUID"
#define QUEUE_KEY_CARD "UUID of the whole GPU"

enum { TRACE_DEVICES_MAX = 1 << 16 };

/* An empty one. Its ordinal; -ENOMEM, -ENOSPC. */
int64_t trace_device_add(struct trace *trace);
struct trace_device *trace_device(struct trace *trace, uint32_t ordinal);
const struct trace_device *trace_device_get(const struct trace *trace, uint32_t ordinal);
uint32_t trace_device_count(const struct trace *trace);

/* That of a lane; NULL: nothing is known of it. */
const struct trace_device *trace_device_of_lane(const struct trace *trace, uint32_t lane);
/* That of a thread with counters of a device; NULL: it has none, as nearly all. */
const struct trace_device *trace_device_of_thread(const struct trace *trace, uint32_t thread);

/* How a device of a program is that of some counters. */
enum device_relation {
    DEVICE_OTHER = 0, /* another one, or nobody knows */
    DEVICE_SAME,
    DEVICE_PART, /* an instance of it: the counters are those of the whole device */
};

/* By UUID; by the place on the PCI bus where one of both has none. Only of one host. Cost: a few
 * comparisons of texts. */
enum device_relation trace_device_relation(const struct trace *trace,
                                           const struct trace_device *counted,
                                           const struct trace_device *used);

/* The first of those that are the same device, perhaps itself: a number that they share. */
uint32_t trace_device_first(const struct trace *trace, uint32_t ordinal);

/* The next lane of a device that the counters of a thread are about: 1 + its ordinal, after
 * `after`; 0: there is none more. Begin with 0. One device may have a lane in several programs.
 * Cost: as many comparisons as there are devices. */
uint32_t trace_device_next_lane(const struct trace *trace, uint32_t thread, uint32_t after);

/* A counter of such a thread, where it stands on a lane of the device. */
struct device_counter {
    const char *name;
    uint32_t thread, lane;
};

/* What it is called there: "power", without the number that its driver has for the device, or
 * "power of the whole GPU" on the lane of an instance. */
enum { TRACE_DEVICE_COUNTER_SIZE = 128 };

const char *trace_device_counter(const struct trace *trace, const struct device_counter *counter,
                                 char buffer[TRACE_DEVICE_COUNTER_SIZE]);

#endif
