/* SPDX-License-Identifier: MIT */
/* Imports the text of `perf script`:
 *
 *     comm PID/TID [CPU] SECONDS:    PERIOD EVENT:
 *             ADDRESS function+0x1 (/path/of/module)        the innermost first
 *
 * with its default fields; PID, CPU and PERIOD are optional. A frame may follow the event on its
 * line. Clocks and cycles become CPU time; each other event becomes its own set of samples. */
#include "import_formats.h"
#include "input.h"
#include "json_reader.h"
#include "sink.h"

#include "number.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FRAMES_MAX = 1024, TOKENS_MAX = 64, EVENTS_MAX = 256, SNIFF_LINES = 50 };

#define RECORD_PREFIX "PERF_RECORD_"

#define SAMPLE_NS INT64_C(250000) /* the default of perf record is 4,000 a second */

struct piece {
    const char *at;
    size_t length;
};

/* An event type. */
struct measured {
    uint32_t name; /* string */
    uint16_t set;
    bool clock, cycles;
};

struct perf {
    struct import_sink *sink;
    VEC(struct measured) events;
    struct map64 frames; /* string, and whether the address is the kernel's, to ordinal */
    uint32_t stack[FRAMES_MAX], depth;
    bool inside; /* the sample is collecting frames */
    struct sample sample;
    int64_t value, unit_ns;
    uint64_t samples, odd, cut;
    uint64_t lost, throttled, others; /* lines of records other than samples */
    bool guessed;
};

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t';
}

/* Splits at blanks into at most TOKENS_MAX pieces. */
static size_t split(const char *line, size_t length, struct piece pieces[TOKENS_MAX])
{
    const char *at = line, *end = line + length;
    size_t count = 0;
    while (at < end && count < TOKENS_MAX) {
        while (at < end && is_blank(*at))
            at++;
        const char *begin = at;
        while (at < end && !is_blank(*at))
            at++;
        if (at > begin)
            pieces[count++] = (struct piece){begin, (size_t)(at - begin)};
    }
    return count;
}

static bool take_int(const char *at, size_t length, int64_t *ret_value)
{
    const struct json_token token = {JSON_NUMBER, false, at, length};
    return json_int(&token, ret_value) && *ret_value >= 0;
}

/* Parses "84930.178357:". */
static bool take_time(const struct piece *piece, int64_t *ret_ns)
{
    const struct json_token token = {JSON_NUMBER, false, piece->at, piece->length - 1};
    return piece->length > 2 && piece->at[piece->length - 1] == ':' &&
           memchr(piece->at, '.', piece->length) &&
           strspn(piece->at, "0123456789.") == piece->length - 1 &&
           json_time(&token, 1000000000, ret_ns);
}

/* Parses "12/34" or "34". */
static bool take_ids(const struct piece *piece, int64_t *ret_pid, int64_t *ret_tid)
{
    const char *slash = memchr(piece->at, '/', piece->length);
    size_t before = slash ? (size_t)(slash - piece->at) : 0;
    *ret_pid = -1;
    if (slash && !take_int(piece->at, before, ret_pid))
        return false;
    return slash ? take_int(slash + 1, piece->length - before - 1, ret_tid)
                 : take_int(piece->at, piece->length, ret_tid);
}

/* The first line of a sample. */
struct head {
    struct piece comm, event, rest;
    int64_t pid, tid, cpu, time_ns, period;
};

static bool take_head(const char *line, size_t length, struct head *head)
{
    struct piece pieces[TOKENS_MAX];
    size_t count = split(line, length, pieces), at = 2;
    *head = (struct head){.event = {"", 0}, .rest = {"", 0}, .cpu = -1, .period = -1};
    while (at < count && !take_time(&pieces[at], &head->time_ns))
        at++;
    if (at >= count)
        return false;
    size_t ids = at - 1;
    const struct piece *cpu = &pieces[ids];
    if (cpu->at[0] == '[' && take_int(cpu->at + 1, cpu->length - 2, &head->cpu))
        ids--;
    if (ids == 0 || !take_ids(&pieces[ids], &head->pid, &head->tid))
        return false;
    const char *last = pieces[ids - 1].at + pieces[ids - 1].length;
    head->comm = (struct piece){pieces[0].at, (size_t)(last - pieces[0].at)};
    if (++at < count && take_int(pieces[at].at, pieces[at].length, &head->period))
        at++;
    if (at < count) {
        head->event = pieces[at];
        const char *rest = pieces[at].at + pieces[at].length;
        head->rest = (struct piece){rest, (size_t)(line + length - rest)};
    }
    return true;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool begins_with(const struct piece *piece, const char *text)
{
    size_t length = strlen(text);
    return piece->length >= length && memcmp(piece->at, text, length) == 0;
}

/* The base name of a path. */
static struct piece base_of(const struct piece *path)
{
    const char *slash = memrchr(path->at, '/', path->length);
    const char *at = slash ? slash + 1 : path->at;
    return (struct piece){at, (size_t)(path->at + path->length - at)};
}

/* True in the upper half of the address space, except the vsyscall page. On 32-bit kernels kernel
 * and user addresses look alike; there the image decides. */
static bool is_kernel_address(const struct piece *address)
{
    return address->length == 16 && address->at[0] >= '8' && !begins_with(address, "ffffffffff60");
}

/* True for "[kernel.kallsyms]", "[guest.kernel.kallsyms]", "/boot/vmlinux-6.1",
 * "/lib/modules/.../ext4.ko.xz". */
static bool is_kernel_image(const struct piece *module, const struct piece *base)
{
    return begins_with(module, "[kernel.") || begins_with(module, "[guest.kernel.") ||
           begins_with(base, "vmlinu") || begins_with(base, "bzImage") ||
           (base->length == 5 && begins_with(base, "kcore")) ||
           memmem(base->at, base->length, ".ko", 3) == base->at + base->length - 3 ||
           memmem(base->at, base->length, ".ko.", 4) != NULL;
}

/* True for generated code: "/tmp/perf-7.map", "jitted-7-1.so", "[JIT] tid 7", "[JIT app cache]". */
static bool is_made_code(const struct piece *module, const struct piece *base)
{
    bool map = begins_with(base, "perf-") && memmem(base->at, base->length, ".map", 4) != NULL;
    return map || begins_with(base, "jitted-") || begins_with(module, "[JIT");
}

static uint8_t kind_of(const struct piece *module, bool kernel_address)
{
    const struct piece base = base_of(module);
    if (is_made_code(module, &base))
        return FRAME_JIT;
    return kernel_address || is_kernel_image(module, &base) ? FRAME_KERNEL : FRAME_NATIVE;
}

/* Parses "py::leaf:/srv/app.py", which CPython writes into perf maps. */
static bool take_python(struct import_sink *sink, const struct piece *symbol,
                        struct import_frame *frame)
{
    static const char prefix[] = "py::";
    size_t skip = sizeof(prefix) - 1;
    if (symbol->length <= skip || memcmp(symbol->at, prefix, skip) != 0)
        return false;
    const char *name = symbol->at + skip;
    const char *colon = memchr(name, ':', symbol->length - skip);
    size_t length = colon ? (size_t)(colon - name) : symbol->length - skip;
    frame->kind = FRAME_PYTHON;
    frame->function = import_string(sink, name, length);
    if (colon)
        frame->file = import_string(sink, colon + 1, symbol->length - skip - length - 1);
    return true;
}

static uint32_t make_frame(struct import_sink *sink, struct piece symbol, struct piece module,
                           bool kernel_address)
{
    struct import_frame frame = {.kind = kind_of(&module, kernel_address)};
    const char *plus = memrchr(symbol.at, '+', symbol.length);
    if (plus && plus > symbol.at && symbol.at + symbol.length - plus > 3 && plus[1] == '0' &&
        plus[2] == 'x')
        symbol.length = (size_t)(plus - symbol.at);
    if (take_python(sink, &symbol, &frame))
        return import_frame(sink, &frame);
    frame.function = import_string(sink, symbol.at, symbol.length);
    if (frame.kind == FRAME_NATIVE && module.length && module.at[0] == '/')
        frame.module = import_string(sink, module.at, module.length);
    return import_frame(sink, &frame);
}

/* Returns the bracket that matches the last one, as in "leaf (/tmp/busy (deleted))", or NULL. */
static const char *open_bracket(const char *at, const char *end)
{
    int depth = 0;
    while (end > at && (depth || end[-1] == ')')) {
        depth += *--end == ')' ? 1 : *end == '(' ? -1 : 0;
        if (!depth)
            return end;
    }
    return NULL;
}

/* Parses "    1165 leaf+0xc (/tmp/busy)". Returns false for any other form. */
static bool take_frame(struct perf *perf, const char *line, size_t length)
{
    const char *at = line, *end = line + length;
    while (at < end && is_blank(*at))
        at++;
    size_t digits = 0;
    while (at + digits < end && strchr("0123456789abcdef", at[digits]) && at[digits])
        digits++;
    if (!digits || at + digits >= end || !is_blank(at[digits]))
        return false;
    bool kernel = is_kernel_address(&(struct piece){at, digits});
    at += digits + 1;
    while (end > at && is_blank(end[-1]))
        end--;
    const char *open = open_bracket(at, end);
    struct piece symbol = {at, (size_t)((open ? open : end) - at)};
    struct piece module = {open ? open + 1 : end, open ? (size_t)(end - open - 2) : 0};
    while (symbol.length && is_blank(symbol.at[symbol.length - 1]))
        symbol.length--;
    uint32_t name = import_string(perf->sink, at, (size_t)(end - at));
    uint64_t key = 1 + ((uint64_t)name << 1 | kernel);
    const uint64_t *found = map64_find(&perf->frames, key);
    uint32_t frame = found ? (uint32_t)*found : make_frame(perf->sink, symbol, module, kernel);
    if (!found && map64_put(&perf->frames, key, frame) != 0)
        perf->sink->error = -ENOMEM;
    if (perf->depth < FRAMES_MAX)
        perf->stack[perf->depth++] = frame;
    else
        perf->cut++;
    return true;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Reduces "cpu_core/cycles/P:" to "cycles". */
static struct piece plain_event(struct piece event)
{
    while (event.length && event.at[event.length - 1] == ':')
        event.length--;
    const char *slash = memchr(event.at, '/', event.length);
    if (slash) {
        size_t rest = event.length - (size_t)(slash + 1 - event.at);
        const char *close = memchr(slash + 1, '/', rest);
        return (struct piece){slash + 1, close ? (size_t)(close - slash - 1) : rest};
    }
    const char *colon = memrchr(event.at, ':', event.length);
    size_t modifier_count = colon ? event.length - (size_t)(colon + 1 - event.at) : 0;
    if (colon && colon > event.at && strspn(colon + 1, "ukhHGpPSDWe") >= modifier_count)
        event.length = (size_t)(colon - event.at);
    return event;
}

static bool piece_is(const struct piece *piece, const char *text)
{
    return piece->length == strlen(text) && memcmp(piece->at, text, piece->length) == 0;
}

static uint16_t make_set(struct import_sink *sink, const struct piece *event, uint32_t name)
{
    struct sample_set set = {
        .name = name, .flags = SAMPLE_SET_EXACT, .count = 1, .types = {VALUE_TYPE_SAMPLES}};
    if (piece_is(event, "instructions"))
        set.types[0] = VALUE_TYPE_INSTRUCTIONS;
    else if (piece_is(event, "cache-misses"))
        set.types[0] = VALUE_TYPE_CACHE_MISSES;
    else if (piece_is(event, "branch-misses"))
        set.types[0] = VALUE_TYPE_BRANCH_MISSES;
    int64_t number = sample_sets_add(trace_sets(sink->trace), &set);
    if (number == -ENOMEM)
        sink->error = -ENOMEM;
    return number < 0 ? 0 : (uint16_t)number;
}

/* Returns NULL if out of memory or if there are too many events. */
static const struct measured *find_event(struct perf *perf, struct piece event)
{
    event = plain_event(event);
    uint32_t name = import_string(perf->sink, event.at, event.length);
    struct measured made = {.name = name, .set = SAMPLE_SET_CPU};
    for (size_t i = 0; i < perf->events.count; i++)
        if (perf->events.items[i].name == name)
            return &perf->events.items[i];
    made.clock = piece_is(&event, "cpu-clock") || piece_is(&event, "task-clock");
    made.cycles = !event.length || piece_is(&event, "cycles") || piece_is(&event, "cpu-cycles");
    if (perf->events.count >= EVENTS_MAX)
        return NULL;
    if (!made.clock && !made.cycles)
        made.set = make_set(perf->sink, &event, name);
    return vec_push(&perf->events, made) != 0 ? NULL : &perf->events.items[perf->events.count - 1];
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int end_sample(struct perf *perf)
{
    uint32_t stack = 0;
    if (!perf->inside)
        return 0;
    for (uint32_t i = perf->depth; i > 0; i--)
        stack = import_stack(perf->sink, stack, perf->stack[i - 1]);
    perf->sample.stack = stack;
    perf->sample.values = &perf->value;
    perf->inside = false;
    perf->samples++;
    return import_sample(perf->sink, &perf->sample);
}

static uint32_t find_thread(struct perf *perf, const struct head *head)
{
    struct import_sink *sink = perf->sink;
    uint32_t comm = import_string(sink, head->comm.at, head->comm.length);
    struct import_id pid = {.text = head->pid < 0 ? comm : 0, .number = head->pid};
    const struct import_id tid = {.number = head->tid};
    uint32_t process = import_process(sink, &pid);
    uint32_t thread = import_thread(sink, process, &tid);
    if (sink->error)
        return 0;
    struct trace_process *entry = trace_process(sink->trace, process);
    if (!entry->comm || head->pid == head->tid)
        entry->comm = comm;
    trace_thread(sink->trace, thread)->comm = comm;
    return thread;
}

/* Counts a record such as "PERF_RECORD_LOST lost 24", which perf script prints with
 * --show-lost-events and similar options. */
static int take_record(struct perf *perf, const struct head *head)
{
    struct piece words[TOKENS_MAX];
    int64_t count = 1;
    bool lost = begins_with(&head->event, RECORD_PREFIX "LOST");
    bool counted = lost && split(head->rest.at, head->rest.length, words) == 2 &&
                   take_int(words[1].at, words[1].length, &count);
    perf->lost += lost ? (uint64_t)(counted ? count : 1) : 0;
    perf->throttled += begins_with(&head->event, RECORD_PREFIX "THROTTLE");
    perf->others += !lost;
    return end_sample(perf);
}

static int begin_sample(struct perf *perf, const struct head *head)
{
    int error = end_sample(perf);
    const struct measured *event = find_event(perf, head->event);
    if (error || perf->sink->error || !event)
        return error ? error : perf->sink->error ? perf->sink->error : -ENOMEM;
    bool timed = event->clock && head->period > 0;
    bool cpu = event->clock || event->cycles;
    perf->value = timed ? head->period : cpu ? perf->unit_ns : head->period > 0 ? head->period : 1;
    perf->guessed = perf->guessed || (cpu && !timed);
    perf->sample = (struct sample){.set = event->set,
                                   .thread = find_thread(perf, head),
                                   .time_ns = head->time_ns,
                                   .cpu = head->cpu < 0 ? 0 : (uint16_t)head->cpu,
                                   .value_count = 1};
    perf->inside = true;
    perf->depth = 0;
    if (head->rest.length)
        (void)take_frame(perf, head->rest.at, head->rest.length);
    return perf->sink->error;
}

static int take_line(struct perf *perf, const char *line, size_t length)
{
    struct head head;
    if (length == 0)
        return end_sample(perf);
    if (line[0] == '#')
        return 0;
    if (perf->inside && is_blank(line[0]) && take_frame(perf, line, length))
        return perf->sink->error;
    if (take_head(line, length, &head))
        return begins_with(&head.event, RECORD_PREFIX) ? take_record(perf, &head)
                                                       : begin_sample(perf, &head);
    perf->odd++;
    return 0;
}

static int finish(struct perf *perf)
{
    struct import_sink *sink = perf->sink;
    char text[160], unit[NUMBER_TEXT_SIZE];
    int error = end_sample(perf);
    if (error)
        return error;
    if (!perf->samples) {
        import_problem(sink, "no line begins a sample", 0);
        return -EBADMSG;
    }
    sink->left[LEFT_MALFORMED] += perf->odd;
    sink->left[LEFT_DEEP] += perf->cut;
    sink->left[LEFT_RECORDS] += perf->others;
    import_lost(sink, "samples: lost by perf (PERF_RECORD_LOST)", perf->lost);
    import_lost(sink, "samples: times in which perf took none (PERF_RECORD_THROTTLE)",
                perf->throttled);
    snprintf(text, sizeof(text), "a sample of cycles is taken as %s of CPU time%s",
             number_time_short((uint64_t)perf->unit_ns, unit),
             sink->options->unit_ns ? "" : ", perf's default rate (--unit says otherwise)");
    if (perf->guessed)
        import_note(sink, text);
    return sink->error;
}

static int read_perf(struct import_input *input, struct import_sink *sink)
{
    sink->samples_end = true;
    struct perf perf = {.sink = sink, .unit_ns = import_unit_ns(sink, SAMPLE_NS)};
    const char *line;
    size_t length;
    int more, error = 0;
    while (!error && (more = import_input_line(input, &line, &length)) != 0)
        error = more < 0 ? more : take_line(&perf, line, length);
    if (!error)
        error = finish(&perf);
    map64_free(&perf.frames);
    vec_free(&perf.events);
    return error;
}

/* True if one of the first lines begins a sample and all of them are text. */
static bool sniff(const char *bytes, size_t size)
{
    const char *at = bytes, *end = bytes + size;
    for (int i = 0; at < end && i < SNIFF_LINES; i++) {
        struct head head;
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((next ? next : end) - at);
        if (memchr(at, 0, length))
            return false;
        if (length && *at != '#' && take_head(at, length, &head))
            return true;
        at += length + 1;
    }
    return false;
}

const struct importer import_perf = {
    .format = {.name = "perf",
               .summary = "the text of perf script",
               .from = "perf record, then perf script"},
    .sniff = sniff,
    .read = read_perf,
};
