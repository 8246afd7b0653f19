/* SPDX-License-Identifier: MIT */
/* The filter on the collector's side: its text in the session file, complete or not, and the masks
 * of segments, for any content of their tables. */
#include "annot_barrier.h"
#include "intake_filter.h"
#include "segment_maker.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- The text -------------------------------------------------------------------------------- */

static struct directory directory;

static int open_session(void)
{
    static const struct annot_session session;
    static char path[4200];
    CHECK_INT(directory_open(test_directory(), &directory), 0);
    CHECK(directory_wake(&directory) > 0); /* creates the page with the required lock */
    snprintf(path, sizeof(path), "%s/session", test_directory());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(pwrite(fd, &session, sizeof(session), 0), sizeof(session));
    return fd;
}

static void close_session(int fd)
{
    close(fd);
    directory_close(&directory);
}

static void set_sequence(int fd, uint32_t sequence)
{
    CHECK_INT(
        pwrite(fd, &sequence, sizeof(sequence), offsetof(struct annot_session, filter_sequence)),
        sizeof(sequence));
}

TEST(a_change_is_noticed_once)
{
    struct session_filter_watch watch = {0};
    struct filter_rules rules = {0};
    uint32_t sequence;
    int fd = open_session();
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 0);
    CHECK_INT(session_filter_write(fd, "+io", 3, &sequence), 0);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 1);
    CHECK_INT(watch.sequence, sequence);
    CHECK_INT(rules.size, 3);
    CHECK(memcmp(rules.text, "+io", 3) == 0);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 0);
    CHECK_INT(session_filter_write(fd, "+io", 3, &sequence), 0); /* unchanged */
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 0);
    CHECK_INT(watch.sequence, sequence);
    CHECK_INT(session_filter_write(fd, "", 0, &sequence), 0);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 1);
    CHECK_INT(rules.size, 0);
    char longest[ANNOT_FILTER_MAX + 1] = {0};
    CHECK_INT(session_filter_write(fd, longest, sizeof(longest), &sequence), -E2BIG);
    close_session(fd);
}

TEST(wishes_come_with_the_text)
{
    struct session_filter_watch watch = {0};
    struct filter_rules rules = {0};
    uint32_t sequence, wishes;
    int fd = open_session();
    CHECK_INT(session_wishes_write(fd, ANNOT_WISH_OFF), 0);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 0);
    CHECK_INT(rules.wishes, 0); /* until the sequence changes */
    CHECK_INT(session_filter_write(fd, "", 0, &sequence), 0);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 0); /* the text is unchanged */
    CHECK_INT(rules.wishes, ANNOT_WISH_OFF);
    CHECK_INT(session_wishes_read(fd, &wishes), 0);
    CHECK_INT(wishes, ANNOT_WISH_OFF);
    close_session(fd);
}

TEST(a_change_that_its_writer_did_not_finish_is_taken_back)
{
    struct session_filter_watch watch = {0};
    struct filter_rules rules = {0};
    struct session_filter filter;
    uint32_t sequence;
    int fd = open_session();
    CHECK_INT(session_filter_write(fd, "+io", 3, &sequence), 0);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 1);
    CHECK_INT(pwrite(fd, "-db", 3, offsetof(struct annot_session, filter)), 3);
    set_sequence(fd, sequence + 1);
    CHECK_INT(session_filter_read(fd, &filter), -EAGAIN);
    while (session_filter_read(fd, &filter) == -EAGAIN) {
        CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 0);
        usleep(1000);
    }
    CHECK_INT(filter.size, 3);
    CHECK(memcmp(filter.text, "+io", 3) == 0);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), 0);
    CHECK(filter.sequence % 2 == 0 && watch.sequence == filter.sequence);
    close_session(fd);
}

TEST(a_text_of_nonsense_leaves_the_rules_alone)
{
    struct session_filter_watch watch = {0};
    struct filter_rules rules = {.revision = 1, .size = 3, .text = "+io"};
    const uint32_t size = ANNOT_FILTER_MAX + 1;
    int fd = open_session();
    CHECK_INT(pwrite(fd, &size, sizeof(size), offsetof(struct annot_session, filter_size)), 4);
    set_sequence(fd, 8);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), -EBADMSG);
    CHECK_INT(ftruncate(fd, 4096), 0);
    CHECK_INT(session_filter_poll(&watch, &directory, fd, &rules), -EBADMSG);
    CHECK(rules.revision == 1 && rules.size == 3);
    close_session(fd);
}

static uint32_t stop;

static void *write_texts(void *context)
{
    char text[ANNOT_FILTER_MAX];
    uint32_t sequence;
    for (unsigned i = 0; !annot_load_relaxed(&stop); i++) {
        size_t size = 1 + i % ANNOT_FILTER_MAX;
        memset(text, 'a' + (int)(i % 26), size);
        CHECK_INT(session_filter_write(*(int *)context, text, size, &sequence), 0);
    }
    return NULL;
}

/* Each text consists of one letter, with a length that depends on it. */
TEST(what_is_read_beside_a_writer_is_whole)
{
    pthread_t thread;
    unsigned whole = 0;
    int fd = open_session();
    CHECK_INT(pthread_create(&thread, NULL, write_texts, &fd), 0);
    while (whole < 20000) {
        struct session_filter filter;
        if (session_filter_read(fd, &filter) != 0 || filter.size == 0)
            continue;
        whole++;
        for (uint32_t i = 1; i < filter.size; i++)
            CHECK_INT(filter.text[i], filter.text[0]);
    }
    annot_store_relaxed(&stop, 1);
    pthread_join(thread, NULL);
    close_session(fd);
}

/* ---- The masks ------------------------------------------------------------------------------- */

struct scene {
    struct maker *maker;
    struct maker_events seen;
    struct filter_rules rules;
    struct filter_applied applied;
};

static struct scene scene;

static void begin(void)
{
    scene.maker = maker_create();
    for (int level = 0; level < ANNOT_LEVELS; level++) /* initial state of programs */
        scene.maker->page.control.category_mask[level] = UINT64_MAX;
    maker_attach(&scene.seen, scene.maker);
}

static void end(void)
{
    maker_detach(&scene.seen);
    maker_destroy(scene.maker);
}

static void set_rules(const char *text)
{
    scene.rules.revision++;
    scene.rules.size = (uint32_t)strlen(text);
    memcpy(scene.rules.text, text, scene.rules.size);
}

static void add_number(uint8_t kind, uint16_t number, uint16_t parent, const char *text)
{
    uint32_t id = maker_string(scene.maker, kind, number, text);
    struct annot_string *string = (void *)(scene.maker->strings + (size_t)id * ANNOT_STRING_UNIT);
    string->parent = parent;
}

static void tell(void)
{
    CHECK_INT(filter_masks_emit(&scene.rules, &scene.seen.drain->decoder.names, &scene.applied), 0);
}

/* Cleared bits of the level. */
static uint64_t off(int level)
{
    return ~scene.maker->page.control.category_mask[level];
}

#define BIT(n) (UINT64_C(1) << (n))

TEST(masks_follow_rules_and_names)
{
    begin();
    add_number(ANNOT_STRING_DOMAIN, 1, 0, "io");
    add_number(ANNOT_STRING_CATEGORY, 2, 1, "disk");
    add_number(ANNOT_STRING_CATEGORY, 3, 0, "plain");
    add_number(ANNOT_STRING_CATEGORY, 4, 99, "of nobody");
    set_rules("+io:2 -io/disk");
    tell();
    CHECK_INT(scene.maker->page.control.is_filtered, 1);
    CHECK(off(0) == (BIT(0) | BIT(2) | BIT(3) | BIT(4)));
    CHECK(off(3) == (BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4)));
    add_number(ANNOT_STRING_DOMAIN, 5, 0, "late");
    scene.maker->page.control.category_mask[0] = UINT64_MAX; /* a late store by a process */
    tell();
    CHECK(off(0) == (BIT(0) | BIT(2) | BIT(3) | BIT(4) | BIT(5)));
    set_rules("-default/* -late");
    tell();
    CHECK(off(0) == (BIT(3) | BIT(5)));
    set_rules("");
    tell();
    CHECK(off(0) == 0 && off(7) == 0);
    CHECK_INT(scene.maker->page.control.is_filtered, 0);
    end();
}

TEST(what_a_program_stored_for_numbers_that_are_not_seen_yet_stays)
{
    begin();
    add_number(ANNOT_STRING_DOMAIN, 1, 0, "io");
    scene.maker->page.control.category_mask[2] = ~(BIT(1) | BIT(9));
    set_rules("-noise");
    tell();
    CHECK(off(2) == BIT(9));
    end();
}

TEST(numbers_with_gaps_and_far_ones_are_judged)
{
    begin();
    add_number(ANNOT_STRING_DOMAIN, 65535, 0, "last");
    add_number(ANNOT_STRING_DOMAIN, 7, 0, "off");
    set_rules("-off -last");
    tell();
    CHECK(off(0) == (BIT(7) | BIT(63)));
    add_number(ANNOT_STRING_DOMAIN, 7 + 64, 0, "on");
    tell();
    CHECK(off(0) == BIT(63));
    add_number(ANNOT_STRING_DOMAIN, 3, 0, "off"); /* of an earlier number */
    tell();
    CHECK(off(0) == (BIT(63) | BIT(3)));
    end();
}

/* Names, kinds, numbers and parents of all sorts, including invalid ones. */
TEST(tables_of_nonsense_do_no_harm)
{
    unsigned seed = 3;
    for (int round = 0; round < 200; round++) {
        scene = (struct scene){0};
        begin();
        set_rules(round % 2 ? "+*a*/?* -?" : "-*:* +**");
        for (int i = 0; i < 20; i++) {
            char text[2] = {(char)(1 + rand_r(&seed) % 255)};
            add_number((uint8_t)(rand_r(&seed) % 5), (uint16_t)rand_r(&seed),
                       (uint16_t)(rand_r(&seed) % 4 ? rand_r(&seed) : 1), text);
        }
        uint8_t *strings = scene.maker->strings;
        for (int i = 0; i < 8; i++)
            strings[rand_r(&seed) % MAKER_STRINGS] = (uint8_t)rand_r(&seed);
        int error =
            filter_masks_emit(&scene.rules, &scene.seen.drain->decoder.names, &scene.applied);
        CHECK(error == 0 || error == -EFAULT);
        end();
    }
}
