/* SPDX-License-Identifier: MIT */
/* `annot doctor`: support for recording NVIDIA GPUs: the driver, the CUPTI that a program would
 * most likely use and its version, NVML, and the permission to read a GPU's own counters. Libraries
 * are opened in a child process, so that neither they nor the effects of their constructors stay in
 * this one. A machine without a driver counts as complete. */
#include "doctor.h"

#include "file_io.h"
#include "gpu_faults.h"
#include "ladder.h"
#include "record_inject.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER_FOLDER "/proc/driver/nvidia/"

struct opened {
    char path[PATH_MAX]; /* "": not loadable */
    uint32_t version;    /* result of `function`; 0: without a result */
};

struct asked {
    const char *library, *function;
    bool tells_version; /* the function returns a version */
};

/* Runs in a child. */
static void open_here(const struct asked *asked, int fd)
{
    struct opened opened = {.path = ""};
    int (*get)(uint32_t *);
    Dl_info info;
    void *library = dlopen(asked->library, RTLD_LAZY | RTLD_LOCAL);
    void *function = library ? dlsym(library, asked->function) : NULL;
    *(void **)&get = function;
    if (get && dladdr(function, &info) && info.dli_fname)
        snprintf(opened.path, sizeof(opened.path), "%s", info.dli_fname);
    if (get && (!asked->tells_version || get(&opened.version) != 0))
        opened.version = 0;
    (void)!write(fd, &opened, sizeof(opened));
    _exit(0);
}

static bool open_library(const struct asked *asked, struct opened *ret_opened)
{
    int fds[2];
    memset(ret_opened, 0, sizeof(*ret_opened));
    if (pipe(fds) != 0)
        return false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        open_here(asked, fds[1]);
    close(fds[1]);
    ssize_t got = child > 0 ? read(fds[0], ret_opened, sizeof(*ret_opened)) : 0;
    close(fds[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (got != sizeof(*ret_opened))
        ret_opened->path[0] = 0;
    ret_opened->path[sizeof(ret_opened->path) - 1] = 0;
    return ret_opened->path[0] != 0;
}

/* ---- The driver ------------------------------------------------------------------------------ */

static bool look_at_driver(struct doctor *doctor)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_GPU, "driver");
    struct opened driver;
    char text[512];
    bool is_loaded = file_read_text(DRIVER_FOLDER "version", text, sizeof(text)) > 0;
    bool is_there =
        open_library(&(struct asked){"libcuda.so.1", "cuDriverGetVersion", true}, &driver);
    text[strcspn(text, "\n")] = 0;
    doctor_fact_text(it, "library", driver.path);
    doctor_fact_number(it, "cuda", driver.version ? (int64_t)driver.version : DOCTOR_NO_NUMBER);
    doctor_fact_text(it, "kernel_module", is_loaded ? text : "");
    if (is_there && is_loaded) {
        snprintf(it->text, sizeof(it->text), "CUDA %u.%u; %.300s", driver.version / 1000,
                 driver.version % 1000 / 10, text);
        return true;
    }
    it->state = is_loaded ? DOCTOR_MISSING : DOCTOR_NOTE;
    if (is_loaded)
        snprintf(it->text, sizeof(it->text), "the kernel has it, but there is no libcuda.so.1");
    else if (is_there)
        snprintf(it->text, sizeof(it->text), "%.300s, but no GPU: the kernel has no such driver",
                 driver.path);
    else
        snprintf(it->text, sizeof(it->text), "no driver of NVIDIA, so no GPU to be recorded");
    if (is_loaded)
        snprintf(it->hint, sizeof(it->hint),
                 "in a container: start it with --gpus all (NVIDIA container toolkit)");
    return is_loaded;
}

/* ---- CUPTI ----------------------------------------------------------------------------------- */

static bool open_cupti(const char *library, struct opened *ret_opened)
{
    return open_library(&(struct asked){library, "cuptiGetVersion", true}, ret_opened);
}

static bool find_in_wheels(struct opened *ret_opened)
{
    const char *environment = getenv("VIRTUAL_ENV");
    char pattern[PATH_MAX];
    glob_t found = {0};
    bool any = false;
    if (!environment || !*environment)
        return false;
    snprintf(pattern, sizeof(pattern),
             "%.3000s/lib/python3*/site-packages/nvidia/c*/lib/libcupti.so.1[2-9]", environment);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && !any;)
            any = open_cupti(found.gl_pathv[i], ret_opened);
    globfree(&found);
    return any;
}

/* Searches as libannot-gpu does in a program that has not loaded CUPTI. */
static bool find_cupti(struct opened *ret_opened)
{
    static const char *const places[] = {
        "libcupti.so.13",
        "libcupti.so.12",
        "/usr/local/cuda/lib64/libcupti.so",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
    };
    const char *given = getenv("ANNOT_CUPTI");
    if (given && *given)
        return open_cupti(given, ret_opened);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (open_cupti(places[i], ret_opened))
            return true;
    return find_in_wheels(ret_opened);
}

static void say_faults(uint32_t version, char *text, size_t size)
{
    uint32_t faults = gpu_faults(version);
    for (uint32_t fault = 1; fault != 0 && fault <= faults; fault <<= 1) {
        size_t used = strlen(text);
        if (faults & fault && gpu_fault_text((enum gpu_fault)fault))
            snprintf(text + used, size - used, "; %s", gpu_fault_text((enum gpu_fault)fault));
    }
}

static void look_at_cupti(struct doctor *doctor, bool has_driver)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_GPU, "CUPTI");
    struct opened cupti;
    char path[PATH_MAX], version[32];
    bool is_there = find_cupti(&cupti), is_built = library_of_annot("libannot-gpu.so", path);
    doctor_fact_text(it, "library", cupti.path);
    bool is_known = is_there && cupti.version != 0;
    doctor_fact_number(it, "version", is_known ? (int64_t)cupti.version : DOCTOR_NO_NUMBER);
    doctor_fact_number(it, "faults", is_known ? (int64_t)gpu_faults(cupti.version) : 0);
    it->state = has_driver ? DOCTOR_MISSING : DOCTOR_NOTE;
    if (!is_built) {
        snprintf(it->text, sizeof(it->text),
                 "annot was built without the headers of CUDA: GPUs are not recorded");
        snprintf(it->hint, sizeof(it->hint), "with network access, " ANNOT_REBUILD);
    } else if (!is_there) {
        snprintf(it->text, sizeof(it->text),
                 "no libcupti where the linker looks; a program that brings one is recorded");
        snprintf(it->hint, sizeof(it->hint),
                 "pip install nvidia-cuda-cupti, or name one in "
                 "ANNOT_CUPTI");
    } else if (cupti.version == 0) {
        snprintf(it->text, sizeof(it->text), "%.300s, which does not tell its version%s",
                 cupti.path, has_driver ? "" : " without a driver");
    } else {
        it->state = gpu_faults(cupti.version) & GPU_FAULT_TOO_OLD ? it->state : DOCTOR_GOOD;
        snprintf(it->text, sizeof(it->text), "%.150s, of CUDA %s (%u)", cupti.path,
                 gpu_fault_version(cupti.version, version), cupti.version);
        say_faults(cupti.version, it->text, sizeof(it->text));
    }
}

/* ---- NVML, counters -------------------------------------------------------------------------- */

static void look_at_nvml(struct doctor *doctor, bool has_driver)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_GPU, "NVML");
    struct opened nvml;
    bool is_there = open_library(&(struct asked){"libnvidia-ml.so.1", "nvmlInit_v2", false}, &nvml);
    doctor_fact_text(it, "library", nvml.path);
    it->state = is_there ? DOCTOR_GOOD : has_driver ? DOCTOR_MISSING : DOCTOR_NOTE;
    snprintf(it->text, sizeof(it->text), "%s",
             is_there ? "utilisation, memory, power and clocks as counters"
                      : "no libnvidia-ml.so.1: no counters of utilisation, memory, power, clocks");
}

enum { CAP_OF_PROFILING = 21 /* CAP_SYS_ADMIN */ };

/* Reading counters is required only to sample inside of kernels (--gpu=pc), not for a timeline. */
static void look_at_right(struct doctor *doctor, const struct host_facts *facts, bool has_driver)
{
    struct doctor_finding *it = doctor_add(doctor, DOCTOR_GPU, "counters");
    char text[4096];
    bool is_told = file_read_text(DRIVER_FOLDER "params", text, sizeof(text)) > 0;
    const char *line = is_told ? strstr(text, "RmProfilingAdminOnly:") : NULL;
    int64_t only_admin = line ? strtol(line + strlen("RmProfilingAdminOnly:"), NULL, 10) : -1;
    doctor_fact_number(it, "admin_only", line ? only_admin : DOCTOR_NO_NUMBER);
    bool may = only_admin == 0 || (only_admin == 1 && host_facts_may(facts, CAP_OF_PROFILING));
    it->state = may ? DOCTOR_GOOD : DOCTOR_NOTE;
    if (!line)
        snprintf(it->text, sizeof(it->text), "%s",
                 has_driver ? "the driver does not say who may read those of a GPU itself"
                            : "who may read those of a GPU itself, a driver says");
    else if (it->state == DOCTOR_GOOD)
        snprintf(it->text, sizeof(it->text),
                 "this user may read those of a GPU itself, and sample its kernels (--gpu=pc)");
    else
        snprintf(it->text, sizeof(it->text),
                 "those of a GPU itself, and samples of its kernels (--gpu=pc), are for those with "
                 "CAP_SYS_ADMIN; kernels are recorded without");
    if (only_admin == 1 && it->state != DOCTOR_GOOD)
        snprintf(it->hint, sizeof(it->hint),
                 "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee "
                 "/etc/modprobe.d/nvidia-profiling.conf, and restart");
}

void doctor_look_at_gpu(struct doctor *doctor, const struct host_facts *facts)
{
    bool has_driver = look_at_driver(doctor);
    look_at_cupti(doctor, has_driver);
    look_at_nvml(doctor, has_driver);
    look_at_right(doctor, facts, has_driver);
}
