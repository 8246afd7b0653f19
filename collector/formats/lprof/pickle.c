/* SPDX-License-Identifier: MIT */
/* A pickle is a program for a stack machine. This runs the operations of protocols 1 to 5 that
 * build plain data; a class remains a name. Values are numbered from 1; 0 on the stack is a mark.
 * Containers are linked lists, as a value may be in several. */
#include "pickle.h"
#include "lprof.h"

#include "vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MARK = 0, DIGITS_MAX = 20, PROTOCOL_MAX = 5 };

/* Operations, with the names of Python's pickletools. */
enum {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_NONE = 'N',
    OP_INT = 'I',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_LONG1 = 0x8a,
    OP_BINFLOAT = 'G',
    OP_SHORT_BINSTRING = 'U',
    OP_BINSTRING = 'T',
    OP_BINUNICODE = 'X',
    OP_SHORT_BINUNICODE = 0x8c,
    OP_EMPTY_TUPLE = ')',
    OP_TUPLE = 't',
    OP_TUPLE1 = 0x85,
    OP_TUPLE3 = 0x87,
    OP_EMPTY_LIST = ']',
    OP_APPEND = 'a',
    OP_APPENDS = 'e',
    OP_EMPTY_DICT = '}',
    OP_SETITEM = 's',
    OP_SETITEMS = 'u',
    OP_GLOBAL = 'c',
    OP_STACK_GLOBAL = 0x93,
    OP_NEWOBJ = 0x81,
    OP_BUILD = 'b',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_MEMOIZE = 0x94,
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_PROTO = 0x80,
    OP_FRAME = 0x95,
};

struct link {
    uint32_t value, next;
};

struct pickle {
    const uint8_t *bytes;
    size_t size, at;
    const char *fault;
    VEC(struct pickle_value) values;
    VEC(struct link) links;
    VEC(uint32_t) stack;
    VEC(uint32_t) memo; /* MARK: unset */
    uint32_t root;
};

static int fail(struct pickle *pickle, const char *what)
{
    pickle->fault = what;
    return -EBADMSG;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* NULL if fewer bytes remain. */
static const uint8_t *take(struct pickle *pickle, uint64_t count)
{
    const uint8_t *at = pickle->bytes + pickle->at;
    if (count > pickle->size - pickle->at) {
        (void)fail(pickle, "it is cut short");
        return NULL;
    }
    pickle->at += (size_t)count;
    return at;
}

/* False if fewer bytes remain. */
static bool take_number(struct pickle *pickle, unsigned size, uint64_t *ret_number)
{
    const uint8_t *bytes = take(pickle, size);
    uint64_t number = 0;
    for (unsigned i = 0; bytes && i < size; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    *ret_number = number;
    return bytes != NULL;
}

/* A line without its line feed, or NULL if it has no end. */
static const char *take_line(struct pickle *pickle, uint32_t *ret_length)
{
    const char *line = (const char *)pickle->bytes + pickle->at;
    const char *end = memchr(line, '\n', pickle->size - pickle->at);
    if (!end) {
        (void)fail(pickle, "it is cut short");
        return NULL;
    }
    *ret_length = (uint32_t)(end - line);
    pickle->at += *ret_length + 1;
    return line;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Returns the new value's number, or -ENOMEM. */
static int64_t add(struct pickle *pickle, const struct pickle_value *value)
{
    int error = vec_push(&pickle->values, *value);
    return error ? error : (int64_t)pickle->values.count - 1;
}

static int push(struct pickle *pickle, int64_t value)
{
    return value < 0 ? (int)value : vec_push(&pickle->stack, (uint32_t)value);
}

static int push_new(struct pickle *pickle, const struct pickle_value *value)
{
    return push(pickle, add(pickle, value));
}

static int push_integer(struct pickle *pickle, int64_t integer)
{
    return push_new(pickle, &(struct pickle_value){.kind = PICKLE_INTEGER, .integer = integer});
}

/* With `text` NULL the fault is already recorded. */
static int push_text(struct pickle *pickle, const void *text, uint64_t length)
{
    if (!text)
        return -EBADMSG;
    return push_new(pickle, &(struct pickle_value){
                                .kind = PICKLE_TEXT, .count = (uint32_t)length, .text = text});
}

/* Returns MARK if the stack is empty. */
static uint32_t pop(struct pickle *pickle)
{
    return pickle->stack.count ? pickle->stack.items[--pickle->stack.count] : (uint32_t)MARK;
}

/* Returns the top of the stack, or NULL and a fault if it is of another kind. */
static struct pickle_value *top(struct pickle *pickle, enum pickle_kind kind)
{
    size_t count = pickle->stack.count;
    uint32_t number = count ? pickle->stack.items[count - 1] : (uint32_t)MARK;
    if (number != MARK && pickle->values.items[number].kind == kind)
        return &pickle->values.items[number];
    (void)fail(pickle, "an operation finds nothing to work on");
    return NULL;
}

static int hold(struct pickle *pickle, struct pickle_value *container, uint32_t value)
{
    uint32_t number = (uint32_t)pickle->links.count;
    if (value == MARK)
        return fail(pickle, "an operation finds nothing to work on");
    if (vec_push(&pickle->links, ((struct link){.value = value})) != 0)
        return -ENOMEM;
    if (container->last)
        pickle->links.items[container->last].next = number;
    else
        container->first = number;
    container->last = number;
    container->count++;
    return 0;
}

/* Adds the last `count` values of the stack to the container. */
static int hold_last(struct pickle *pickle, struct pickle_value *container, size_t count)
{
    int error = 0;
    for (size_t i = pickle->stack.count - count; i < pickle->stack.count && error == 0; i++)
        error = hold(pickle, container, pickle->stack.items[i]);
    return error;
}

/* Returns the number of values above the last mark, or -EBADMSG. */
static int64_t count_marked(struct pickle *pickle)
{
    size_t at = pickle->stack.count;
    while (at > 0 && pickle->stack.items[at - 1] != MARK)
        at--;
    return at > 0 ? (int64_t)(pickle->stack.count - at) : fail(pickle, "a mark is missing");
}

/* ---- Numbers and texts ----------------------------------------------------------------------- */

static int read_line_integer(struct pickle *pickle)
{
    uint32_t length;
    char digits[DIGITS_MAX + 1], *end;
    const char *line = take_line(pickle, &length);
    if (!line)
        return -EBADMSG;
    if (length == 0 || length > DIGITS_MAX)
        return fail(pickle, "a number is out of range");
    memcpy(digits, line, length);
    digits[length] = '\0';
    errno = 0;
    int64_t number = strtoll(digits, &end, 10);
    return *end || errno ? fail(pickle, "a number is out of range") : push_integer(pickle, number);
}

/* Two's complement, least significant byte first. */
static int read_long(struct pickle *pickle)
{
    uint64_t size, number = 0;
    if (!take_number(pickle, 1, &size))
        return -EBADMSG;
    const uint8_t *bytes = take(pickle, size);
    if (!bytes)
        return -EBADMSG;
    bool is_negative = size > 0 && bytes[size - 1] & 0x80;
    if (is_negative || size > 9 || (size == 9 && (bytes[8] || bytes[7] & 0x80)))
        return fail(pickle, "a number is out of range");
    for (uint64_t i = 0; i < size && i < 8; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return push_integer(pickle, (int64_t)number);
}

static int read_double(struct pickle *pickle)
{
    uint64_t bits;
    struct pickle_value value = {.kind = PICKLE_DOUBLE};
    if (!take_number(pickle, 8, &bits))
        return -EBADMSG;
    bits = __builtin_bswap64(bits);
    memcpy(&value.number, &bits, sizeof(bits));
    return push_new(pickle, &value);
}

static int read_integer(struct pickle *pickle, unsigned size)
{
    uint64_t number;
    if (!take_number(pickle, size, &number))
        return -EBADMSG;
    return push_integer(pickle, size == 4 ? (int32_t)number : (int64_t)number);
}

static int read_text(struct pickle *pickle, unsigned size)
{
    uint64_t length;
    if (!take_number(pickle, size, &length))
        return -EBADMSG;
    return push_text(pickle, take(pickle, length), length);
}

/* Returns 1 for any other operation. */
static int run_plain(struct pickle *pickle, unsigned op)
{
    switch (op) {
    case OP_NONE:
        return push_new(pickle, &(struct pickle_value){.kind = PICKLE_NONE});
    case OP_INT:
        return read_line_integer(pickle);
    case OP_BININT:
        return read_integer(pickle, 4);
    case OP_BININT1:
        return read_integer(pickle, 1);
    case OP_BININT2:
        return read_integer(pickle, 2);
    case OP_LONG1:
        return read_long(pickle);
    case OP_BINFLOAT:
        return read_double(pickle);
    case OP_SHORT_BINSTRING:
    case OP_SHORT_BINUNICODE:
        return read_text(pickle, 1);
    case OP_BINSTRING:
    case OP_BINUNICODE:
        return read_text(pickle, 4);
    default:
        return 1;
    }
}

/* ---- Containers ------------------------------------------------------------------------------ */

static int make_tuple(struct pickle *pickle, int64_t count, bool is_marked)
{
    struct pickle_value tuple = {.kind = PICKLE_TUPLE};
    if (count < 0)
        return (int)count;
    if ((uint64_t)count > pickle->stack.count)
        return fail(pickle, "an operation finds nothing to work on");
    int error = hold_last(pickle, &tuple, (size_t)count);
    if (error)
        return error;
    pickle->stack.count -= (size_t)count + is_marked;
    return push_new(pickle, &tuple);
}

/* Pops `count` values, and the mark, and adds them to the list or dict below. */
static int extend(struct pickle *pickle, enum pickle_kind kind, int64_t count, bool is_marked)
{
    size_t taken = (size_t)(count < 0 ? 0 : count) + is_marked;
    if (count < 0)
        return (int)count;
    if (taken > pickle->stack.count || (kind == PICKLE_DICT && count % 2 != 0))
        return fail(pickle, "an operation finds nothing to work on");
    size_t before = pickle->stack.count;
    pickle->stack.count -= taken;
    struct pickle_value *container = top(pickle, kind);
    pickle->stack.count = before;
    int error = container ? hold_last(pickle, container, (size_t)count) : -EBADMSG;
    pickle->stack.count -= taken;
    return error;
}

/* Returns 1 for any other operation. */
static int run_container(struct pickle *pickle, unsigned op)
{
    switch (op) {
    case OP_MARK:
        return push(pickle, MARK);
    case OP_EMPTY_TUPLE:
        return make_tuple(pickle, 0, false);
    case OP_TUPLE1:
    case OP_TUPLE1 + 1:
    case OP_TUPLE3:
        return make_tuple(pickle, op - OP_TUPLE1 + 1, false);
    case OP_TUPLE:
        return make_tuple(pickle, count_marked(pickle), true);
    case OP_EMPTY_LIST:
        return push_new(pickle, &(struct pickle_value){.kind = PICKLE_LIST});
    case OP_APPEND:
        return extend(pickle, PICKLE_LIST, 1, false);
    case OP_APPENDS:
        return extend(pickle, PICKLE_LIST, count_marked(pickle), true);
    case OP_EMPTY_DICT:
        return push_new(pickle, &(struct pickle_value){.kind = PICKLE_DICT});
    case OP_SETITEM:
        return extend(pickle, PICKLE_DICT, 2, false);
    case OP_SETITEMS:
        return extend(pickle, PICKLE_DICT, count_marked(pickle), true);
    default:
        return 1;
    }
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* Makes a class from the module and name on the stack. */
static int make_class(struct pickle *pickle)
{
    struct pickle_value made = {.kind = PICKLE_CLASS};
    uint32_t name = top(pickle, PICKLE_TEXT) ? pop(pickle) : (uint32_t)MARK;
    uint32_t module = top(pickle, PICKLE_TEXT) ? pop(pickle) : (uint32_t)MARK;
    int error = hold(pickle, &made, module);
    if (error == 0)
        error = hold(pickle, &made, name);
    return error ? error : push_new(pickle, &made);
}

static int read_class(struct pickle *pickle)
{
    int error = 0;
    for (int i = 0; i < 2 && error == 0; i++) {
        uint32_t length = 0;
        const char *line = take_line(pickle, &length);
        error = push_text(pickle, line, length);
    }
    return error ? error : make_class(pickle);
}

static int make_object(struct pickle *pickle)
{
    struct pickle_value made = {.kind = PICKLE_OBJECT};
    const struct pickle_value *arguments = top(pickle, PICKLE_TUPLE);
    if (!arguments || arguments->count > 0)
        return fail(pickle, "an object is made of arguments");
    (void)pop(pickle);
    uint32_t class = top(pickle, PICKLE_CLASS) ? pop(pickle) : (uint32_t)MARK;
    int error = hold(pickle, &made, class);
    return error ? error : push_new(pickle, &made);
}

static int give_state(struct pickle *pickle)
{
    uint32_t state = pop(pickle);
    struct pickle_value *object = top(pickle, PICKLE_OBJECT);
    if (!object)
        return -EBADMSG;
    return object->count > 1 ? fail(pickle, "an object has two states")
                             : hold(pickle, object, state);
}

/* Returns 1 for any other operation. */
static int run_object(struct pickle *pickle, unsigned op)
{
    switch (op) {
    case OP_GLOBAL:
        return read_class(pickle);
    case OP_STACK_GLOBAL:
        return make_class(pickle);
    case OP_NEWOBJ:
        return make_object(pickle);
    case OP_BUILD:
        return give_state(pickle);
    default:
        return 1;
    }
}

/* ---- The memo -------------------------------------------------------------------------------- */

/* Numbers increase by one from 0 or 1, so a valid one is at most the size of the pickle. */
static int keep(struct pickle *pickle, uint64_t number)
{
    size_t count = pickle->stack.count;
    uint32_t value = count ? pickle->stack.items[count - 1] : (uint32_t)MARK;
    if (value == MARK || number > pickle->size)
        return fail(pickle, "an operation finds nothing to work on");
    while (pickle->memo.count <= number)
        if (vec_push(&pickle->memo, (uint32_t)MARK) != 0)
            return -ENOMEM;
    pickle->memo.items[number] = value;
    return 0;
}

static int recall(struct pickle *pickle, uint64_t number)
{
    if (number >= pickle->memo.count || pickle->memo.items[number] == MARK)
        return fail(pickle, "it names what is not there");
    return push(pickle, pickle->memo.items[number]);
}

/* Returns 1 for any other operation. */
static int run_memo(struct pickle *pickle, unsigned op)
{
    uint64_t number;
    unsigned size = op == OP_LONG_BINPUT || op == OP_LONG_BINGET ? 4 : 1;
    switch (op) {
    case OP_MEMOIZE:
        return keep(pickle, pickle->memo.count);
    case OP_BINPUT:
    case OP_LONG_BINPUT:
        return take_number(pickle, size, &number) ? keep(pickle, number) : -EBADMSG;
    case OP_BINGET:
    case OP_LONG_BINGET:
        return take_number(pickle, size, &number) ? recall(pickle, number) : -EBADMSG;
    case OP_FRAME: /* its length is redundant */
        return take(pickle, 8) ? 0 : -EBADMSG;
    default:
        return 1;
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int run(struct pickle *pickle)
{
    static int (*const runs[])(struct pickle *, unsigned) = {run_plain, run_container, run_object,
                                                             run_memo};
    int error = 0;
    while (error == 0) {
        const uint8_t *op = take(pickle, 1);
        if (!op)
            return -EBADMSG;
        if (*op == OP_STOP)
            break;
        error = 1;
        for (size_t i = 0; error == 1 && i < sizeof(runs) / sizeof(*runs); i++)
            error = runs[i](pickle, *op);
        if (error == 1)
            error = fail(pickle, "it holds more than plain data");
    }
    pickle->root = error ? (uint32_t)MARK : pop(pickle);
    return error || pickle->root != MARK ? error : fail(pickle, "there is nothing in it");
}

static int begin(struct pickle *pickle)
{
    const uint8_t *head = take(pickle, 2);
    if (!head || head[0] != OP_PROTO || head[1] > PROTOCOL_MAX)
        return fail(pickle, "it is no pickle");
    /* Number 0 is not a value or link. */
    return vec_push(&pickle->values, (struct pickle_value){0}) ||
                   vec_push(&pickle->links, (struct link){0})
               ? -ENOMEM
               : 0;
}

int pickle_read(const void *bytes, size_t size, struct lprof_fault *ret_fault,
                struct pickle **ret_pickle)
{
    struct pickle *pickle = calloc(1, sizeof(*pickle));
    if (!pickle)
        return -ENOMEM;
    pickle->bytes = bytes;
    pickle->size = size;
    int error = size > LPROF_SIZE_MAX ? fail(pickle, "it is larger than 16 MiB") : begin(pickle);
    if (error == 0)
        error = run(pickle);
    vec_free(&pickle->stack);
    vec_free(&pickle->memo);
    *ret_fault = (struct lprof_fault){pickle->fault, pickle->at};
    if (error) {
        pickle_destroy(pickle);
        return error;
    }
    *ret_pickle = pickle;
    return 0;
}

void pickle_destroy(struct pickle *pickle)
{
    if (!pickle)
        return;
    vec_free(&pickle->values);
    vec_free(&pickle->links);
    vec_free(&pickle->stack);
    vec_free(&pickle->memo);
    free(pickle);
}

const struct pickle_value *pickle_root(const struct pickle *pickle)
{
    return &pickle->values.items[pickle->root];
}

const struct pickle_value *pickle_next(const struct pickle *pickle,
                                       const struct pickle_value *container, uint32_t *place)
{
    if (container->kind < PICKLE_TUPLE)
        return NULL;
    uint32_t link = *place ? pickle->links.items[*place].next : container->first;
    if (link == 0)
        return NULL;
    *place = link;
    return &pickle->values.items[pickle->links.items[link].value];
}
