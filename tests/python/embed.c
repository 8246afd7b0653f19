/* SPDX-License-Identifier: MIT */
/* embed LIBPYTHON SCRIPT LIVES: runs a script in an embedded interpreter, ends the interpreter, and
 * repeats that. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *need(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return found;
}

int main(int argc, char **argv)
{
    void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!library)
        return 1;
    void (*initialize)(void) = (void (*)(void))need(library, "Py_Initialize");
    int (*run)(FILE *, const char *, int, void *) =
        (int (*)(FILE *, const char *, int, void *))need(library, "PyRun_SimpleFileExFlags");
    int (*finalize)(void) = (int (*)(void))need(library, "Py_FinalizeEx");
    for (int life = 0; life < atoi(argv[3]); life++) {
        FILE *script = fopen(argv[2], "r");
        if (!script)
            return 1;
        initialize();
        int error = run(script, argv[2], 1, NULL);
        if (finalize() < 0 || error != 0)
            return 1;
    }
    return 0;
}
