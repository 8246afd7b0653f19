/* SPDX-License-Identifier: MIT */
/* See columns.h. */
#include "columns.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Paths of ranges ------------------------------------------------------------------------- */

enum { FIRST_SLOTS = 1024 };

int column_paths_init(struct column_paths *paths, const struct trace *trace)
{
    paths->slot_count = FIRST_SLOTS;
    paths->slots = calloc(paths->slot_count, sizeof(*paths->slots));
    if (rows_paths_init(&paths->spelled, trace) != 0 || !paths->slots)
        return -ENOMEM;
    return vec_push(&paths->nodes, (struct path_node){0});
}

void column_paths_fini(struct column_paths *paths)
{
    vec_free(&paths->nodes);
    vec_free(&paths->words);
    vec_free(&paths->way);
    free(paths->slots);
    rows_paths_fini(&paths->spelled);
}

/* Begins a new group. */
static void column_paths_forget(struct column_paths *paths)
{
    memset(paths->slots, 0, paths->slot_count * sizeof(*paths->slots));
    paths->nodes.count = 1;
    paths->words.count = paths->word_bytes = paths->all_bytes = 0;
    rows_paths_cut(&paths->spelled, 0);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The slot of a node, or the free one where it belongs. */
static uint32_t *probe(const struct column_paths *paths, const struct path_node *node)
{
    uint64_t what = (uint64_t)node->parent << 32 | node->name;
    size_t mask = paths->slot_count - 1;
    for (size_t at = hash_u64(what + hash_u64(node->scope)) & mask;; at = (at + 1) & mask) {
        uint32_t *slot = &paths->slots[at];
        const struct path_node *there = &paths->nodes.items[*slot];
        if (*slot == 0 || (there->parent == node->parent && there->name == node->name &&
                           there->scope == node->scope))
            return slot;
    }
}

static int grow(struct column_paths *paths)
{
    size_t count = paths->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(paths->slots);
    paths->slots = slots;
    paths->slot_count = count;
    for (uint32_t i = 1; i < paths->nodes.count; i++)
        *probe(paths, &paths->nodes.items[i]) = i;
    return 0;
}

static int find_node(struct column_paths *paths, uint32_t parent, struct rows_link *link)
{
    const struct path_node node = {parent, link->name, link->scope,
                                   paths->nodes.items[parent].depth + 1, 0};
    uint32_t *slot = probe(paths, &node);
    link->number = *slot;
    if (*slot)
        return 0;
    *slot = link->number = (uint32_t)paths->nodes.count;
    if (paths->nodes.count > INT32_MAX || vec_push(&paths->nodes, node) != 0)
        return -ENOMEM;
    return paths->nodes.count * 2 > paths->slot_count ? grow(paths) : 0;
}

int column_paths_take(struct column_paths *paths, struct rows_paths *path, uint32_t *ret_word)
{
    struct rows_link *links = path->links.items;
    size_t depth = path->links.count, known = depth, length;
    while (known > 0 && links[known - 1].number == 0)
        known--;
    for (size_t i = known; i < depth; i++)
        if (find_node(paths, i ? links[i - 1].number : 0, &links[i]) != 0)
            return -ENOMEM;
    struct path_node *node = &paths->nodes.items[links[depth - 1].number];
    rows_paths_text(path, &length);
    paths->all_bytes += length;
    if (!node->word) {
        const struct path_word word = {links[depth - 1].number, length};
        if (vec_push(&paths->words, word) != 0)
            return -ENOMEM;
        paths->word_bytes += length;
        node->word = (uint32_t)paths->words.count;
    }
    *ret_word = node->word - 1;
    return 0;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* True if the node is on the path spelled last. */
static bool is_there(const struct column_paths *paths, uint32_t node)
{
    const struct rows_paths *spelled = &paths->spelled;
    uint32_t depth = paths->nodes.items[node].depth;
    return node == 0 ||
           (depth <= spelled->links.count && spelled->links.items[depth - 1].number == node);
}

int column_paths_spell(struct column_paths *paths, uint32_t word, size_t *ret_same)
{
    struct rows_paths *spelled = &paths->spelled;
    uint32_t node = paths->words.items[word].node;
    paths->way.count = 0;
    for (; !is_there(paths, node); node = paths->nodes.items[node].parent)
        if (vec_push(&paths->way, node) != 0)
            return -ENOMEM;
    rows_paths_cut(spelled, paths->nodes.items[node].depth);
    rows_paths_text(spelled, ret_same);
    while (paths->way.count > 0) {
        const uint32_t below = paths->way.items[--paths->way.count];
        const struct path_node *next = &paths->nodes.items[below];
        if (rows_paths_add(spelled, next->name, next->scope) != 0)
            return -ENOMEM;
        spelled->links.items[spelled->links.count - 1].number = below;
    }
    return 0;
}

enum { TEXTS_MAX = 32 << 20 };

/* ---- Bytes ----------------------------------------------------------------------------------- */

uint8_t *column_room(struct column_bytes *bytes, size_t size)
{
    if (bytes->failed || vec_reserve(&bytes->vec, size + 1) != 0) { /* never a NULL address for size
                                                                     * 0 */
        bytes->failed = true;
        return NULL;
    }
    uint8_t *at = bytes->vec.items + bytes->vec.count;
    bytes->vec.count += size;
    return at;
}

uint8_t *column_zeros(struct column_bytes *bytes, size_t size)
{
    uint8_t *at = column_room(bytes, size);
    return at ? memset(at, 0, size) : NULL;
}

void column_put(struct column_bytes *bytes, const void *data, size_t size)
{
    uint8_t *at = column_room(bytes, size);
    if (at && size > 0)
        memcpy(at, data, size);
}

void column_put_size(struct column_bytes *bytes, size_t size)
{
    uint8_t text[4];
    for (unsigned i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(size >> 8 * i);
    column_put(bytes, text, sizeof(text));
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static int add_column(struct columns *columns, uint32_t index)
{
    const struct rows_column *like = &columns->rows.columns[index];
    struct column *column = &columns->items[index];
    bool text = like->type == ROWS_TEXT || like->type == ROWS_BYTES || like->type == ROWS_PATH;
    column->name = like->schema->name;
    column->type = text ? COLUMN_TEXT : like->type == ROWS_NUMBER ? COLUMN_REAL : COLUMN_INTEGER;
    column->dictionary = like->type == ROWS_TEXT || like->type == ROWS_PATH;
    column->in_order = like->type == ROWS_TIME;
    column->paths = like->type == ROWS_PATH ? &columns->paths : NULL;
    column->present = malloc(COLUMNS_ROWS_MAX * sizeof(*column->present));
    if (column->dictionary)
        column->indices = malloc(COLUMNS_ROWS_MAX * sizeof(*column->indices));
    else if (!text)
        column->values = malloc(COLUMNS_ROWS_MAX * sizeof(*column->values));
    return column->present && (column->indices || column->values || like->type == ROWS_BYTES)
               ? 0
               : -ENOMEM;
}

int columns_init(struct columns *columns, const struct export_job *job, bool spelled)
{
    columns->spelled = spelled;
    int error = rows_init(&columns->rows, job);
    if (!error)
        error = column_paths_init(&columns->paths, job->source->trace);
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = add_column(columns, i);
    if (columns->rows.table == ROWS_RANGES && !error) {
        columns->keys = malloc(COLUMNS_ROWS_MAX * sizeof(*columns->keys));
        error = columns->keys ? 0 : -ENOMEM;
    }
    return error;
}

void columns_fini(struct columns *columns)
{
    for (uint32_t i = 0; i < ROWS_COLUMNS_MAX; i++) {
        free(columns->items[i].present);
        free(columns->items[i].values);
        free(columns->items[i].indices);
        vec_free(&columns->items[i].bytes.vec);
        map64_free(&columns->words[i].by_key);
    }
    free(columns->keys);
    column_paths_fini(&columns->paths);
    rows_fini(&columns->rows);
}

void columns_forget(struct columns *columns)
{
    for (uint32_t i = 0; i < columns->rows.count; i++) {
        columns->items[i].count = columns->items[i].word_count = 0;
        columns->items[i].bytes.vec.count = 0;
        map64_free(&columns->words[i].by_key);
        memset(columns->words[i].last, 0, sizeof(columns->words[i].last));
    }
    for (size_t i = 0; i < columns->rows.paths.links.count; i++)
        columns->rows.paths.links.items[i].number = 0;
    column_paths_forget(&columns->paths);
    columns->row_count = 0;
    columns->text_bytes = 0;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static int put_text(struct columns *columns, struct column *column, const char *text, size_t length)
{
    if (!text || length > INT32_MAX - columns->text_bytes)
        return -ENOMEM;
    column_put_size(&column->bytes, length);
    column_put(&column->bytes, text, length);
    columns->text_bytes += length + sizeof(uint32_t);
    return column->bytes.failed ? -ENOMEM : 0;
}

static int find_word(struct columns *columns, uint32_t index, uint64_t key,
                     struct column_word *ret_word)
{
    struct column_words *words = &columns->words[index];
    struct column *column = &columns->items[index];
    const uint64_t *known = map64_find(&words->by_key, key);
    size_t length;
    if (known) {
        *ret_word = (struct column_word){key, (uint32_t)*known - 1, (uint32_t)(*known >> 32)};
        return 0;
    }
    const char *text = rows_text(&columns->rows, key, &length);
    if (put_text(columns, column, text, length) != 0)
        return -ENOMEM;
    *ret_word = (struct column_word){key, column->word_count++, (uint32_t)length};
    return map64_put(&words->by_key, key, (uint64_t)length << 32 | (ret_word->index + 1));
}

static int put_word(struct columns *columns, uint32_t index, uint64_t key)
{
    struct column *column = &columns->items[index];
    struct column_word *last = &columns->words[index].last[(key ^ key >> 30) % COLUMN_LAST_WORDS];
    if (last->key != key && find_word(columns, index, key, last) != 0)
        return -ENOMEM;
    column->indices[column->count++] = last->index;
    columns->text_bytes += columns->spelled ? last->length : 0;
    return columns->text_bytes > INT32_MAX ? -ENOMEM : 0;
}

static int put_path(struct columns *columns, struct column *column)
{
    struct column_paths *paths = column->paths;
    size_t bytes = columns->spelled ? paths->all_bytes : paths->word_bytes;
    int error = column_paths_take(paths, &columns->rows.paths, &column->indices[column->count++]);
    column->word_count = (uint32_t)paths->words.count;
    columns->text_bytes += (columns->spelled ? paths->all_bytes : paths->word_bytes) - bytes;
    return columns->text_bytes > INT32_MAX ? -ENOMEM : error;
}

static int put_text_cell(struct columns *columns, uint32_t index)
{
    const struct rows_cell *cell = &columns->rows.cells[index];
    struct column *column = &columns->items[index];
    if (column->paths)
        return put_path(columns, column);
    if (column->dictionary)
        return put_word(columns, index, cell->key);
    column->count++;
    return put_text(columns, column, columns->rows.bytes, cell->length);
}

static int64_t bits_of_number(const struct rows_cell *cell)
{
    double real = cell->kind == CELL_REAL ? cell->real : (double)cell->integer;
    int64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static int put_cells(struct columns *columns)
{
    int error = 0;
    uint32_t row = columns->row_count;
    for (uint32_t i = 0; i < columns->rows.count && !error; i++) {
        const struct rows_cell *cell = &columns->rows.cells[i];
        struct column *column = &columns->items[i];
        column->present[row] = cell->kind != CELL_NONE;
        if (cell->kind == CELL_NONE)
            continue;
        if (column->type == COLUMN_INTEGER)
            column->values[column->count++] = cell->integer;
        else if (column->type == COLUMN_TEXT)
            error = put_text_cell(columns, i);
        else
            column->values[column->count++] = bits_of_number(cell);
    }
    return error;
}

static struct row_key key_of(const struct item *item, uint32_t row)
{
    const struct event *event = item->event;
    bool own = item->lane == LANE_THREAD || item->lane == LANE_PROCESS;
    return (struct row_key){(uint64_t)item->lane << 32 | (own ? event->thread : event->lane),
                            event->time_ns, row};
}

int columns_take(struct columns *columns, const struct item *item)
{
    int status = rows_take(&columns->rows, item);
    if (status <= 0)
        return status;
    int error = put_cells(columns);
    if (columns->keys)
        columns->keys[columns->row_count] = key_of(item, columns->row_count);
    columns->row_count++;
    if (error)
        return error;
    return columns->row_count == COLUMNS_ROWS_MAX || columns->text_bytes > TEXTS_MAX;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* Ranges come in order of their ends. Sorted by starts, the times of a lane only grow, which halves
 * the bytes. */

static bool is_before(const struct row_key *a, const struct row_key *b)
{
    if (a->lane != b->lane)
        return a->lane < b->lane;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns;
    return a->row > b->row; /* the outer one after its children */
}

/* Number of leading keys before `key`, of which the first is: found in growing steps. */
static uint32_t count_before(const struct row_key *keys, uint32_t count, const struct row_key *key)
{
    uint32_t low = 0, high = 1;
    while (high < count && is_before(&keys[high], key)) {
        low = high;
        high = high < count / 2 ? high * 2 : count;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (is_before(&keys[middle], key))
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct keys {
    const struct row_key *at;
    uint32_t left;
};

/* Moves all keys before `other` from one side, in one piece; the first is the least. */
static struct row_key *take_run(struct keys *from, const struct row_key *other, struct row_key *out)
{
    uint32_t count = count_before(from->at, from->left, other);
    memcpy(out, from->at, count * sizeof(*out));
    from->at += count;
    from->left -= count;
    return out + count;
}

/* Rows of a lane come in pieces, so the runs of one side are long or short: short ones are faster
 * moved one by one. */
static void merge(struct keys left, struct keys right, struct row_key *out)
{
    enum { LONG = 8 };

    unsigned streak = 0;
    bool last = false;
    while (left.left > 0 && right.left > 0) {
        bool second = is_before(right.at, left.at);
        streak = second == last ? streak + 1 : 0;
        last = second;
        if (streak == LONG) {
            out = second ? take_run(&right, left.at, out) : take_run(&left, right.at, out);
            streak = 0;
            continue;
        }
        *out++ = second ? *right.at : *left.at;
        right.at += second;
        right.left -= second;
        left.at += !second;
        left.left -= !second;
    }
    memcpy(out, left.at, left.left * sizeof(*out));
    memcpy(out + left.left, right.at, right.left * sizeof(*out));
}

static void sort_run(struct row_key *keys, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct row_key key = keys[i];
        uint32_t at = i;
        for (; at > 0 && is_before(&key, &keys[at - 1]); at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* A merge sort: half the time of qsort(), and a large part of the total work. */
static int sort_keys(struct row_key *keys, uint32_t rows)
{
    enum { RUN = 16 };

    struct row_key *other = malloc((rows + 1ul) * sizeof(*other));
    struct row_key *from = keys, *to = other;
    if (!other)
        return -ENOMEM;
    for (uint32_t i = 0; i < rows; i += RUN)
        sort_run(keys + i, rows - i < RUN ? rows - i : RUN);
    for (uint32_t width = RUN; width < rows; width *= 2) {
        for (uint32_t i = 0; i < rows; i += 2 * width) {
            uint32_t left = rows - i < width ? rows - i : width;
            uint32_t right = rows - i - left < width ? rows - i - left : width;
            merge((struct keys){from + i, left}, (struct keys){from + i + left, right}, to + i);
        }
        struct row_key *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, rows * sizeof(*keys));
    free(other);
    return 0;
}

static void reorder_longs(int64_t *values, const uint32_t *places, uint32_t count, void *scratch)
{
    int64_t *moved = scratch;
    for (uint32_t i = 0; i < count; i++)
        moved[i] = values[places[i]];
    memcpy(values, moved, count * sizeof(*moved));
}

static void reorder_words(uint32_t *values, const uint32_t *places, uint32_t count, void *scratch)
{
    uint32_t *moved = scratch;
    for (uint32_t i = 0; i < count; i++)
        moved[i] = values[places[i]];
    memcpy(values, moved, count * sizeof(*moved));
}

/* Texts are preceded by their lengths. */
static int reorder_bytes(struct column_bytes *bytes, const uint32_t *places, uint32_t count,
                         uint64_t *begins)
{
    struct column_bytes moved = {0};
    uint64_t at = 0;
    uint8_t *put = column_room(&moved, bytes->vec.count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        memcpy(&size, bytes->vec.items + at, sizeof(size));
        begins[i] = at;
        at += sizeof(size) + size;
    }
    for (uint32_t i = 0; i < count && put; i++) {
        uint32_t size;
        memcpy(&size, bytes->vec.items + begins[places[i]], sizeof(size));
        put = mempcpy(put, bytes->vec.items + begins[places[i]], sizeof(size) + size);
    }
    vec_free(&bytes->vec);
    *bytes = moved;
    return moved.failed ? -ENOMEM : 0;
}

/* Indices of the rows' values: the number of present rows before each. */
static uint32_t find_places(const struct column *column, const uint32_t *order, uint32_t rows,
                            uint32_t *ranks, uint32_t *places)
{
    uint32_t rank = 0, count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        ranks[i] = rank;
        rank += column->present[i];
    }
    for (uint32_t i = 0; i < rows; i++)
        if (column->present[order[i]])
            places[count++] = ranks[order[i]];
    return count;
}

/* True if all rows have the same value. */
static bool is_one(const struct column *column, uint32_t rows)
{
    if (column->count == 0)
        return true;
    if (column->count < rows || (column->type == COLUMN_TEXT && !column->dictionary))
        return false;
    if (column->dictionary)
        return column->word_count == 1;
    return memcmp(column->values, column->values + 1, (rows - 1ul) * sizeof(*column->values)) == 0;
}

/* `order`: the rows; `places` and `scratch` have the same length. */
static int reorder_column(struct column *column, const uint32_t *order, uint32_t rows,
                          uint32_t *places, void *scratch)
{
    if (is_one(column, rows))
        return 0;
    bool whole = column->count == rows;
    uint32_t count = whole ? rows : find_places(column, order, rows, scratch, places);
    const uint32_t *from = whole ? order : places;
    if (column->dictionary)
        reorder_words(column->indices, from, count, scratch);
    else if (column->type != COLUMN_TEXT)
        reorder_longs(column->values, from, count, scratch);
    else if (reorder_bytes(&column->bytes, from, count, scratch) != 0)
        return -ENOMEM;
    if (!whole)
        reorder_words(column->present, order, rows, scratch);
    return 0;
}

int columns_sort(struct columns *columns)
{
    uint32_t rows = columns->row_count;
    if (!columns->keys)
        return 0;
    uint32_t *order = malloc(2 * (rows + 1ul) * sizeof(*order));
    uint64_t *scratch = malloc((rows + 1ul) * sizeof(*scratch));
    int error = order && scratch ? sort_keys(columns->keys, rows) : -ENOMEM;
    for (uint32_t i = 0; i < rows && !error; i++)
        order[i] = columns->keys[i].row;
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = reorder_column(&columns->items[i], order, rows, order + rows, scratch);
    free(order);
    free(scratch);
    return error;
}
