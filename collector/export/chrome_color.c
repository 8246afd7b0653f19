/* SPDX-License-Identifier: MIT */
/* Colour names of the trace viewer in Chrome (catapult, color_scheme) with the colours they stand
 * for there. Thread-safety: a pure function. */
#include "chrome_color.h"

#include <stddef.h>

static const struct {
    const char *name;
    uint32_t rgb;
} names[] = {
    {"thread_state_uninterruptible", 0xb67d8f},
    {"thread_state_iowait", 0xff8c00},
    {"thread_state_running", 0x7ec894},
    {"thread_state_runnable", 0x85a0d2},
    {"thread_state_unknown", 0xc79b7d},
    {"background_memory_dump", 0x00b4b4},
    {"light_memory_dump", 0x0000b4},
    {"detailed_memory_dump", 0xb400b4},
    {"vsync_highlight_color", 0x0000ff},
    {"generic_work", 0x7d7d7d},
    {"good", 0x007d00},
    {"bad", 0xb47d00},
    {"terrible", 0xb40000},
    {"black", 0x000000},
    {"grey", 0xdddddd},
    {"white", 0xffffff},
    {"yellow", 0xffff00},
    {"olive", 0x646400},
    {"rail_response", 0x4387fd},
    {"rail_animation", 0xf44a3f},
    {"rail_idle", 0xee8e00},
    {"rail_load", 0x0da861},
};

static uint32_t distance(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        int delta = (int)(a >> shift & 255) - (int)(b >> shift & 255);
        sum += (uint32_t)(delta * delta);
    }
    return sum;
}

const char *chrome_color_name(uint32_t color)
{
    size_t best = 0;
    for (size_t i = 1; i < sizeof(names) / sizeof(*names); i++) {
        if (distance(color, names[i].rgb) < distance(color, names[best].rgb))
            best = i;
    }
    return names[best].name;
}
