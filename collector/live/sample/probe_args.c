/* SPDX-License-Identifier: MIT */
/* Arguments of functions and static probes: the requested ones, and their places when the program
 * reaches the probe.
 *
 * A number means the register of that argument in the calling convention; a name is looked up in
 * the debug information. Notes of static probes give the places of their arguments as operands of
 * the assembler. Thread-safety: one thread per object. */
#include "probe_args.h"

#include "bpf_probes.h"
#include "elf_symbols.h"
#include "hash.h"
#include "modules.h"
#include "probe.h"
#include "symbol_arguments.h"
#include "symbol_functions.h"
#include "text.h"
#include "trace.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Measured with calls of 5.5 us: the most that arguments add. */
enum { ARGS_NS = 100, TEXT_NS = 50 };

enum { REGISTERS = 16, VALUE_MAX_BYTES = 8 };

/* ---- Requests -------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    uint8_t type, size;
} types[] = {
    {"int", CODE_SIGNED, 4},     {"uint", CODE_UNSIGNED, 4}, {"long", CODE_SIGNED, 8},
    {"ulong", CODE_UNSIGNED, 8}, {"str", CODE_TEXT, 8},
};

/* Parses a word that ends at a comma or with the text. Its length; 0: invalid. */
static size_t parse_type(const char *text, struct arg_wish *wish)
{
    size_t length = strcspn(text, ",");
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strlen(types[i].word) == length && strncmp(text, types[i].word, length) == 0) {
            wish->type = types[i].type;
            wish->size = types[i].size;
            return length;
        }
    return 0;
}

static bool is_name_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns its length; 0: invalid. */
static size_t parse_one(const char *text, struct arg_wish *wish)
{
    size_t length = 0;
    while (is_name_part(text[length]))
        length++;
    bool number = isdigit((unsigned char)text[0]);
    if (length == 0 || length >= sizeof(wish->name) || (number && (length > 1 || text[0] == '0')))
        return 0;
    *wish = (struct arg_wish){.number = number ? (uint8_t)(text[0] - '0') : 0};
    if (!number)
        memcpy(wish->name, text, length);
    if (text[length] != '=')
        return length;
    size_t type = parse_type(text + length + 1, wish);
    return type ? length + 1 + type : 0;
}

bool probe_args_parse(const char *text, unsigned number_max, struct arg_wishes *ret_wishes)
{
    *ret_wishes = (struct arg_wishes){.all = strcmp(text, "*") == 0};
    while (!ret_wishes->all) {
        if (ret_wishes->count == SAMPLER_ARGS_MAX)
            return false;
        struct arg_wish *wish = &ret_wishes->items[ret_wishes->count++];
        size_t length = parse_one(text, wish);
        text += length;
        if (length == 0 || wish->number > number_max)
            return false;
        if (*text == '\0')
            break;
        if (*text++ != ',')
            return false;
    }
    return true;
}

uint64_t probe_args_ns(const struct probe_args *args)
{
    uint64_t sum_ns = args->count ? ARGS_NS : 0;
    for (uint32_t i = 0; i < args->count; i++)
        if (args->items[i].type == CODE_TEXT || args->items[i].type == CODE_COUNTED_TEXT)
            sum_ns += TEXT_NS;
    return sum_ns;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Arguments at a range's end have other names than those at its start. */
static int add_key(struct trace *trace, const char *name, int number, uint32_t *ret_key)
{
    char text[16];
    snprintf(text, sizeof(text), number < 0 ? "end_arg%d" : "arg%d", abs(number));
    const char *key = name ? name : text;
    int64_t string = trace_string_add(trace, key, strlen(key));
    *ret_key = string > 0 ? (uint32_t)string : 0;
    return string < 0 ? (int)string : 0;
}

/* Sets the reason why it has no value. */
static int add_text(struct trace *trace, const char *text, struct probe_arg *told)
{
    int64_t string = trace_string_add(trace, text, strlen(text));
    told->text = string > 0 ? (uint32_t)string : 0;
    return string < 0 ? (int)string : 0;
}

static void push(struct arg_list *list, const struct sampler_arg *wanted,
                 const struct probe_arg *told)
{
    uint32_t at = list->wanted.count++;
    list->wanted.items[at] = *wanted;
    list->told.items[at] = *told;
    list->told.count = list->wanted.count;
    list->wanted.texts += wanted->text;
    list->values += told->text == 0;
}

int probe_args_keep(struct arg_lists *lists, const struct arg_list *list, bool ends,
                    struct sampler_bpf *program)
{
    static const struct probe_args none;
    if (lists->all.count == 0 && vec_push(&lists->all, none) != 0)
        return -ENOMEM;
    size_t number = lists->all.count;
    struct probe_args told = list->told;
    told.ends = ends;
    if (list->wanted.count == 0)
        return 0;
    if (number >= SAMPLER_ARG_LISTS_MAX)
        return -E2BIG;
    if (vec_push(&lists->all, told) != 0)
        return -ENOMEM;
    int error = bpf_program_probe_args(program, (uint32_t)number, &list->wanted);
    return error ? error : (int)number;
}

void arg_lists_fini(struct arg_lists *lists)
{
    vec_free(&lists->all);
    vec_free(&lists->choices);
}

/* ---- Functions ------------------------------------------------------------------------------- */

struct function_args {
    struct arg_lists *lists;
    struct trace *trace;
    const struct arg_wishes *wishes;
    struct arg_list *list;
    bool go;
    struct text names; /* of the function's arguments */
};

static const char *no_value(uint8_t where)
{
    switch (where) {
    case CODE_IN_VECTOR:
        return "(in a vector register)";
    case CODE_IN_PARTS:
        return "(in several parts)";
    case CODE_OPTIMISED_OUT:
        return "(optimised out)";
    case CODE_NOT_KNOWN:
        return "(its place is not known)";
    default:
        return NULL;
    }
}

static struct sampler_arg place_of(const struct code_argument *argument)
{
    bool counted = argument->type == CODE_COUNTED_TEXT;
    struct sampler_arg place = {.base = argument->reg,
                                .index = SAMPLER_ARG_NOTHING,
                                .length = SAMPLER_ARG_NOTHING,
                                .text = counted || argument->type == CODE_TEXT};
    if (counted) {
        place.base = argument->length_first ? argument->second : argument->reg;
        place.length = argument->length_first ? argument->reg : argument->second;
    } else if (argument->where == CODE_ON_STACK) {
        place.base = 4;
        place.size = argument->size;
        place.offset = argument->offset;
    } else if (argument->where == CODE_CONSTANT) {
        place.base = SAMPLER_ARG_NOTHING;
        place.offset = argument->offset;
    }
    return place;
}

/* Adds the names of an enumeration's values. */
static int add_choices(struct function_args *args, const struct code_argument *argument,
                       struct probe_arg *told)
{
    told->first_choice = (uint32_t)args->lists->choices.count;
    for (uint32_t i = 0; i < argument->choice_count; i++) {
        const char *name = argument->choices[i].name;
        int64_t string = trace_string_add(args->trace, name, strlen(name));
        const struct arg_choice choice = {argument->choices[i].value, (uint32_t)string};
        if (string < 0 || vec_push(&args->lists->choices, choice) != 0)
            return -ENOMEM;
        told->choice_count++;
    }
    return 0;
}

static int add_argument(struct function_args *args, struct code_argument *argument,
                        const struct arg_wish *wish)
{
    struct probe_arg told = {0};
    const char *missing = no_value(argument->where);
    if (wish && wish->type && argument->type != CODE_COUNTED_TEXT) {
        argument->type = wish->type;
        argument->size = wish->size;
        argument->choice_count = 0;
    }
    if (!missing && argument->type == CODE_OTHER_TYPE)
        missing = "(of a type that is not read)";
    struct sampler_arg place = place_of(argument);
    told.type = argument->type;
    told.size = argument->size;
    int error = add_key(args->trace, argument->name, 0, &told.key);
    if (error == 0 && missing) {
        place = (struct sampler_arg){.base = SAMPLER_ARG_NOTHING, .index = SAMPLER_ARG_NOTHING};
        error = add_text(args->trace, missing, &told);
        args->list->missing = missing;
    } else if (error == 0) {
        error = add_choices(args, argument, &told);
    }
    if (error == 0)
        push(args->list, &place, &told);
    return error;
}

static int take_argument(void *context, const struct code_argument *found)
{
    struct function_args *args = context;
    struct code_argument argument = *found;
    int error = 0;
    if (argument.name)
        text_format(&args->names, "%s%s", args->names.length ? ", " : "", argument.name);
    if (args->wishes->all && argument.name && args->list->wanted.count < SAMPLER_ARGS_MAX)
        return add_argument(args, &argument, NULL);
    for (uint32_t i = 0; i < args->wishes->count && error == 0; i++) {
        const struct arg_wish *wish = &args->wishes->items[i];
        if (wish->number || !argument.name || strcmp(wish->name, argument.name) != 0)
            continue;
        error = add_argument(args, &argument, wish);
        args->list->met |= 1u << i;
    }
    return error;
}

/* Places arguments by the calling convention: System V's, or Go's ABIInternal. */
static int add_numbered(struct function_args *args)
{
    /* rdi, rsi, rdx, rcx, r8, r9; rax, rbx, rcx, rdi, rsi, r8 */
    static const uint8_t registers[2][PROBE_ARGS_OF_FUNCTION] = {{7, 6, 2, 1, 8, 9},
                                                                 {0, 3, 1, 7, 6, 8}};
    int error = 0;
    for (uint32_t i = 0; i < args->wishes->count && error == 0; i++) {
        const struct arg_wish *wish = &args->wishes->items[i];
        struct probe_arg told = {.type = wish->type ? wish->type : CODE_SIGNED,
                                 .size = wish->type ? wish->size : 4};
        const struct sampler_arg place = {
            .base = registers[args->go][(wish->number + 5) % PROBE_ARGS_OF_FUNCTION],
            .index = SAMPLER_ARG_NOTHING,
            .length = SAMPLER_ARG_NOTHING,
            .text = told.type == CODE_TEXT};
        if (wish->number == 0)
            continue;
        error = add_key(args->trace, NULL, wish->number, &told.key);
        if (error == 0)
            push(args->list, &place, &told);
        args->list->met |= 1u << i;
    }
    return error;
}

static bool any_name(const struct arg_wishes *wishes)
{
    for (uint32_t i = 0; i < wishes->count; i++)
        if (wishes->items[i].number == 0)
            return true;
    return wishes->all;
}

static void explain(const struct function_args *args, const struct code_function *function,
                    int error, struct text *reason)
{
    for (uint32_t i = 0; i < args->wishes->count; i++) {
        const struct arg_wish *wish = &args->wishes->items[i];
        if (wish->number || args->list->met & 1u << i)
            continue;
        if (error == -ENOENT)
            text_format(reason, "no debug information tells where \"%s\" of %s is", wish->name,
                        function->name);
        else
            text_format(reason, "%s has no argument \"%s\": it has %s", function->name, wish->name,
                        args->names.length ? args->names.buffer : "none");
        return;
    }
    if (error == -ENOENT)
        text_format(reason, "no debug information tells of the arguments of %s", function->name);
    else if (args->list->missing)
        text_format(reason, "no argument of %s that is asked for can be read: %s", function->name,
                    args->list->missing);
    else
        text_format(reason, "%s has no arguments", function->name);
}

int probe_args_of_function(struct arg_lists *lists, struct trace *trace,
                           const struct arg_question *question, struct arg_list *ret_list,
                           struct text *reason)
{
    static char names[256];
    const struct code_function *function = question->function;
    const struct code_entry entry = {function->begin, function->exits.entry};
    struct function_args args = {.lists = lists,
                                 .trace = trace,
                                 .wishes = question->wishes,
                                 .list = ret_list,
                                 .go = question->go,
                                 .names = text_init(names, sizeof(names))};
    *ret_list = (struct arg_list){0};
    int error = add_numbered(&args);
    int found = error == 0 && any_name(question->wishes)
                    ? symbol_module_arguments(question->module, &entry, take_argument, &args)
                    : 0;
    if (error != 0 || (found != 0 && found != -ENOENT))
        return error ? error : found;
    if (ret_list->values == 0 || ret_list->wanted.count < question->wishes->count)
        explain(&args, function, found, reason);
    return 0;
}

/* ---- Static probes --------------------------------------------------------------------------- */

/* Names of arguments of some programs, which the notes lack. */
static const struct {
    const char *provider, *probe, *names[3];
    const char *texts; /* '1': it is a text */
} known_probes[] = {
    {"python", "function__entry", {"file", "function", "line"}, "110"},
    {"python", "function__return", {"file", "function", "line"}, "110"},
    {"python", "line", {"file", "function", "line"}, "110"},
    {"python", "gc__start", {"generation"}, "0"},
    {"python", "gc__done", {"collected"}, "0"},
    {"python", "import__find__load__start", {"module"}, "1"},
    {"python", "import__find__load__done", {"module", "found"}, "10"},
    {"python", "audit", {"event", "arguments"}, "10"},
};

static const char *const register_names[REGISTERS][4] = {
    {"rax", "eax", "ax", "al"},      {"rcx", "ecx", "cx", "cl"},
    {"rdx", "edx", "dx", "dl"},      {"rbx", "ebx", "bx", "bl"},
    {"rsp", "esp", "sp", "spl"},     {"rbp", "ebp", "bp", "bpl"},
    {"rsi", "esi", "si", "sil"},     {"rdi", "edi", "di", "dil"},
    {"r8", "r8d", "r8w", "r8b"},     {"r9", "r9d", "r9w", "r9b"},
    {"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
    {"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
    {"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"},
};

/* Parses "%rax", and moves past it. */
static bool take_register(const char **at, uint8_t *ret_register)
{
    const char *name = *at + (**at == '%');
    size_t length = 0;
    while (isalnum((unsigned char)name[length]))
        length++;
    for (uint8_t i = 0; **at == '%' && i < REGISTERS; i++)
        for (size_t width = 0; width < 4; width++)
            if (strlen(register_names[i][width]) == length &&
                strncmp(register_names[i][width], name, length) == 0) {
                *ret_register = i;
                *at = name + length;
                return true;
            }
    return false;
}

/* Parses "-16(%rbp,%rax,4)" */
static bool take_memory(const char **at, struct sampler_arg *place)
{
    static const char scales[] = "1248";
    char *end;
    place->offset = strtoll(*at, &end, 0);
    *at = end;
    if (*(*at)++ != '(' || !take_register(at, &place->base))
        return false;
    if (**at == ',') {
        (*at)++;
        if (!take_register(at, &place->index))
            return false;
    }
    if (**at == ',') {
        const char *scale = (*at)[1] ? strchr(scales, (*at)[1]) : NULL;
        if (!scale)
            return false;
        place->shift = (uint8_t)(scale - scales);
        *at += 2;
    }
    return *(*at)++ == ')';
}

/* Parses one of "-4@%edi 8@-16(%rbp) 8f@%xmm0 4@$7", and moves to the next. false: unsupported. */
static bool take_operand(const char **at, struct sampler_arg *place, struct probe_arg *told)
{
    char *end;
    const char *text = *at, *next = text + strcspn(text, " ");
    *at = next + strspn(next, " ");
    *place = (struct sampler_arg){
        .base = SAMPLER_ARG_NOTHING, .index = SAMPLER_ARG_NOTHING, .length = SAMPLER_ARG_NOTHING};
    long size = strtol(text, &end, 10);
    bool is_float = *end == 'f';
    text = end + is_float;
    if (size < -VALUE_MAX_BYTES || size > VALUE_MAX_BYTES || size == 0 || *text++ != '@')
        return false;
    told->type = is_float ? CODE_FLOAT : size < 0 ? CODE_SIGNED : CODE_UNSIGNED;
    told->size = (uint8_t)labs(size);
    if (*text == '$') {
        place->offset = strtoll(text + 1, &end, 0);
        return end == next && end > text + 1;
    }
    if (*text == '%')
        return !is_float && take_register(&text, &place->base) && text == next;
    place->size = told->size;
    return take_memory(&text, place) && text == next;
}

static void apply_known(const struct elf_probe *probe, unsigned number, const char **name,
                        struct probe_arg *told)
{
    *name = NULL;
    for (size_t i = 0; i < sizeof(known_probes) / sizeof(known_probes[0]); i++) {
        if (strcmp(known_probes[i].provider, probe->provider) != 0 ||
            strcmp(known_probes[i].probe, probe->name) != 0 ||
            number > strlen(known_probes[i].texts))
            continue;
        *name = known_probes[i].names[number - 1];
        if (known_probes[i].texts[number - 1] == '1')
            told->type = CODE_TEXT;
    }
}

static const struct arg_wish *wish_of(const struct arg_wishes *wishes, unsigned number,
                                      const char *name)
{
    for (uint32_t i = 0; i < wishes->count; i++)
        if (wishes->items[i].number == number || (name && strcmp(wishes->items[i].name, name) == 0))
            return &wishes->items[i];
    return NULL;
}

int probe_args_of_static(struct trace *trace, const struct arg_wishes *wishes,
                         const struct elf_probe *probe, bool ends, struct arg_list *ret_list)
{
    const char *at = probe->arguments;
    int error = 0;
    *ret_list = (struct arg_list){0};
    for (int number = 1; *at && error == 0 && ret_list->wanted.count < SAMPLER_ARGS_MAX; number++) {
        struct sampler_arg place;
        struct probe_arg told = {0};
        const char *name;
        bool understood = take_operand(&at, &place, &told);
        apply_known(probe, (unsigned)number, &name, &told);
        const struct arg_wish *wish = wish_of(wishes, (unsigned)number, name);
        if (wishes->count > 0 && !wish)
            continue;
        if (wish && wish->type) {
            told.type = wish->type;
            told.size = wish->size;
        }
        place.text = told.type == CODE_TEXT;
        error = add_key(trace, name, ends ? -number : number, &told.key);
        if (error == 0 && !understood) {
            place = (struct sampler_arg){.base = SAMPLER_ARG_NOTHING, .index = SAMPLER_ARG_NOTHING};
            error = add_text(trace, "(its place is not read)", &told);
        }
        if (error == 0)
            push(ret_list, &place, &told);
    }
    return error;
}

/* ---- Unfinished calls ------------------------------------------------------------------------ */

/* Keeps the arguments of unfinished calls. Texts of the program were read once, in the kernel; they
 * are foreign: their length is bounded, and so is the number of different ones in a recording. */

enum { ENTERED_MAX = 32768, TEXTS_MAX = 100000 };

struct call_id {
    uint64_t begin_ns;
    uint32_t function;
    int32_t pid, tid;
    uint32_t ends; /* 1: arguments of the end */
};

static struct call_id id_of(const struct sampler_head *head, uint32_t function, uint64_t begin_ns,
                            bool ends)
{
    return (struct call_id){begin_ns, function, head->pid, head->tid, ends};
}

static uint64_t key_of(const struct call_id *id)
{
    return hash_bytes(id, sizeof(*id)) | 1;
}

static const struct probe_args *list_of(const struct arg_lists *lists,
                                        const struct sampler_probed_args *record)
{
    return record->list < lists->all.count ? &lists->all.items[record->list] : NULL;
}

/* Records without texts are shorter. */
static void copy(struct sampler_probed_args *to, const struct sampler_probed_args *record)
{
    size_t size = record->head.size < sizeof(*to) ? record->head.size : sizeof(*to);
    memset(to, 0, sizeof(*to));
    memcpy(to, record, size);
}

int probe_args_take(struct entered_calls *entered, const struct arg_lists *lists,
                    const struct sampler_probed_args *record)
{
    static const struct sampler_probed_args empty;
    const struct probe_args *list = list_of(lists, record);
    uint32_t index = (uint32_t)entered->items.count;
    if (!list) {
        entered->lost++;
        return 0;
    }
    const struct call_id id =
        id_of(&record->head, record->function, record->head.time_ns, list->ends);
    if (entered->free.count > 0) {
        index = entered->free.items[--entered->free.count];
    } else if (index >= ENTERED_MAX) {
        entered->lost++;
        return 0;
    } else if (vec_push(&entered->items, empty) != 0 || vec_reserve(&entered->free, index + 1)) {
        return -ENOMEM;
    }
    copy(&entered->items.items[index], record);
    return map64_put(&entered->by_call, key_of(&id), index);
}

static int64_t add_unread(struct trace *trace)
{
    static const char unread[] = "(cannot be read)";
    return trace_string_add(trace, unread, sizeof(unread) - 1);
}

/* An unreadable text has no value. */
static int64_t keep_text(struct entered_calls *entered, const struct sampler_probed_args *record,
                         uint32_t index, struct trace *trace)
{
    static const char beyond[] = "(too many different texts)";
    int32_t bytes = record->got[index];
    uint32_t before = trace_string_count(trace);
    if (record->values[index] == 0 && bytes != SAMPLER_ARG_LOST)
        return trace_string_add(trace, "NULL", 4);
    if (bytes <= 0 || bytes > SAMPLER_ARG_TEXT_SIZE)
        return add_unread(trace);
    if (entered->texts >= TEXTS_MAX) {
        entered->cut++;
        return trace_string_add(trace, beyond, sizeof(beyond) - 1);
    }
    int64_t text = trace_string_add(trace, record->texts[index], (size_t)bytes - 1);
    entered->texts += trace_string_count(trace) - before;
    return text;
}

static int64_t as_signed(uint64_t value, unsigned size)
{
    unsigned unused = size > 0 && size < 8 ? 64 - 8 * size : 0;
    return (int64_t)(value << unused) >> unused;
}

static uint64_t as_unsigned(uint64_t value, unsigned size)
{
    return size > 0 && size < 8 ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
}

static double as_float(uint64_t value, unsigned size)
{
    float narrow;
    double wide;
    memcpy(&narrow, &value, sizeof(narrow));
    memcpy(&wide, &value, sizeof(wide));
    return size == sizeof(narrow) ? (double)narrow : wide;
}

/* The name of an enumeration's value, or 0. */
static uint32_t choice_of(const struct arg_lists *lists, const struct probe_arg *told,
                          uint64_t value)
{
    for (uint32_t i = 0; i < told->choice_count; i++) {
        const struct arg_choice *choice = &lists->choices.items[told->first_choice + i];
        if (as_unsigned((uint64_t)choice->value, told->size) == as_unsigned(value, told->size))
            return choice->name;
    }
    return 0;
}

static struct arg number_of(const struct arg_lists *lists, const struct probe_arg *told,
                            uint64_t value)
{
    uint32_t choice = choice_of(lists, told, value);
    struct arg arg = {.kind = VALUE_UINT64, .value = {.uint64 = as_unsigned(value, told->size)}};
    if (choice)
        arg = (struct arg){.kind = VALUE_STRING, .value = {.string = choice}};
    else if (told->type == CODE_SIGNED)
        arg = (struct arg){.kind = VALUE_INT64, .value = {.int64 = as_signed(value, told->size)}};
    else if (told->type == CODE_FLOAT)
        arg = (struct arg){.kind = VALUE_DOUBLE, .value = {.float64 = as_float(value, told->size)}};
    else if (told->type == CODE_BOOL)
        arg.kind = VALUE_BOOL;
    return arg;
}

static int make_args(struct entered_calls *entered, const struct arg_lists *lists,
                     const struct sampler_probed_args *record, struct trace *trace,
                     struct arg *args)
{
    const struct probe_args *list = list_of(lists, record);
    uint32_t count = list ? list->count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct probe_arg *told = &list->items[i];
        bool has_text = told->type == CODE_TEXT || told->type == CODE_COUNTED_TEXT;
        bool lost = record->got[i] < 0;
        int64_t text = told->text ? told->text
                       : has_text ? keep_text(entered, record, i, trace)
                       : lost     ? add_unread(trace)
                                  : 0;
        if (text < 0)
            return (int)text;
        args[i] = number_of(lists, told, record->values[i]);
        if (told->text || has_text || lost)
            args[i] = (struct arg){.kind = VALUE_STRING, .value = {.string = (uint32_t)text}};
        args[i].key = told->key;
    }
    return (int)count;
}

static bool is_of(const struct sampler_probed_args *record, const struct sampler_probed *call)
{
    return record->function == call->function && record->head.pid == call->head.pid &&
           record->head.tid == call->head.tid && record->head.time_ns == call->begin_ns;
}

/* NULL: unknown. Valid until the next take. */
static const struct sampler_probed_args *find_record(struct entered_calls *entered,
                                                     const struct sampler_probed *call, bool ends)
{
    const struct call_id id = id_of(&call->head, call->function, call->begin_ns, ends);
    uint64_t index;
    if (!map64_take(&entered->by_call, key_of(&id), &index))
        return NULL;
    const struct sampler_probed_args *record = &entered->items.items[index];
    entered->free.items[entered->free.count++] = (uint32_t)index;
    if (is_of(record, call))
        return record;
    entered->lost++;
    return NULL;
}

/* Drops arguments of the end that repeat those of the start. Returns the number left. */
static int without_known(const struct arg *known, int known_count, struct arg *args, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool is_known = false;
        for (int k = 0; k < known_count; k++)
            is_known |= known[k].key == args[i].key;
        if (!is_known)
            args[kept++] = args[i];
    }
    return kept;
}

int probe_args_end(struct entered_calls *entered, const struct arg_lists *lists,
                   const struct sampler_probed *call, struct trace *trace, struct arg *args)
{
    const struct sampler_probed_args *begin = find_record(entered, call, false);
    int begun = begin ? make_args(entered, lists, begin, trace, args) : 0;
    const struct sampler_probed_args *end = begun < 0 ? NULL : find_record(entered, call, true);
    int ended = end ? make_args(entered, lists, end, trace, args + begun) : 0;
    if (begun < 0 || ended < 0)
        return begun < 0 ? begun : ended;
    return begun + without_known(args, begun, args + begun, ended);
}

void entered_calls_fini(struct entered_calls *entered)
{
    map64_free(&entered->by_call);
    vec_free(&entered->items);
    vec_free(&entered->free);
}
