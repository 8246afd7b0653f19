/* SPDX-License-Identifier: MIT */
/* Runs Python code in a running process: see look_python.h.
 *
 * Interpreters from 3.14 on have an interface for that (look_debugger.c). Otherwise one of its
 * threads is made to call Py_AddPendingCall, which any thread may: the interpreter's main thread
 * then runs the text between two of its instructions, as it runs handlers of signals. A waiting
 * main thread (for other threads, say) does not run it. So, after a moment, a thread that waits
 * without the interpreter's lock is made to run the text itself, as a callback from its wait would,
 * unless its interpreter aborts on a foreign stack.
 *
 * The text is in pyannot's own memory (LOOK_MAIL), or, if that does not exist yet, in memory
 * allocated for it. It writes its answer there, after its end, through /proc/self/mem. */
#include "look_python.h"

#include "look_debugger.h"
#include "look_enter.h"
#include "look_place.h"
#include "python_runtime.h"

#include "clock_now.h"
#include "proc_info.h"
#include "text.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifndef __x86_64__

int look_python_run(const struct look_python *run, char answer[LOOK_ANSWER_SIZE],
                    struct look_reason *ret_reason)
{
    (void)run;
    answer[0] = 0;
    snprintf(ret_reason->text, sizeof(ret_reason->text), "that is possible on x86-64 only");
    return -ENOTSUP;
}

#else

#define MENDED_IN_3_14 UINT64_C(0x030e02f0) /* as PY_VERSION_HEX: 3.14.2 */
#define MENDED_IN_3_15 UINT64_C(0x030f00b1) /* the first beta */

enum {
    MAIL_IDLE = 0,
    MAIL_ASKED = 1,
    MAIL_DONE = 2,
    MAIL_RUNS = 3,
    CODE_MAX = 7000,
    PAUSE_NS = 1000000,
    FIRST_NS = 50000000, /* then a waiting thread is used */
    LAST_NS = 2000000000,
};

/* As in pyannot/src/module.c. */
struct mail {
    uint32_t state, reserved;
    char answer[LOOK_ANSWER_SIZE];
    char script[LOOK_MAIL_SIZE - LOOK_ANSWER_SIZE - 8];
};

_Static_assert(sizeof(struct mail) == LOOK_MAIL_SIZE, "one size");

struct asking {
    const struct look_python *run;
    uint64_t mail_at, malloc_at;
    uint64_t add_at, run_at, is_ready_at;               /* Py_AddPendingCall, ... */
    uint64_t check_at, state_at, ensure_at, release_at; /* PyGILState_... */
    struct mail mail;                                   /* to be written */
};

static const struct function {
    const char *name;
    size_t at;
} functions[] = {
    {"Py_AddPendingCall", offsetof(struct asking, add_at)},
    {"PyRun_SimpleString", offsetof(struct asking, run_at)},
    {"Py_IsInitialized", offsetof(struct asking, is_ready_at)},
    {"PyGILState_Check", offsetof(struct asking, check_at)},
    {"PyGILState_GetThisThreadState", offsetof(struct asking, state_at)},
    {"PyGILState_Ensure", offsetof(struct asking, ensure_at)},
    {"PyGILState_Release", offsetof(struct asking, release_at)},
};

static int find(struct look_place *place, void *context)
{
    struct asking *asking = context;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        uint64_t *at = (uint64_t *)((char *)asking + functions[i].at);
        *at = look_place_function(place, functions[i].name, true);
        if (*at == 0)
            return look_refuse(place->reason, "no Python interpreter is in it that exports %s",
                               functions[i].name);
    }
    if (asking->mail_at == 0)
        asking->mail_at = look_place_function(place, LOOK_MAIL, true);
    asking->malloc_at = look_place_function(place, "malloc", false);
    if (asking->mail_at == 0 && (!asking->run->enters || asking->malloc_at == 0)) {
        look_refuse(place->reason, "pyannot is not in it");
        return -ENOENT;
    }
    return 0;
}

/* ---- The text -------------------------------------------------------------------------------- */

/* All of it in one expression that leaves no name in the program's __main__. */
int look_python_compose(const struct look_python *run, const struct look_mail *mail,
                        struct text *script)
{
    static char bytes[CODE_MAX];
    struct text code = text_init(bytes, sizeof(bytes));
    text_format(&code, "try:\n import os\n%s try:\n", mail->take);
    for (const char *line = run->code; *line;) {
        size_t length = strcspn(line, "\n");
        text_format(&code, "  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    text_format(&code,
                "  answer = '+' + str(answer)\n"
                " except BaseException as error:\n"
                "  answer = f'-{type(error).__name__}: {error}'\n"
                " answer = answer.encode('utf-8', 'replace').replace(b'\\0', b' ')[:%d] + b'\\0'\n"
                "%s"
                "except Exception:\n pass\n",
                LOOK_ANSWER_SIZE - 1, mail->answer);
    if (code.length + 1 >= sizeof(bytes))
        return -E2BIG;
    text_format(script, "exec(bytes.fromhex('");
    for (size_t i = 0; i < code.length; i++)
        text_format(script, "%02x", (unsigned char)bytes[i]);
    text_format(script, "'), {})\n");
    return 0;
}

static int compose(struct asking *asking)
{
    char take[256], answer[256];
    struct text script = text_init(asking->mail.script, sizeof(asking->mail.script));
    unsigned long long at = asking->mail_at, answer_at = at + offsetof(struct mail, answer);
    snprintf(take, sizeof(take),
             " f = os.open('/proc/self/mem', os.O_RDWR | os.O_CLOEXEC)\n"
             " if os.pread(f, 1, %llu) != b'\\1':\n  os.close(f)\n  raise RuntimeError\n"
             " os.pwrite(f, b'\\3', %llu)\n",
             at, at);
    snprintf(answer, sizeof(answer),
             " os.pwrite(f, answer, %llu)\n os.pwrite(f, b'\\2', %llu)\n os.close(f)\n", answer_at,
             at);
    return look_python_compose(asking->run, &(struct look_mail){take, answer}, &script);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static int call(struct look_place *place, uint64_t function, uint64_t first, uint64_t second,
                uint64_t *ret_value)
{
    const uint64_t arguments[2] = {first, second};
    return look_place_call(place, function, arguments, ret_value);
}

static uint32_t state_of(pid_t pid, uint64_t mail_at)
{
    uint32_t state = MAIL_IDLE;
    (void)proc_read_memory(pid, mail_at, &state, sizeof(state));
    return state;
}

static int write_mail(struct look_place *place, struct asking *asking)
{
    int error = compose(asking);
    if (error != 0)
        return look_refuse(place->reason, "the request is too long");
    asking->mail.state = MAIL_ASKED;
    error = look_traced_write(&place->traced, asking->mail_at, &asking->mail, sizeof(asking->mail));
    return error ? look_refuse(place->reason, "its memory cannot be written") : 0;
}

static int ask(struct look_place *place, void *context)
{
    struct asking *asking = context;
    uint64_t script_at, value;
    int error = call(place, asking->is_ready_at, 0, 0, &value);
    if (error == 0 && (int)value == 0)
        return look_refuse(place->reason, "its interpreter is not initialised");
    if (error == 0 && asking->mail_at == 0)
        error = call(place, asking->malloc_at, sizeof(struct mail), 0, &asking->mail_at);
    else if (error == 0 && (state_of(place->pid, asking->mail_at) & MAIL_ASKED) != 0)
        return look_refuse(place->reason, "it has not done yet what it was asked for before");
    if (error != 0 || asking->mail_at == 0)
        return error ? error : look_refuse(place->reason, "it has no memory");
    error = write_mail(place, asking);
    script_at = asking->mail_at + offsetof(struct mail, script);
    if (error == 0)
        error = call(place, asking->add_at, asking->run_at, script_at, &value);
    if (error != 0 || (int)value == 0) {
        place->value = asking->mail_at;
        return error;
    }
    asking->mail.state = MAIL_IDLE;
    look_traced_write(&place->traced, asking->mail_at, &asking->mail, sizeof(asking->mail.state));
    return look_refuse(place->reason, "its interpreter is asked for too much already");
}

/* Call with the interpreter's lock. Empties the text for the pending call, which may come later or,
 * if this is the main thread, right now. */
static int run_now(struct look_place *place, struct asking *asking)
{
    uint64_t script_at = asking->mail_at + offsetof(struct mail, script), value;
    char *script = asking->mail.script;
    int64_t size = proc_read_memory(place->pid, script_at, script, sizeof(asking->mail.script) - 1);
    if (size <= 0 || state_of(place->pid, asking->mail_at) != MAIL_ASKED)
        return 0;
    int error = look_traced_write(&place->traced, place->traced.stack, script, strlen(script) + 1);
    if (error == 0)
        error = look_traced_write(&place->traced, script_at, "", 1);
    return error ? error : call(place, asking->run_at, place->traced.stack, 0, &value);
}

static int run_in_wait(struct look_place *place, void *context)
{
    struct asking *asking = context;
    uint64_t has_lock = 1, thread = 0, before, ignored;
    if (place->traced.call < 0)
        return 1;
    int error = call(place, asking->check_at, 0, 0, &has_lock);
    if (error == 0)
        error = call(place, asking->state_at, 0, 0, &thread);
    if (error == 0 && ((int)has_lock != 0 || thread == 0))
        return 1;
    if (error == 0)
        error = call(place, asking->ensure_at, 0, 0, &before);
    if (error != 0)
        return error;
    error = run_now(place, asking);
    int last = call(place, asking->release_at, before, 0, &ignored);
    return error ? error : last;
}

/* True if it has answered in time. */
static bool wait_answer(pid_t pid, uint64_t mail_at, int64_t patience_ns)
{
    const struct timespec pause = {0, PAUSE_NS};
    int64_t end_ns = clock_now_ns() + patience_ns;
    while (state_of(pid, mail_at) != MAIL_DONE && clock_now_ns() < end_ns)
        nanosleep(&pause, NULL);
    return state_of(pid, mail_at) == MAIL_DONE;
}

int look_python_answer(char answer[LOOK_ANSWER_SIZE], struct look_reason *reason)
{
    bool is_good = answer[0] == '+';
    memmove(answer, answer + 1, LOOK_ANSWER_SIZE - 1);
    return is_good ? 0 : look_refuse(reason, "%.200s", answer);
}

static int take_answer(pid_t pid, uint64_t mail_at, char answer[LOOK_ANSWER_SIZE],
                       struct look_reason *reason)
{
    uint64_t at = mail_at + offsetof(struct mail, answer);
    memset(answer, 0, LOOK_ANSWER_SIZE);
    if (proc_read_memory(pid, at, answer, LOOK_ANSWER_SIZE - 1) <= 0)
        return look_refuse(reason, "it ended meanwhile");
    return look_python_answer(answer, reason);
}

/* True if its threads may run Python on our stack: CPython 3.14 measures its stack, and aborts on
 * another; fixed by https://github.com/python/cpython/issues/139653. */
static bool takes_any_stack(pid_t pid)
{
    struct python_location location;

    struct {
        char cookie[8];
        uint64_t version; /* PY_VERSION_HEX */
    } offsets;            /* from 3.13 on */

    if (python_locate(pid, &location) != 0)
        return false;
    uint32_t version = location.published && !location.image.version ? location.offsets.version
                                                                     : location.image.version;
    if (version < 0x030e)
        return version != 0;
    uint64_t at = location.image.runtime + location.bias;
    if (proc_read_memory(pid, at, &offsets, sizeof(offsets)) != sizeof(offsets) ||
        memcmp(offsets.cookie, "xdebugpy", sizeof(offsets.cookie)) != 0)
        return false;
    return version == 0x030e ? offsets.version >= MENDED_IN_3_14
                             : offsets.version >= MENDED_IN_3_15;
}

static int run_by_force(const struct look_python *run, char answer[LOOK_ANSWER_SIZE],
                        struct look_reason *ret_reason)
{
    static struct asking asking;
    const struct look_use first = {find, ask, &asking}, second = {find, run_in_wait, &asking};
    uint64_t mail_at = 0, ignored;
    asking = (struct asking){.run = run};
    int error = look_place_use(run->pid, &first, &mail_at, ret_reason);
    if (error != 0)
        return error;
    asking.mail_at = mail_at;
    if (!wait_answer(run->pid, mail_at, FIRST_NS) && takes_any_stack(run->pid))
        (void)look_place_use(run->pid, &second, &ignored, ret_reason);
    if (wait_answer(run->pid, mail_at, LAST_NS))
        return take_answer(run->pid, mail_at, answer, ret_reason);
    look_refuse(ret_reason, "it is busy with other than Python; it does so when it runs Python "
                            "again");
    return -EINPROGRESS;
}

int look_python_run(const struct look_python *run, char answer[LOOK_ANSWER_SIZE],
                    struct look_reason *ret_reason)
{
    answer[0] = 0;
    int error = look_debugger_run(run, answer, ret_reason);
    return error == LOOK_NOT_TAKEN ? run_by_force(run, answer, ret_reason) : error;
}

#endif
