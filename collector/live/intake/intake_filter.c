/* SPDX-License-Identifier: MIT */
/* The walk of names.c finds the numbers that the program has made; their names are read again here,
 * byte by byte as the program compares them. */
#include "intake_filter.h"

#include "clock_now.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { TELL_TRIES = 16, RULES_NOTED = 64 };

struct judged {
    char domain[ANNOT_STRING_MAX], category[ANNOT_STRING_MAX];
    struct annot_filter_name name;
};

/* Length, or -1: the number has no string. */
static int read_name(const struct names *names, uint32_t number, char *bytes)
{
    struct annot_string string;
    uint32_t id = number < names->numbers.count ? names->numbers.items[number].id : 0;
    return id && segment_read_string(names->segment, id, &string, bytes) == 1 ? string.length : -1;
}

static void set_domain(const struct names *names, uint32_t number, struct judged *judged)
{
    int length = number ? read_name(names, number, judged->domain) : -1;
    judged->name.domain = judged->domain;
    judged->name.domain_length = length > 0 ? (uint32_t)length : 0;
    if (length != 0 && number != 0)
        return; /* without a name: the default domain, of an observer */
    judged->name.domain = ANNOT_FILTER_DEFAULT;
    judged->name.domain_length = sizeof(ANNOT_FILTER_DEFAULT) - 1;
}

/* Finds the name of a number; false: not known yet. */
static bool find_name(const struct names *names, uint32_t number, struct judged *judged)
{
    struct names_number at = {0};
    judged->name = (struct annot_filter_name){0};
    if (number < names->numbers.count)
        at = names->numbers.items[number];
    if (number != 0 && at.id == 0)
        return false;
    set_domain(names, at.is_category ? at.parent : number, judged);
    if (at.is_category) {
        int length = read_name(names, number, judged->category);
        judged->name.category = judged->category;
        judged->name.category_length = length > 0 ? (uint32_t)length : 0;
    }
    return true;
}

static void note_fits(struct filter_rules *rules, const struct annot_filter_name *name)
{
    const char *at = rules->text, *end = rules->text + rules->size;
    struct annot_filter_rule rule;
    for (unsigned i = 0; i < RULES_NOTED && annot_filter_next(&at, end, &rule); i++)
        if (annot_filter_fits(&rule, name))
            rules->fitted |= UINT64_C(1) << i;
}

int filter_rule_unfitted(const struct filter_rules *rules, uint32_t *at,
                         struct annot_filter_rule *ret_rule)
{
    const char *text = rules->text, *end = rules->text + rules->size;
    for (unsigned i = 0; i < RULES_NOTED && annot_filter_next(&text, end, ret_rule); i++) {
        if (i < *at || rules->fitted >> i & 1)
            continue;
        *at = i + 1;
        return 1;
    }
    return 0;
}

/* Numbers come in any order: those after a gap are judged again when the table has grown. */
static void judge(struct filter_rules *rules, const struct names *names,
                  struct filter_applied *applied)
{
    struct judged judged;
    for (uint32_t number = applied->next; number == 0 || number < names->numbers.count; number++) {
        if (!find_name(names, number, &judged))
            continue;
        note_fits(rules, &judged.name);
        annot_filter_add(&applied->masks, number,
                         annot_filter_level(rules->text, rules->size, &judged.name));
        applied->next += applied->next == number;
    }
}

/* Each function is a separate category without a number: the verdict is stored in its string. */
static int emit_functions(struct filter_rules *rules, const struct names *names,
                          struct filter_applied *applied)
{
    for (; applied->functions < names->functions.count; applied->functions++) {
        struct names_known_function function = names->functions.items[applied->functions];
        const struct trace_string *string = trace_string(names->trace, function.ordinal);
        const char *domain =
            function.kind == NAMES_PYTHON_CALL ? ANNOT_PYTHON_DOMAIN : ANNOT_FUNCTIONS_DOMAIN;
        struct annot_filter_name name = {domain, string->bytes, strlen(domain), string->length};
        note_fits(rules, &name);
        bool is_wanted = rules->size == 0 ||
                         annot_filter_level(rules->text, rules->size, &name) >= ANNOT_CALL_LEVEL;
        int error = segment_mask_string(names->segment, function.id, !is_wanted);
        if (error == -EFAULT)
            return error;
    }
    return 0;
}

/* Judges the new entries of the table. */
static int judge_new(struct filter_rules *rules, struct names *names,
                     struct filter_applied *applied)
{
    if (applied->revision != rules->revision)
        *applied = (struct filter_applied){.revision = rules->revision};
    int error = names_walk(names);
    if (error != 0)
        return error;
    judge(rules, names, applied);
    return emit_functions(rules, names, applied);
}

static bool is_applied(const struct filter_rules *rules, const struct names *names,
                       const struct filter_applied *applied, uint32_t used)
{
    return applied->revision == rules->revision && applied->strings_used == used &&
           applied->functions == names->functions.count;
}

/* A process may request events under a number that it makes meanwhile; masks without that number
 * must not revoke the request. So the table is compared just before they are stored, and again
 * after that. */
int filter_masks_emit(struct filter_rules *rules, struct names *names,
                      struct filter_applied *applied)
{
    uint32_t used, after;
    for (int i = 0; i < TELL_TRIES; i++) {
        int error = segment_strings_used(names->segment, &used);
        if (error != 0 || is_applied(rules, names, applied, used))
            return error;
        error = judge_new(rules, names, applied);
        if (error == 0)
            error = segment_strings_used(names->segment, &after);
        if (error != 0)
            return error;
        if (after != used && i < TELL_TRIES - 1)
            continue;
        applied->strings_used = used;
        error = segment_set_masks(names->segment, rules->size ? &applied->masks : NULL);
        if (error != 0)
            return error;
    }
    return 0;
}

/* ---- The text in the session file ---- */

/* System calls on the session file are the order here: each completes before the next begins. */

enum { READ_TRIES = 8 };

#define ODD_NS INT64_C(200000000) /* a writer that takes longer counts as dead */

#define FILTER_AT ((off_t)offsetof(struct annot_session, filter_sequence))

_Static_assert(offsetof(struct annot_session, filter) ==
                   offsetof(struct annot_session, filter_sequence) +
                       offsetof(struct session_filter, text),
               "the file and the struct are alike");

static int read_sequence(int fd, uint32_t *ret_sequence)
{
    ssize_t got = pread(fd, ret_sequence, sizeof(*ret_sequence), FILTER_AT);
    return got < 0 ? -errno : got == sizeof(*ret_sequence) ? 0 : -EBADMSG;
}

static int read_once(int fd, struct session_filter *filter)
{
    uint32_t after;
    ssize_t got = pread(fd, filter, sizeof(*filter), FILTER_AT);
    if (got != sizeof(*filter))
        return got < 0 ? -errno : -EBADMSG;
    int error = read_sequence(fd, &after);
    if (error != 0)
        return error;
    if (after != filter->sequence || after % 2 != 0)
        return -EAGAIN;
    return filter->size <= ANNOT_FILTER_MAX ? 0 : -EBADMSG;
}

int session_filter_read(int fd, struct session_filter *ret_filter)
{
    int error = -EAGAIN;
    for (int i = 0; i < READ_TRIES && error == -EAGAIN; i++)
        error = read_once(fd, ret_filter);
    return error;
}

static int write_filter(int fd, const void *bytes, size_t size)
{
    ssize_t written = pwrite(fd, bytes, size, FILTER_AT);
    return written < 0 ? -errno : (size_t)written == size ? 0 : -ENOSPC;
}

int session_filter_write(int fd, const char *text, size_t size, uint32_t *ret_sequence)
{
    struct session_filter filter = {.size = (uint32_t)size};
    if (size > ANNOT_FILTER_MAX)
        return -E2BIG;
    memcpy(filter.text, text, size);
    int error = read_sequence(fd, &filter.sequence);
    if (error != 0)
        return error;
    filter.sequence |= 1; /* odd already: left by a writer that died */
    error = write_filter(fd, &filter.sequence, sizeof(filter.sequence));
    if (error == 0)
        error = write_filter(fd, &filter, sizeof(filter));
    *ret_sequence = ++filter.sequence;
    return error != 0 ? error : write_filter(fd, &filter.sequence, sizeof(filter.sequence));
}

#define TOLD_AT ((off_t)offsetof(struct annot_session, filter_applied))

int session_filter_confirmed(int fd, uint32_t *ret_sequence)
{
    ssize_t got = pread(fd, ret_sequence, sizeof(*ret_sequence), TOLD_AT);
    return got < 0 ? -errno : got == sizeof(*ret_sequence) ? 0 : -EBADMSG;
}

int session_filter_confirm(int fd, uint32_t sequence)
{
    ssize_t written = pwrite(fd, &sequence, sizeof(sequence), TOLD_AT);
    return written < 0 ? -errno : written == sizeof(sequence) ? 0 : -ENOSPC;
}

#define WISHES_AT ((off_t)offsetof(struct annot_session, wishes))

int session_wishes_read(int fd, uint32_t *ret_wishes)
{
    ssize_t got = pread(fd, ret_wishes, sizeof(*ret_wishes), WISHES_AT);
    return got < 0 ? -errno : got == sizeof(*ret_wishes) ? 0 : -EBADMSG;
}

int session_wishes_write(int fd, uint32_t wishes)
{
    ssize_t written = pwrite(fd, &wishes, sizeof(wishes), WISHES_AT);
    return written < 0 ? -errno : written == sizeof(wishes) ? 0 : -ENOSPC;
}

/* If it is odd while we hold the lock, its writer has died: the rules are restored. */
static int take_back(const struct directory *directory, int fd, const struct filter_rules *rules)
{
    uint32_t sequence;
    int lock_fd = directory_lock(directory);
    if (lock_fd < 0)
        return lock_fd;
    int error = read_sequence(fd, &sequence);
    if (error == 0 && sequence % 2 != 0)
        error = session_filter_write(fd, rules->text, rules->size, &sequence);
    close(lock_fd);
    return error;
}

static int wait_for_writer(struct session_filter_watch *watch, const struct directory *directory,
                           int fd, const struct filter_rules *rules)
{
    int64_t now_ns = clock_now_ns();
    if (watch->odd_since_ns == 0)
        watch->odd_since_ns = now_ns;
    if (now_ns - watch->odd_since_ns < ODD_NS)
        return 0;
    watch->odd_since_ns = 0;
    return take_back(directory, fd, rules);
}

int session_filter_poll(struct session_filter_watch *watch, const struct directory *directory,
                        int fd, struct filter_rules *rules)
{
    struct session_filter filter;
    uint32_t sequence;
    int error = read_sequence(fd, &sequence);
    if (error != 0 || sequence == watch->sequence)
        return error;
    error = sequence % 2 != 0 ? -EAGAIN : session_filter_read(fd, &filter);
    if (error == 0)
        error = session_wishes_read(fd, &rules->wishes);
    if (error == -EAGAIN)
        return wait_for_writer(watch, directory, fd, rules);
    if (error != 0)
        return error;
    watch->odd_since_ns = 0;
    watch->sequence = filter.sequence;
    if (filter.size == rules->size && memcmp(filter.text, rules->text, filter.size) == 0)
        return 0;
    memcpy(rules->text, filter.text, filter.size);
    rules->size = filter.size;
    rules->fitted = 0;
    rules->revision += rules->revision == UINT32_MAX ? 2 : 1;
    return 1;
}
