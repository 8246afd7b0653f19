/* SPDX-License-Identifier: MIT */
/* Everything that version 0.1 of libannot can do; compiled against the header that ANNOT_HEADER
 * names, the frozen one or the present one. One thread and a forked child. */
#include ANNOT_HEADER

#include <sys/wait.h>
#include <unistd.h>

#define SAME(condition) _Static_assert(condition, #condition)
SAME(sizeof(struct annot_gate) == ANNOT_GATE_SIZE);
SAME(sizeof(struct annot_event) == 56);
SAME(offsetof(struct annot_event, name) == 8);
SAME(offsetof(struct annot_event, color) == 16);
SAME(offsetof(struct annot_event, level) == 20);
SAME(offsetof(struct annot_event, payload) == 24);
SAME(sizeof(annot_name) == 4 && sizeof(annot_domain) == 2 && sizeof(annot_category) == 2);
SAME(sizeof(annot_range) == 8);

static void ranges(void)
{
    ANNOT_RANGE("scope");
    annot_push("text");
    annot_push_name(annot_name_intern("interned"));
    annot_pop();
    ANNOT_PUSH("macro");
    ANNOT_POP();
    annot_pop();
    annot_pop(); /* the scope's, too early */
    annot_push("again");
}

static void events(void)
{
    annot_domain domain = annot_domain_create("io");
    struct annot_event event = {.text = "event",
                                .domain = domain,
                                .category = annot_category_create(domain, "reads"),
                                .color = 0xff102030,
                                .level = 3,
                                .payload_kind = ANNOT_PAYLOAD_INT64,
                                .payload = {.int64 = -5}};
    annot_push_event(&event);
    annot_mark_event(&event);
    annot_pop();
    annot_end(annot_start_event(&event));
    annot_end(annot_start("started"));
    annot_mark("mark");
    ANNOT_MARK("macro mark");
    annot_counter("counter", 1.5);
    ANNOT_COUNTER("macro counter", 2);
    annot_counter_event(&event);
}

int main(void)
{
    annot_name_process("program of 0.1");
    annot_name_thread("main of 0.1");
    ranges();
    events();
    pid_t pid = fork();
    if (pid == 0) {
        annot_mark("in the child");
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    return annot_status() && annot_enabled() ? 0 : 3;
}
