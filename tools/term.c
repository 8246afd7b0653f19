/* SPDX-License-Identifier: MIT */
/* Implements term.h: numbers by integers and snprintf, never the locale.
 *
 * UTF-8 decoding and character widths are implemented here: the C library's depend on the locale,
 * which annot leaves unset so that its output is the same everywhere. */
#include "term.h"

#include "vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned term_width(int fd)
{
    const char *columns = getenv("COLUMNS");
    unsigned long wanted = columns ? strtoul(columns, NULL, 10) : 0;
    if (wanted >= 20 && wanted <= 10000)
        return (unsigned)wanted;
    struct winsize size;
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col >= 20 ? size.ws_col : 80;
}

bool term_color(int fd, const char *when)
{
    if (when && strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    return isatty(fd) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}

/* Decodes one character: its length in bytes (at least 1) and code point; invalid bytes and hidden
 * characters give '?'. */
static size_t decode(const char *text, uint32_t *ret_point)
{
    const unsigned char *at = (const unsigned char *)text;
    *ret_point = '?';
    if (at[0] < 0x80) {
        *ret_point = at[0];
        return 1;
    }
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    uint32_t point = at[0] & (0x7fu >> length);
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 1;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 1;
        point = point << 6 | (at[i] & 0x3f);
    }
    bool too_long = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    if (too_long || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return 1;
    /* C1 controls and bidirectional controls are kept from terminals. */
    bool hidden = point < 0xa0 || (point >= 0x202a && point <= 0x202e) ||
                  (point >= 0x2066 && point <= 0x2069);
    *ret_point = hidden ? '?' : point;
    return length;
}

struct span {
    uint32_t first, last;
};

static bool is_in(const struct span *spans, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; i++) {
        if (point >= spans[i].first && point <= spans[i].last)
            return true;
    }
    return false;
}

static size_t point_width(uint32_t point)
{
    static const struct span zero[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                       {0x610, 0x61a},   {0x64b, 0x65f},   {0x200b, 0x200f},
                                       {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static const struct span wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
                                       {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
                                       {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                                       {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    if (point < 0x300)
        return 1;
    if (is_in(zero, sizeof(zero) / sizeof(*zero), point))
        return 0;
    return is_in(wide, sizeof(wide) / sizeof(*wide), point) ? 2 : 1;
}

/* A character as printed. */
struct glyph {
    size_t columns, size;
    char bytes[TERM_GLYPH_SIZE];
};

/* Escapes a byte as shells do in $'...'. */
static struct glyph escape(unsigned char byte)
{
    static const char bytes[] = "\a\b\t\n\v\f\r\033", letters[] = "abtnvfre";
    const char *letter = byte ? strchr(bytes, byte) : NULL;
    struct glyph glyph = {0};
    int size = letter ? snprintf(glyph.bytes, sizeof(glyph.bytes), "\\%c", letters[letter - bytes])
                      : snprintf(glyph.bytes, sizeof(glyph.bytes), "\\x%02x", byte);
    glyph.size = glyph.columns = (size_t)size;
    return glyph;
}

/* Takes the first character and moves *text past it. */
static struct glyph take_glyph(const char **text)
{
    struct glyph glyph = {.size = 1, .bytes = "?"};
    uint32_t point;
    size_t length = decode(*text, &point);
    if (point < 0x20 || point == 0x7f) {
        glyph = escape((unsigned char)point);
    } else {
        glyph.columns = point_width(point);
        if (point != '?') {
            memcpy(glyph.bytes, *text, length);
            glyph.size = length;
        }
    }
    *text += length;
    return glyph;
}

size_t term_text_width(const char *text)
{
    size_t width = 0;
    while (*text)
        width += take_glyph(&text).columns;
    return width;
}

/* Copies whole characters up to `width` columns; returns the end in the buffer. */
static char *copy_clean(const char *text, size_t width, char *to, const char *end)
{
    while (*text) {
        struct glyph glyph = take_glyph(&text);
        if (glyph.columns > width || to + glyph.size >= end)
            break;
        width -= glyph.columns;
        memcpy(to, glyph.bytes, glyph.size);
        to += glyph.size;
    }
    *to = '\0';
    return to;
}

size_t term_shorten(const char *text, size_t width, char *buffer, size_t buffer_size)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    char *end = buffer + buffer_size;
    size_t full = term_text_width(text);
    if (full <= width) {
        copy_clean(text, width, buffer, end);
        return term_text_width(buffer);
    }
    size_t head = (width - 1) / 2, tail = width - 1 - head;
    char *to = copy_clean(text, head, buffer, end);
    if ((size_t)(end - to) > sizeof(ellipsis)) {
        memcpy(to, ellipsis, sizeof(ellipsis));
        to += sizeof(ellipsis) - 1;
    }
    size_t skip = full - tail;
    while (skip > 0 && *text) {
        size_t columns = take_glyph(&text).columns;
        skip = columns < skip ? skip - columns : 0;
    }
    copy_clean(text, tail, to, end);
    return term_text_width(buffer);
}

/* Returns true if the word is the unit of the number before it. */
static bool is_unit(const char *word)
{
    static const char *const units[] = {"%", "ns", "us", "ms", "s", "KiB", "MiB", "GiB", "points"};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        size_t length = strlen(units[i]);
        if (strncmp(word, units[i], length) == 0 && !(word[length] >= 'a' && word[length] <= 'z'))
            return true;
    }
    return false;
}

/* Returns true if a line may end before this blank. */
static bool is_break(const char *text, const char *at)
{
    bool number = at > text && at[-1] >= '0' && at[-1] <= '9';
    return *at == ' ' && at > text && at[-1] != ' ' && !(number && is_unit(at + 1));
}

size_t term_line(const char *text, size_t width)
{
    const char *at = text, *blank = NULL;
    size_t used = 0;
    while (*at) {
        const char *next = at;
        used += take_glyph(&next).columns;
        if (is_break(text, at))
            blank = at;
        if (used > width && *at != ' ')
            break;
        at = next;
    }
    if (!*at)
        return (size_t)(at - text);
    if (blank)
        at = blank;
    else if (at == text) /* narrower than one character */
        take_glyph(&at);
    return (size_t)(at - text);
}

void term_wrap(FILE *stream, const char *text, size_t width, size_t used, size_t indent)
{
    while (*text) {
        size_t size = term_line(text, width > used ? width - used : 1);
        term_write(stream, text, size);
        fputc('\n', stream);
        text += size;
        text += strspn(text, " ");
        fprintf(stream, "%*s", *text ? (int)indent : 0, "");
        used = indent;
    }
}

size_t term_cut(const char *text, size_t width, char *buffer, size_t buffer_size)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    bool cut = term_text_width(text) > width;
    char *to =
        copy_clean(text, cut ? width - 1 : width, buffer, buffer + buffer_size - sizeof(ellipsis));
    if (cut)
        memcpy(to, ellipsis, sizeof(ellipsis));
    return term_text_width(buffer);
}

size_t term_take(const char **text, char bytes[TERM_GLYPH_SIZE])
{
    struct glyph glyph = take_glyph(text);
    memcpy(bytes, glyph.bytes, glyph.size);
    return glyph.size;
}

void term_write(FILE *stream, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end && *text) {
        struct glyph glyph = take_glyph(&text);
        fwrite(glyph.bytes, 1, glyph.size, stream);
    }
}

void term_print(const char *text)
{
    term_write(stdout, text, strlen(text));
}

/* ---- Grids ----------------------------------------------------------------------------------- */

/* All texts are in one array, and measured when printed. */

enum { FIRST_MIN = 24, FILL_MIN = 16, GAP = 2 };

enum { COLUMNS_MAX = 2000 }; /* SQLite's limit */

struct grid_cell {
    size_t at;         /* of its text */
    const char *style; /* of its colour; or NULL */
};

struct grid {
    const struct grid_column *columns;
    size_t column_count;
    VEC(char) text; /* cells, each with its NUL */
    VEC(struct grid_cell) cells;
    size_t widths[COLUMNS_MAX];
    bool hidden[COLUMNS_MAX];
    size_t first_max; /* 0: as wide as needed */
    size_t fills;     /* index of the filling column; 0: unset */
    bool brief;
    bool no_memory;
};

struct cell_buffer {
    char *text;
    size_t size;
    size_t blanks;     /* pending before the next text */
    const char *style; /* of this text; or NULL */
};

struct grid *grid_create(const struct grid_column *columns, size_t count)
{
    struct grid *grid = count && count <= COLUMNS_MAX ? calloc(1, sizeof(*grid)) : NULL;
    if (!grid)
        return NULL;
    grid->columns = columns;
    grid->column_count = count;
    for (size_t i = 0; i < count; i++)
        grid->widths[i] = term_text_width(columns[i].title);
    return grid;
}

void grid_destroy(struct grid *grid)
{
    if (!grid)
        return;
    vec_free(&grid->text);
    vec_free(&grid->cells);
    free(grid);
}

void grid_add(struct grid *grid, const char *text)
{
    grid_add_styled(grid, text, NULL);
}

void grid_add_styled(struct grid *grid, const char *text, const char *style)
{
    size_t size = strlen(text) + 1, column = grid->cells.count % grid->column_count;
    if (grid->no_memory ||
        vec_push(&grid->cells, ((struct grid_cell){grid->text.count, style})) != 0 ||
        vec_reserve(&grid->text, size) != 0) {
        grid->no_memory = true;
        return;
    }
    memcpy(grid->text.items + grid->text.count, text, size);
    grid->text.count += size;
    size_t width = term_text_width(text);
    if (width > grid->widths[column])
        grid->widths[column] = width;
}

void grid_add_time(struct grid *grid, uint64_t ns)
{
    char text[NUMBER_TEXT_SIZE];
    grid_add(grid, grid->brief ? number_time_short(ns, text) : number_time(ns, text));
}

void grid_add_count(struct grid *grid, uint64_t count)
{
    char text[NUMBER_TEXT_SIZE];
    grid_add(grid, number_count(count, text));
}

void grid_add_percent(struct grid *grid, uint64_t part, uint64_t whole)
{
    char text[NUMBER_TEXT_SIZE];
    grid_add(grid,
             grid->brief ? number_share(part, whole, text) : number_percent(part, whole, text));
}

void grid_let_fill(struct grid *grid, size_t column)
{
    grid->fills = column;
}

void grid_be_brief(struct grid *grid)
{
    grid->brief = true;
}

void grid_limit_first(struct grid *grid, size_t width)
{
    grid->first_max = width;
}

/* Width of the visible columns after the first. */
static size_t width_of_rest(const struct grid *grid)
{
    size_t width = 0;
    for (size_t i = 1; i < grid->column_count; i++)
        width += grid->hidden[i] ? 0 : grid->widths[i] + GAP;
    return width;
}

/* Hides the column of the highest rank above `rank`. */
static bool hide_least_wanted(struct grid *grid, unsigned rank)
{
    size_t worst = 0;
    for (size_t i = 1; i < grid->column_count; i++) {
        if (!grid->hidden[i] && grid->columns[i].rank > rank &&
            (worst == 0 || grid->columns[i].rank > grid->columns[worst].rank))
            worst = i;
    }
    grid->hidden[worst] = worst != 0;
    return worst != 0;
}

/* Fits the filling column: first hides columns of higher rank, then shrinks it. Returns the number
 * of hidden columns. */
static size_t fit_filling(struct grid *grid, size_t width)
{
    size_t hidden = 0, fills = grid->fills;
    if (fills == 0 || width == 0)
        return 0;
    while (width_of_rest(grid) + grid->widths[0] > width &&
           hide_least_wanted(grid, grid->columns[fills].rank))
        hidden++;
    size_t over = width_of_rest(grid) + grid->widths[0];
    over = over > width ? over - width : 0;
    size_t spare = grid->widths[fills] > FILL_MIN ? grid->widths[fills] - FILL_MIN : 0;
    grid->widths[fills] -= over < spare ? over : spare;
    return hidden;
}

/* Chooses the hidden columns and the width of the first column. */
static void fit(struct grid *grid, size_t width, size_t *ret_hidden)
{
    if (grid->first_max && grid->widths[0] > grid->first_max)
        grid->widths[0] = grid->first_max;
    size_t least = grid->widths[0] < FIRST_MIN ? grid->widths[0] : FIRST_MIN;
    memset(grid->hidden, 0, sizeof(grid->hidden));
    *ret_hidden = fit_filling(grid, width);
    while (width && width_of_rest(grid) + least > width && hide_least_wanted(grid, 0))
        ++*ret_hidden;
    size_t rest = width_of_rest(grid);
    size_t room = width > rest + least ? width - rest : least;
    if (width && grid->widths[0] > room)
        grid->widths[0] = room;
}

/* Padding is kept in cell->blanks until a text follows, so that lines do not end in blanks. */
static void print_cell(const struct grid *grid, size_t column, const char *text,
                       struct cell_buffer *cell)
{
    const char *style = cell->style;
    size_t width = grid->widths[column];
    size_t used = column > 0 && column == grid->fills
                      ? term_cut(text, width, cell->text, cell->size)
                      : term_shorten(text, width, cell->text, cell->size);
    bool left = column == 0 || grid->columns[column].left;
    cell->blanks += (column ? GAP : 0) + (left ? 0 : width - used);
    size_t length = strlen(cell->text), shown = length;
    while (shown && cell->text[shown - 1] == ' ')
        shown--;
    if (shown) {
        printf("%*s", (int)cell->blanks, "");
        if (style && *style)
            printf("\033[%sm", style);
        printf("%.*s", (int)shown, cell->text);
        if (style && *style)
            fputs("\033[0m", stdout);
        cell->blanks = 0;
    }
    cell->blanks += length - shown;
    cell->blanks += left ? width - used : 0;
}

static void print_titles(const struct grid *grid, bool color, struct cell_buffer *cell)
{
    fputs(color ? "\033[1m" : "", stdout);
    for (size_t i = 0; i < grid->column_count; i++) {
        if (!grid->hidden[i])
            print_cell(grid, i, grid->columns[i].title, cell);
    }
    fputs(color ? "\033[0m\n" : "\n", stdout);
    cell->blanks = 0;
}

int grid_print(struct grid *grid, size_t width, bool color, size_t *ret_hidden)
{
    fit(grid, width, ret_hidden);
    size_t widest = 0;
    for (size_t i = 0; i < grid->column_count; i++)
        widest = grid->widths[i] > widest ? grid->widths[i] : widest;
    struct cell_buffer buffer = {.size = 4 * widest + 8};
    buffer.text = grid->no_memory ? NULL : malloc(buffer.size);
    if (!buffer.text)
        return -ENOMEM;
    print_titles(grid, color, &buffer);
    size_t column = 0;
    for (size_t cell = 0; cell < grid->cells.count; cell++, column++) {
        if (column == grid->column_count)
            column = 0;
        buffer.style = color ? grid->cells.items[cell].style : NULL;
        if (!grid->hidden[column])
            print_cell(grid, column, grid->text.items + grid->cells.items[cell].at, &buffer);
        if (column + 1 < grid->column_count)
            continue;
        putchar('\n');
        buffer.blanks = 0;
    }
    free(buffer.text);
    return 0;
}
