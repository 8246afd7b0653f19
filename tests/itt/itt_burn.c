/* SPDX-License-Identifier: MIT */
/* Half a second of CPU time in a task of ITT inside a range of C, and a tenth of a second in
 * neither. Before, a shared object, IMAGE, is loaded, calls ITT, and is unloaded. */
#include "itt_image.h"

#include <annot/annot.h>
#include <time.h>

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void burn(double seconds)
{
    double end = cpu_s() + seconds;
    while (cpu_s() < end)
        continue;
}

/* The image must not be accessed after it was unloaded. */
static void come_and_go(const char *path)
{
    void *image = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    work_function *work;
    if (!image)
        return;
    *(void **)&work = dlsym(image, "image_work");
    work(3);
    dlclose(image);
}

int main(int argc, char **argv)
{
    if (argc == 2)
        come_and_go(argv[1]);
    __itt_domain *domain = __itt_domain_create("itt.test");
    burn(0.1);
    annot_push("c outer");
    __itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("burning"));
    burn(0.5);
    __itt_task_end(domain);
    annot_pop();
    return 0;
}
