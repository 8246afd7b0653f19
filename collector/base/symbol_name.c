/* SPDX-License-Identifier: MIT */
/* libiberty passes the text to a callback in pieces; a short mangled name can expand to one that
 * would fill the memory, so the callback leaves by longjmp when the buffer is full. The C++ part
 * keeps everything on its stack; the Rust part may leak one small buffer, for a name cut inside of
 * Unicode letters. */
#include "symbol_name.h"

#include "text.h"

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

enum { RAW_MAX = 4096 };

static const char ellipsis[] = "\xe2\x80\xa6";
static const char stub_mark[] = "@plt";

#ifdef HAVE_DEMANGLE

#include <libiberty/demangle.h>

struct piecewise {
    struct text text;
    bool cut;
    jmp_buf full;
};

static void take_piece(const char *bytes, size_t length, void *opaque)
{
    struct piecewise *piecewise = opaque;
    size_t room = piecewise->text.size - 1 - piecewise->text.length;
    text_add(&piecewise->text, bytes, length);
    if (length <= room)
        return;
    piecewise->cut = true;
    longjmp(piecewise->full, 1);
}

/* A separate function: longjmp leaves the locals of its caller undefined. */
static bool run(const char *name, struct piecewise *piecewise)
{
    static const int options = DMGL_PARAMS | DMGL_ANSI;
    if (setjmp(piecewise->full) != 0)
        return true;
    if (rust_demangle_callback(name, options, take_piece, piecewise))
        return true;
    piecewise->text.length = 0;
    return cplus_demangle_v3_callback(name, options, take_piece, piecewise) != 0;
}

/* false: not mangled, or in an unknown way. */
static bool demangle(const char *name, char *buffer, size_t size, bool *ret_cut)
{
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return false;
    struct piecewise piecewise = {.text = text_init(buffer, size)};
    bool done = run(name, &piecewise) && piecewise.text.length > 0;
    *ret_cut = done && piecewise.cut;
    return done;
}

#else

static bool demangle(const char *name, char *buffer, size_t size, bool *ret_cut)
{
    (void)name;
    (void)buffer;
    (void)size;
    (void)ret_cut;
    return false;
}

#endif

/* Makes foreign text printable. Returns true if all of it fit. */
static bool add_clean(struct text *text, const char *bytes, size_t length)
{
    char clean[3 * SYMBOL_NAME_SIZE];
    size_t size = utf8_repair(bytes, length, clean);
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)clean[i] < 0x20 || clean[i] == 0x7f)
            clean[i] = '?';
    }
    size_t room = text->size - 1 - text->length;
    text_add(text, clean, size);
    return size <= room;
}

/* Bytes of a name; leaves room for the suffixes. */
enum { NAME_ROOM = SYMBOL_NAME_SIZE - (sizeof(ellipsis) - 1) - (sizeof(stub_mark) - 1) };

static size_t compose(const char *name, size_t length, bool cut, const char *mark, char *buffer)
{
    if (length >= NAME_ROOM) {
        length = NAME_ROOM - 1;
        cut = true;
    }
    struct text text = text_init(buffer, NAME_ROOM);
    if (!add_clean(&text, name, cut ? utf8_whole(name, length) : length))
        cut = true;
    text.size = SYMBOL_NAME_SIZE;
    text_add(&text, ellipsis, cut ? sizeof(ellipsis) - 1 : 0);
    text_add(&text, mark, strlen(mark));
    return text.length;
}

size_t symbol_clean(const char *name, size_t length, char buffer[SYMBOL_NAME_SIZE])
{
    return compose(name, length, false, "", buffer);
}

size_t symbol_demangle(const char *name, char buffer[SYMBOL_NAME_SIZE])
{
    char raw[RAW_MAX], shown[NAME_ROOM];
    size_t length = strnlen(name, RAW_MAX - 1);
    bool cut = name[length] != '\0';
    memcpy(raw, name, length);
    raw[length] = '\0';
    char *mark = length ? strchr(raw + 1, '@') : NULL;
    bool stub = mark && strcmp(mark, stub_mark) == 0;
    if (mark)
        *mark = '\0';
    bool mangled = !cut && demangle(raw, shown, sizeof(shown), &cut);
    const char *text = mangled ? shown : raw;
    return compose(text, strlen(text), cut, stub ? stub_mark : "", buffer);
}
