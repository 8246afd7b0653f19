/* SPDX-License-Identifier: MIT */
/* A shared object that is annotated for ITT. IMAGE is its name. */
#include "itt_image.h"

__attribute__((visibility("default"))) work_function image_work;
__attribute__((visibility("default"))) void image_end(unsigned long long number);

void image_work(int count)
{
    itt_image_work(IMAGE, count);
}

/* Ends a task that another image has begun. */
void image_end(unsigned long long number)
{
    __itt_domain *shared = __itt_domain_create("shared");
    __itt_task_end_overlapped(shared, __itt_id_make(NULL, number));
}
