/* SPDX-License-Identifier: MIT */
/* Every public name and macro once, with nothing else included. Nobody records while it runs. */
#include <annot/annot.h>

static int nested(int value)
{
#if defined(__GNUC__)
    ANNOT_RANGE("nested");
    ANNOT_RANGE("again");
#endif
    return value + 1;
}

int main(void)
{
    struct annot_event event = {0};
    annot_range range;
    annot_domain domain = annot_domain_create("headers");
    event.text = "event";
    event.name = annot_name_intern("event");
    event.domain = domain;
    event.category = annot_category_create(domain, "tests");
    event.payload_kind = ANNOT_PAYLOAD_DOUBLE;
    event.payload.float64 = 1.5;
    annot_name_process("header test");
    annot_name_thread("main");
    annot_push("a");
    annot_push_name(event.name);
    annot_push_event(&event);
    ANNOT_PUSH("b");
    ANNOT_POP();
    annot_pop();
    range = annot_start("range");
    annot_end(range);
    annot_end(annot_start_event(&event));
    annot_mark("m");
    annot_mark_event(&event);
    ANNOT_MARK("m");
    annot_counter("c", 1.0);
    annot_counter_event(&event);
    ANNOT_COUNTER("c", 2);
    return annot_enabled() || annot_status() == NULL || nested(0) != 1;
}
