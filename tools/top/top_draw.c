/* SPDX-License-Identifier: MIT */
/* Draws one frame of `annot top` as lines of text. See top.h.
 *
 * Numbers stand first and texts share the remaining width, so columns keep their place while names
 * change. Without colours marks show the selection; no style is written at all. */
#include "top_draw.h"
#include "number.h"
#include "report_text.h"
#include "term.h"
#include "text.h"
#include "top.h"
#include "top_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines above a table of `annot top`: totals of all programs. */

static uint32_t count_living(const struct trace *trace)
{
    uint32_t living = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        living += process->end == PROCESS_RUNNING && process->end_ns == 0;
    }
    return living;
}

/* Counts threads that ran or waited. */
static uint32_t count_threads(const struct top_data *data)
{
    uint32_t count = 0;
    for (size_t i = 0; i < data->threads.count; i++) {
        const struct own_times *times = &data->threads.items[i].times;
        count += times->cpu_ns + times->runnable_ns + times->blocked_ns > 0;
    }
    return count;
}

static void put_first(const struct top_session *session, const struct top_data *data, char *line)
{
    const struct trace *trace = data->trace;
    char time[NUMBER_TEXT_SIZE];
    uint32_t living = count_living(trace), threads = count_threads(data);
    struct text text = text_init(line, TOP_HEAD_SIZE);
    double seconds = (double)data->length_ns / 1e9;
    if (seconds < 100)
        snprintf(time, sizeof(time), "%.*f s", seconds < 9.95 ? 1 : 0, seconds);
    else
        number_time_short((uint64_t)data->length_ns, time);
    text_format(&text, data->total ? "since %s ago" : "last %s", time);
    text_format(&text, ", %u process%s, %u thread%s, %u Hz: %s", living, living == 1 ? "" : "es",
                threads, threads == 1 ? "" : "s", trace_sampling_get(trace)->frequency_hz,
                session->command);
}

static void add_share(struct text *text, const char *before, uint64_t part, int64_t length_ns)
{
    char share[NUMBER_TEXT_SIZE];
    text_format(text, "%s%s", before, number_share(part, (uint64_t)length_ns, share));
}

/* Percentages relate to one processor or one thread. */
static void put_second(const struct top_data *data, char *line)
{
    uint32_t processors = trace_session_get(data->trace)->processors;
    struct text text = text_init(line, TOP_HEAD_SIZE);
    add_share(&text, "cpu ", data->all.cpu_ns, data->length_ns);
    if (processors)
        text_format(&text, " of %u %% (%u processor%s)", 100 * processors, processors,
                    processors == 1 ? "" : "s");
    if (top_sees_waits(data))
        add_share(&text, ", runnable ", data->all.runnable_ns, data->length_ns);
    if (data->all.gil_ns + data->gil_wait_ns > 0) {
        add_share(&text, ", GIL held ", data->all.gil_ns, data->length_ns);
        if (top_sees_waits(data))
            add_share(&text, ", awaited ", data->gil_wait_ns, data->length_ns);
    }
}

/* Wait reasons, longest time first. */
static void put_third(const struct top_data *data, char *line)
{
    struct text text = text_init(line, TOP_HEAD_SIZE);
    bool told[WAIT_REASON_COUNT] = {false};
    if (!top_sees_waits(data)) {
        text_format(&text, "waits are not sampled");
        return;
    }
    add_share(&text, "blocked ", data->all.blocked_ns, data->length_ns);
    for (unsigned i = 0; i < WAIT_REASON_COUNT; i++) {
        unsigned most = WAIT_REASON_COUNT;
        for (unsigned reason = 0; reason < WAIT_REASON_COUNT; reason++)
            if (!told[reason] && data->waits[reason] > 0 &&
                (most == WAIT_REASON_COUNT || data->waits[reason] > data->waits[most]))
                most = reason;
        if (most == WAIT_REASON_COUNT)
            return;
        told[most] = true;
        text_format(&text, "%s%s", i ? ", " : ": ", wait_reason_name((enum wait_reason)most));
        add_share(&text, " ", data->waits[most], data->length_ns);
    }
}

static uint64_t lost_count(const struct trace *trace)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
            count += trace_process_get(trace, i)->lost[cause];
    return count;
}

/* Warnings about data missing from the numbers. */
static void put_fourth(const struct top_session *session, const struct top_data *data, char *line)
{
    const struct trace_sampling *sampling = trace_sampling_get(data->trace);
    struct text text = text_init(line, TOP_HEAD_SIZE);
    char count[NUMBER_TEXT_SIZE];
    if (sampling->rung == SAMPLING_REMOTE)
        text_format(&text, "Python only: %s", trace_string(data->trace, sampling->reason)->bytes);
    if (lost_count(data->trace) > 0)
        text_format(&text, "%slost records: %s", text.length ? "; " : "",
                    number_count(lost_count(data->trace), count));
    if (session->anew_count > 0)
        text_format(&text, "%sbegun anew for want of memory: %s", text.length ? "; " : "",
                    number_count(session->anew_count, count));
}

void top_head_make(const struct top_session *session, const struct top_data *data,
                   char lines[TOP_HEAD_LINES][TOP_HEAD_SIZE])
{
    put_first(session, data, lines[0]);
    put_second(data, lines[1]);
    put_third(data, lines[2]);
    put_fourth(session, data, lines[3]);
}

/* ---- Machine-readable output ----------------------------------------------------------------- */

enum {
    COMMAND,
    LENGTH,
    PROCESSORS,
    RATE,
    PROCESSES,
    THREADS,
    CPU,
    RUNNABLE,
    BLOCKED,
    GIL,
    GIL_WAITS,
    LOST
};

static const struct table_column columns[] = {
    [COMMAND] = {.name = "command", .type = COLUMN_TEXT},
    [LENGTH] = {.name = "duration_ns", .type = COLUMN_TIME},
    [PROCESSORS] = {.name = "cpu_count", .type = COLUMN_COUNT},
    [RATE] = {.name = "frequency_hz", .type = COLUMN_COUNT},
    [PROCESSES] = {.name = "process_count", .type = COLUMN_COUNT},
    [THREADS] = {.name = "thread_count", .type = COLUMN_COUNT},
    [CPU] = {.name = "cpu_ns", .type = COLUMN_TIME},
    [RUNNABLE] = {.name = "runnable_ns", .type = COLUMN_TIME},
    [BLOCKED] = {.name = "blocked_ns", .type = COLUMN_TIME},
    [GIL] = {.name = "gil_ns", .type = COLUMN_TIME},
    [GIL_WAITS] = {.name = "gil_waiting_ns", .type = COLUMN_TIME},
    [LOST] = {.name = "lost_count", .type = COLUMN_COUNT},
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct top_data *data = table->context;
    (void)index;
    row_text(row, COMMAND, data->command);
    row_count(row, LENGTH, (uint64_t)data->length_ns);
    row_count(row, PROCESSORS, trace_session_get(data->trace)->processors);
    row_count(row, RATE, trace_sampling_get(data->trace)->frequency_hz);
    row_count(row, PROCESSES, count_living(data->trace));
    row_count(row, THREADS, count_threads(data));
    row_count(row, CPU, data->all.cpu_ns);
    row_count(row, GIL, data->all.gil_ns);
    if (top_sees_waits(data)) {
        row_count(row, RUNNABLE, data->all.runnable_ns);
        row_count(row, BLOCKED, data->all.blocked_ns);
        row_count(row, GIL_WAITS, data->gil_wait_ns);
    }
    row_count(row, LOST, lost_count(data->trace));
}

void top_head_table(const struct top_data *data, struct table *ret_table)
{
    *ret_table = (struct table){
        .name = "top", .fill = fill, .context = data, .is_single = true, .row_count = 1};
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        table_add_column(ret_table, columns[i]);
}

enum {
    TEXT_LEAST = 24,
    GAP = 2,
    MARK = 2,
    LINE_SIZE = 8192,
    BAR = 10,
    BAR_FROM = 110,
    TABS_WIDTH = 74
};

#define STYLE_CHOSEN "7"

/* A line under construction. */
struct line {
    struct top_frame *frame;
    char *buffer;
    size_t size;
    FILE *out;
    size_t used; /* columns */
};

static bool line_begin(struct line *line, struct top_frame *frame)
{
    *line = (struct line){.frame = frame};
    line->out = open_memstream(&line->buffer, &line->size);
    return line->out != NULL;
}

static int line_end(struct line *line)
{
    int failed = fclose(line->out);
    if (failed || vec_push(&line->frame->lines, line->buffer) != 0) {
        free(line->buffer);
        return -ENOMEM;
    }
    return 0;
}

/* Appends `text`, cut to the remaining columns. */
static void put(struct line *line, const char *style, const char *text)
{
    char *cut = malloc(LINE_SIZE);
    size_t room = line->frame->width > line->used ? line->frame->width - line->used : 0;
    bool styled = line->frame->color && style && *style && room > 0;
    if (!cut)
        return;
    room = room < LINE_SIZE / 4 - 1 ? room : LINE_SIZE / 4 - 1;
    line->used += room > 0 ? term_cut(text, room, cut, LINE_SIZE) : 0;
    if (styled)
        fprintf(line->out, "\033[%sm", style);
    if (room > 0)
        fputs(cut, line->out);
    if (styled)
        fputs("\033[0m", line->out);
    free(cut);
}

static void put_blanks(struct line *line, size_t count)
{
    for (; count > 0 && line->used < line->frame->width; count--, line->used++)
        fputc(' ', line->out);
}

static void put_text(struct line *line, const char *style, const char *text, size_t width)
{
    char cut[4 * 512 + 4];
    size_t used = term_shorten(text, width < 512 ? width : 512, cut, sizeof(cut));
    put(line, style, cut);
    put_blanks(line, width > used ? width - used : 0);
}

static void put_right(struct line *line, const char *style, const char *text, size_t width)
{
    size_t wide = term_text_width(text);
    put_blanks(line, width > wide ? width - wide : 0);
    put(line, style, text);
}

static int add_line(struct top_frame *frame, const char *style, const char *text)
{
    struct line line;
    if (!line_begin(&line, frame))
        return -ENOMEM;
    put(&line, style, text);
    return line_end(&line);
}

/* ---- Columns --------------------------------------------------------------------------------- */

struct layout {
    const struct table *table;
    bool hidden[TABLE_COLUMNS_MAX];
    bool used[TABLE_COLUMNS_MAX]; /* texts: true if a row has one */
    size_t widths[TABLE_COLUMNS_MAX];
    bool bar;
    unsigned sorted; /* column */
};

static size_t number_width(const struct table_column *column)
{
    size_t title = term_text_width(column->title) + 1; /* plus the mark of the sort column */
    size_t least = column->type == COLUMN_SHARE   ? 6
                   : column->type == COLUMN_TIME  ? 8
                   : column->type == COLUMN_BYTES ? 9
                                                  : 7;
    return title > least ? title : least;
}

/* The least width of a column, without its texts. */
static size_t column_width(const struct table_column *column)
{
    if (!column->title)
        return 0;
    return column->type == COLUMN_TEXT ? term_text_width(column->title) : number_width(column);
}

static size_t width_of_numbers(const struct layout *layout)
{
    size_t width = MARK + (layout->bar ? BAR + 1 : 0);
    for (unsigned i = 0; i < layout->table->column_count; i++)
        if (layout->table->columns[i].type != COLUMN_TEXT && !layout->hidden[i])
            width += layout->widths[i] + 1;
    return width;
}

/* Hides the number of the highest rank while texts lack room. */
static bool hide_one(struct layout *layout)
{
    const struct table *table = layout->table;
    unsigned worst = TABLE_COLUMNS_MAX;
    for (unsigned i = 0; i < table->column_count; i++)
        if (!layout->hidden[i] && table->columns[i].type != COLUMN_TEXT && table->columns[i].rank &&
            (worst == TABLE_COLUMNS_MAX || table->columns[i].rank > table->columns[worst].rank))
            worst = i;
    if (worst == TABLE_COLUMNS_MAX)
        return false;
    layout->hidden[worst] = true;
    return true;
}

/* The least width of the text columns to the right of a column. */
static size_t width_behind(const struct layout *layout, unsigned column)
{
    size_t width = 0;
    for (unsigned i = column + 1; i < layout->table->column_count; i++)
        if (layout->table->columns[i].type == COLUMN_TEXT && !layout->hidden[i])
            width += GAP + (layout->widths[i] < TEXT_LEAST ? layout->widths[i] : TEXT_LEAST);
    return width;
}

/* Shares the remaining width among texts: each gets the width of its texts, as long as the columns
 * to its right keep their least width. */
static void fit_texts(struct layout *layout, size_t room)
{
    const struct table *table = layout->table;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (table->columns[i].type != COLUMN_TEXT || layout->hidden[i])
            continue;
        size_t behind = width_behind(layout, i), half = room / 2;
        size_t most = room > behind ? room - behind : 0;
        most = most > half || behind == 0 ? most : half;
        layout->widths[i] = layout->widths[i] < most ? layout->widths[i] : most;
        room -= room > layout->widths[i] + GAP ? layout->widths[i] + GAP : room;
    }
}

/* Measures the visible rows. */
static void measure(struct layout *layout, const struct top_state *state, struct table_row *row)
{
    const struct table *table = layout->table;
    for (unsigned i = 0; i < table->column_count; i++)
        layout->widths[i] = column_width(&table->columns[i]);
    for (size_t at = state->first; at < table->row_count && at < state->first + state->page; at++) {
        table_row(table, at, row);
        for (unsigned i = 0; i < table->column_count; i++) {
            size_t width =
                table->columns[i].type == COLUMN_TEXT ? term_text_width(row->cells[i].text) : 0;
            layout->widths[i] = width > layout->widths[i] ? width : layout->widths[i];
            layout->used[i] = layout->used[i] || width > 0;
        }
    }
}

static void make_layout(struct layout *layout, const struct top_frame *frame,
                        const struct top_state *state, struct table_row *row)
{
    const struct table *table = layout->table;
    size_t texts = 0;
    measure(layout, state, row);
    layout->bar = frame->width >= BAR_FROM;
    for (unsigned i = 0; i < table->column_count; i++) {
        bool text = table->columns[i].type == COLUMN_TEXT;
        layout->hidden[i] =
            !table->columns[i].title || (text && table->columns[i].rank && !layout->used[i]);
        texts += text && !layout->hidden[i];
    }
    size_t most = texts > 2 ? frame->width * 3 / 5 : frame->width / 2;
    size_t least = texts * TEXT_LEAST < most ? texts * TEXT_LEAST : most;
    while (width_of_numbers(layout) + least > frame->width && hide_one(layout))
        ;
    size_t used = width_of_numbers(layout);
    fit_texts(layout, frame->width > used ? frame->width - used : 1);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool is_sorted_by(const struct layout *layout, unsigned column)
{
    const struct table_column *it = &layout->table->columns[column];
    return column == layout->sorted ||
           (it->type == COLUMN_SHARE && it->of == layout->sorted && layout->hidden[it->of]);
}

static int put_titles(struct top_frame *frame, const struct layout *layout)
{
    struct line line;
    char title[64];
    if (!line_begin(&line, frame))
        return -ENOMEM;
    put_blanks(&line, MARK);
    for (int texts = 0; texts < 2; texts++) {
        for (unsigned i = 0; i < layout->table->column_count; i++) {
            const struct table_column *column = &layout->table->columns[i];
            bool text = column->type == COLUMN_TEXT;
            if (layout->hidden[i] || text != (texts == 1))
                continue;
            snprintf(title, sizeof(title), "%s%s", column->title,
                     is_sorted_by(layout, i) ? "*" : "");
            if (text)
                put_text(&line, STYLE_BOLD, title, layout->widths[i] + GAP);
            else
                put_right(&line, STYLE_BOLD, title, layout->widths[i]);
            put_blanks(&line, text ? 0 : 1);
        }
        if (texts == 0 && layout->bar)
            put_blanks(&line, BAR + 1);
    }
    return line_end(&line);
}

static void number_text(const struct table *table, unsigned at, const struct table_row *row,
                        char *text)
{
    const struct table_column *column = &table->columns[at];
    const struct cell *cell = &row->cells[column->type == COLUMN_SHARE ? column->of : at];
    text[0] = '\0';
    if (cell->state != CELL_KNOWN)
        return;
    if (column->type == COLUMN_SHARE)
        number_share(cell->count, column->whole, text);
    else if (column->type == COLUMN_TIME)
        number_time_short(cell->count, text);
    else if (column->type == COLUMN_BYTES)
        number_size(cell->count, text);
    else if (column->type == COLUMN_VALUE)
        snprintf(text, NUMBER_TEXT_SIZE, "%.*f", cell->value < 10 ? 1 : 0, cell->value);
    else if (column->type == COLUMN_NUMBER)
        snprintf(text, NUMBER_TEXT_SIZE, "%lld", (long long)cell->number);
    else
        number_count(cell->count, text);
}

/* True for zeros, which are dimmed. */
static bool is_nothing(const char *text)
{
    return strcmp(text, "0") == 0 || strcmp(text, "0 %") == 0 || strcmp(text, "0.0") == 0;
}

/* A bar of the first share; one full processor, or one full thread, fills it. */
static void put_bar(struct line *line, const struct layout *layout, const struct table_row *row)
{
    const struct table *table = layout->table;
    char text[BAR + 1];
    unsigned at = 0;
    while (at < table->column_count && table->columns[at].type != COLUMN_SHARE)
        at++;
    uint64_t part = at < table->column_count ? row->cells[table->columns[at].of].count : 0;
    uint64_t whole = at < table->column_count ? table->columns[at].whole : 1;
    uint64_t cells = (uint64_t)((double)part / (double)whole * BAR + 0.5);
    cells = cells > BAR ? BAR : cells;
    memset(text, '#', cells);
    text[cells] = '\0';
    put(line, owner_style(CODE_OWN), text);
    put_blanks(line, BAR + 1 - cells);
}

static void put_row(struct line *line, const struct layout *layout, const struct table_row *row,
                    bool chosen)
{
    const struct table *table = layout->table;
    char text[NUMBER_TEXT_SIZE];
    put(line, STYLE_BOLD, chosen ? "> " : "  ");
    for (unsigned i = 0; i < table->column_count; i++) {
        if (layout->hidden[i] || table->columns[i].type == COLUMN_TEXT)
            continue;
        number_text(table, i, row, text);
        put_right(line, is_nothing(text) ? STYLE_DIM : STYLE_PLAIN, text, layout->widths[i]);
        put_blanks(line, 1);
    }
    if (layout->bar)
        put_bar(line, layout, row);
    bool first = true;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (layout->hidden[i] || table->columns[i].type != COLUMN_TEXT)
            continue;
        put_text(line, first ? owner_style(row->owner) : STYLE_PLAIN, row->cells[i].text,
                 layout->widths[i]);
        put_blanks(line, GAP);
        first = false;
    }
}

static int put_rows(struct top_frame *frame, const struct layout *layout,
                    const struct top_state *state, struct table_row *row)
{
    int error = 0;
    for (size_t i = 0; i < state->page && !error; i++) {
        size_t at = state->first + i;
        struct line line;
        if (!line_begin(&line, frame))
            return -ENOMEM;
        if (i == 0 && layout->table->row_count == 0) {
            put_blanks(&line, MARK);
            put(&line, STYLE_DIM, top_nothing_text(layout->table->context));
        } else if (at < layout->table->row_count) {
            table_row(layout->table, at, row);
            put_row(&line, layout, row, at == state->selected);
        }
        error = line_end(&line);
    }
    return error;
}

/* ---- Above and below the table --------------------------------------------------------------- */

/* Short names where the screen is narrow. */
static int put_tabs(struct top_frame *frame, const struct top_state *state)
{
    static const char *const shorts[TOP_KINDS] = {"func",    "lines", "ranges", "procs",
                                                  "threads", "waits", "GIL"};
    struct line line;
    char text[32];
    bool brief = frame->width < TABS_WIDTH;
    if (!line_begin(&line, frame))
        return -ENOMEM;
    for (int i = 0; i < TOP_KINDS; i++) {
        bool chosen = i == (int)state->view.kind;
        const char *name = brief || i == TOP_GIL ? shorts[i] : top_kind_name((enum top_kind)i);
        snprintf(text, sizeof(text),
                 chosen  ? "[%d %s]"
                 : brief ? "%d %s "
                         : " %d %s ",
                 i + 1, name);
        put(&line, chosen ? STYLE_CHOSEN : STYLE_PLAIN, text);
        put_blanks(&line, chosen && brief ? 1 : 0);
    }
    return line_end(&line);
}

/* The limits of the view: process or thread, and the filter. */
static void put_limits(const struct top_state *state, const struct top_data *data, char *text,
                       size_t size)
{
    char name[200];
    size_t used = 0;
    text[0] = '\0';
    if (state->view.one_thread)
        trace_thread_label(data->trace, state->view.thread, name, sizeof(name));
    else if (state->view.one_process)
        trace_process_label(data->trace, state->view.process, name, sizeof(name));
    if (state->view.one_thread || state->view.one_process)
        used = (size_t)snprintf(text, size, "only %s %s   ",
                                state->view.one_thread ? "thread" : "process", name);
    if (state->view.filter[0] && used < size)
        snprintf(text + used, size - used, "only rows with \"%s\"", state->view.filter);
}

static int put_foot(struct top_frame *frame, const struct top_state *state,
                    const struct top_data *data)
{
    char text[512], limits[400];
    bool chooses = state->view.kind == TOP_PROCESSES || state->view.kind == TOP_THREADS;
    put_limits(state, data, limits, sizeof(limits));
    if (state->typing)
        snprintf(text, sizeof(text), "rows with: %s_", state->view.filter);
    else if (state->message[0])
        snprintf(text, sizeof(text), "%s", state->message);
    else if (state->ended)
        snprintf(text, sizeof(text), "ENDED: nothing runs any more; q quits   %s", limits);
    else if (state->frozen)
        snprintf(text, sizeof(text), "FROZEN: space goes on   %s", limits);
    else if (limits[0])
        snprintf(text, sizeof(text), "%s (escape: all)", limits);
    else
        snprintf(text, sizeof(text), "? help  q quit  s sort  / filter  space freeze  t %s%s",
                 state->view.total ? "last seconds" : "since start",
                 chooses ? "  return: only it" : "");
    return add_line(frame, STYLE_DIM, text);
}

static int put_help(struct top_frame *frame)
{
    int error = add_line(frame, STYLE_BOLD, "annot top: keys");
    for (const char *const *line = top_help; *line && !error; line++)
        error = add_line(frame, STYLE_PLAIN, *line);
    if (!error)
        error = add_line(frame, STYLE_DIM, "any key: back");
    return error;
}

/* ---- The frame ------------------------------------------------------------------------------- */

static void choose_rows(struct top_state *state, size_t count, size_t page)
{
    state->row_count = count;
    state->page = page;
    if (state->selected >= count)
        state->selected = count > 0 ? count - 1 : 0;
    if (state->selected < state->first)
        state->first = state->selected;
    if (page > 0 && state->selected >= state->first + page)
        state->first = state->selected - page + 1;
    if (state->first + page > count)
        state->first = count > page ? count - page : 0;
}

static int put_table(struct top_frame *frame, struct top_state *state, struct top_data *data)
{
    struct table table;
    struct layout layout = {.table = &table};
    struct table_row *row = malloc(sizeof(*row));
    int error = row ? top_table_make(data, &table) : -ENOMEM;
    if (!row)
        return error;
    size_t above = frame->lines.count + 1, below = 1;
    choose_rows(state, table.row_count,
                frame->height > above + below ? frame->height - above - below : 0);
    layout.sorted = (unsigned)top_sorted_column(&state->view);
    make_layout(&layout, frame, state, row);
    if (!error)
        error = put_titles(frame, &layout);
    if (!error)
        error = put_rows(frame, &layout, state, row);
    table_fini(&table);
    free(row);
    return error;
}

int top_frame_draw(struct top_frame *frame, const struct top_session *session,
                   struct top_state *state, struct top_data *data)
{
    static char head[TOP_HEAD_LINES][TOP_HEAD_SIZE];
    int error = 0;
    top_frame_clear(frame);
    if (state->help)
        return put_help(frame);
    top_head_make(session, data, head);
    for (int i = 0; i < TOP_HEAD_LINES && !error; i++)
        if (head[i][0])
            error = add_line(frame, i == 0 ? STYLE_BOLD : STYLE_PLAIN, head[i]);
    if (!error)
        error = put_tabs(frame, state);
    if (!error)
        error = put_table(frame, state, data);
    return error ? error : put_foot(frame, state, data);
}

void top_frame_clear(struct top_frame *frame)
{
    for (size_t i = 0; i < frame->lines.count; i++)
        free(frame->lines.items[i]);
    vec_free(&frame->lines);
}
