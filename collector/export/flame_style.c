/* SPDX-License-Identifier: MIT */
/* One hue per kind, three shades each, chosen so that text on them has a contrast of 7 or more in
 * light mode and of 4.5 in dark mode. */
#include "flame_style.h"

#include "stacks.h"

#include <stdio.h>

static const struct palette {
    char letter;
    unsigned short hue;
    unsigned char saturation, light, dark; /* percent: lightness on a light and on a dark page */
    const char *name;
} palettes[FLAME_KIND_COUNT] = {
    [FLAME_PYTHON] = {'p', 212, 78, 76, 32, "Python"},
    [FLAME_NATIVE] = {'n', 32, 88, 74, 27, "native"},
    [FLAME_KERNEL] = {'k', 6, 78, 78, 33, "kernel"},
    [FLAME_JIT] = {'j', 142, 48, 72, 24, "compiled at run time"},
    [FLAME_COLLECTOR] = {'g', 58, 88, 62, 23, "garbage collector"},
    [FLAME_NOTE] = {'o', 210, 6, 82, 30, "note"},
    [FLAME_RANGE] = {'r', 168, 56, 60, 23, "range"},
    [FLAME_PROCESS] = {'q', 222, 20, 78, 36, "process"},
    [FLAME_THREAD] = {'t', 200, 20, 84, 30, "thread"},
    [FLAME_WAIT] = {'w', 286, 58, 82, 37, "waits for"},
    [FLAME_RUNNABLE] = {'u', 92, 38, 78, 28, "runnable"},
    [FLAME_ALL] = {'a', 220, 8, 86, 26, "all"},
};

enum flame_kind flame_kind_of(const struct call_tree *tree, uint32_t item)
{
    static const enum flame_kind of_frames[] = {
        [FRAME_NATIVE] = FLAME_NATIVE,       [FRAME_PYTHON] = FLAME_PYTHON,
        [FRAME_KERNEL] = FLAME_KERNEL,       [FRAME_JIT] = FLAME_JIT,
        [FRAME_COLLECTOR] = FLAME_COLLECTOR, [FRAME_NOTE] = FLAME_NOTE,
    };

    static const enum flame_kind of_items[] = {
        [CALL_ALL] = FLAME_ALL,           [CALL_FUNCTION] = FLAME_NOTE,
        [CALL_PROCESS] = FLAME_PROCESS,   [CALL_THREAD] = FLAME_THREAD,
        [CALL_RANGE] = FLAME_RANGE,       [CALL_NO_RANGE] = FLAME_NOTE,
        [CALL_INHERITED] = FLAME_NOTE,    [CALL_REASON] = FLAME_WAIT,
        [CALL_NO_STACK] = FLAME_NOTE,     [CALL_NO_ROOM] = FLAME_NOTE,
        [CALL_RUNNABLE] = FLAME_RUNNABLE,
    };

    unsigned frame = call_item_frame_kind(tree, item);
    if (frame > 0 && frame < sizeof(of_frames) / sizeof(*of_frames))
        return of_frames[frame];
    return of_items[call_tree_item(tree, item)->kind];
}

char flame_kind_letter(enum flame_kind kind)
{
    return palettes[kind].letter;
}

const char *flame_kind_name(enum flame_kind kind)
{
    return palettes[kind].name;
}

static void write_palettes(struct out_stream *out, bool dark)
{
    for (unsigned kind = 0; kind < FLAME_KIND_COUNT; kind++) {
        const struct palette *palette = &palettes[kind];
        for (int shade = 0; shade < FLAME_SHADES; shade++) {
            char rule[80];
            int light = (dark ? palette->dark : palette->light) + 3 * (shade - 1);
            snprintf(rule, sizeof(rule), ".%c%d rect{fill:hsl(%d,%d%%,%d%%)}\n", palette->letter,
                     shade, palette->hue + 4 * (shade - 1),
                     dark ? palette->saturation * 2 / 3 : palette->saturation, light);
            out_text(out, rule);
        }
    }
}

void flame_style_write(struct out_stream *out)
{
    out_text(out, ":root{--page:#fdfdfc;--ink:#16181d;--faint:#5d6470;--loss:#a3240f;"
                  "--tip:#fff;--match:#ff4fd8;--matchink:#16181d}\n");
    write_palettes(out, false);
    out_text(out, "@media (prefers-color-scheme:dark){\n"
                  ":root{--page:#15171b;--ink:#eef0f4;--faint:#a2a9b6;--loss:#ff9b85;"
                  "--tip:#23272e;--match:#ff5edb;--matchink:#16181d}\n");
    write_palettes(out, true);
    out_text(out, "}\n");
}
