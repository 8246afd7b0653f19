/* SPDX-License-Identifier: MIT */
/* Work of an image with its own tables of ITT: tasks in a domain that all images share, and in its
 * own domain. Included by the program and by its shared objects. */
#ifndef ANNOT_TEST_ITT_IMAGE_H
#define ANNOT_TEST_ITT_IMAGE_H

#include "itt_part.h"

/* Begins and ends `count` tasks of each domain. */
typedef void work_function(int count);

static inline void itt_image_work(const char *image, int count)
{
    __itt_domain *shared = __itt_domain_create("shared"), *own = __itt_domain_create(image);
    __itt_string_handle *name = __itt_string_handle_create("work");
    for (int i = 0; i < count; i++) {
        __itt_task_begin(shared, __itt_null, __itt_null, name);
        __itt_task_begin(own, __itt_null, __itt_null, name);
        __itt_task_end(own);
        __itt_task_end(shared);
    }
}

#endif
