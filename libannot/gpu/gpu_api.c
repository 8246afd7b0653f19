/* SPDX-License-Identifier: MIT */
/* Calls of the CUDA runtime and driver: names for CUPTI's numbers.
 * Threads: that of gpu_thread.c; gpu_api_leave_out() that of the window. */
#include "gpu_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { CALLS = 2048, NAME_SIZE = 128 };

static const char *exact_name(bool is_driver, uint32_t call)
{
    CUpti_CallbackDomain domain =
        is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    const char *name = NULL;
    return cupti.get_callback_name(domain, call, &name) == CUPTI_SUCCESS ? name : NULL;
}

/* Without "_v2", "_v12000", "_ptsz", "_ptds" at the end: versions of one call. */
static void clean(const char *exact, char *name)
{
    snprintf(name, NAME_SIZE, "%s", exact);
    for (char *last = strrchr(name, '_'); last && last > name; last = strrchr(name, '_')) {
        bool is_stream = strcmp(last, "_ptsz") == 0 || strcmp(last, "_ptds") == 0;
        bool is_version =
            last[1] == 'v' && last[2] && strspn(last + 2, "0123456789") == strlen(last + 2);
        if (!is_stream && !is_version)
            return;
        *last = 0;
    }
}

static uint32_t make_name(bool is_driver, uint32_t call)
{
    struct gpu_values values = {0};
    const char *exact = exact_name(is_driver, call);
    char name[NAME_SIZE];
    if (!exact) {
        snprintf(name, sizeof(name), "%s call %u", is_driver ? "driver" : "runtime", call);
        return gpu_tell_name(name);
    }
    clean(exact, name);
    if (strcmp(name, exact) == 0)
        return gpu_tell_name(name);
    gpu_values_text(&values, GPU_KEY_FUNCTION, exact);
    return gpu_tell_label(name, &values);
}

uint32_t gpu_api_name(bool is_driver, uint32_t call)
{
    static uint32_t names[2][CALLS];
    if (call >= CALLS)
        return make_name(is_driver, call);
    if (names[is_driver][call] == 0)
        names[is_driver][call] = make_name(is_driver, call);
    return names[is_driver][call];
}

/* PyTorch asks for the device and the last error around each launch. */
static bool is_noise(const char *exact)
{
    static const char *const noise[] = {"cudaGetDevice",
                                        "cudaSetDevice",
                                        "cudaGetLastError",
                                        "cudaPeekAtLastError",
                                        "__cudaPushCallConfiguration",
                                        "__cudaPopCallConfiguration"};
    char name[NAME_SIZE];
    clean(exact, name);
    for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
        if (strcmp(name, noise[i]) == 0)
            return true;
    return false;
}

void gpu_api_leave_out(void)
{
    for (uint32_t call = 1; call < CALLS; call++) {
        const char *exact = exact_name(false, call);
        if (exact && is_noise(exact))
            gpu_session_leave_out(call);
    }
}
