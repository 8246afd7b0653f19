/* SPDX-License-Identifier: MIT */
/* Nested ranges of C and of ITT, in a program that has its own libannot. */
#include "itt_part.h"

#include <annot/annot.h>

int main(void)
{
    __itt_domain *domain = __itt_domain_create("itt.test");
    double number = 1.5;
    annot_push("c outer");
    __itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("itt outer"));
    ANNOT_PUSH("c inner");
    __itt_metadata_add(domain, __itt_null, __itt_string_handle_create("number"),
                       __itt_metadata_double, 1, &number);
    __itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("itt inner"));
    annot_mark("deep");
    __itt_task_end(domain);
    ANNOT_POP();
    __itt_task_end(domain);
    annot_pop();
    return 0;
}
