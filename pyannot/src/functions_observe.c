/* SPDX-License-Identifier: MIT */
/* See functions_observe.h. */
#include "functions_observe.h"

#include "naming.h"
#include "observed.h"
#include "state.h"
#include "task.h"

static PyMethodDef table[] = {
    {"tasks_watch", tasks_watch, METH_VARARGS,
     PyDoc_STR("tasks_watch(get_running_loop, current_task, /)\n--\n\n"
               "Ranges inside of tasks go to tracks of theirs.")},
    {"tasks_unwatch", tasks_unwatch, METH_NOARGS, PyDoc_STR("tasks_unwatch()\n--\n\n")},
    {"tasks_types", tasks_types, METH_VARARGS,
     PyDoc_STR("tasks_types(types, steps, /)\n--\n\nThe types of tasks; whether steps are shown.")},
    {"tasks_slow_threshold", tasks_slow_threshold, METH_O,
     PyDoc_STR("tasks_slow_threshold(nanoseconds, /)\n--\n\n0: no turn of a loop is too long.")},
    {"tasks_slow_turns", tasks_slow_turns, METH_NOARGS,
     PyDoc_STR("tasks_slow_turns()\n--\n\n[(place, number, thread, milliseconds, None)]")},
    {"tasks_slow_endless", tasks_slow_endless, METH_O,
     PyDoc_STR("tasks_slow_endless(nanoseconds, /)\n--\n\nThe same, with their stacks.")},
    {"tasks_slow_stack", tasks_slow_stack, METH_VARARGS,
     PyDoc_STR("tasks_slow_stack(place, number, text, /)\n--\n\nTells where a turn is.")},
    {"collected", (PyCFunction)(void (*)(void))observe_collected, METH_FASTCALL,
     PyDoc_STR("collected(phase, info, /)\n--\n\nFor gc.callbacks.")},
    {"offer_process_name", naming_offer_process, METH_O,
     PyDoc_STR("offer_process_name(name, /)\n--\n\nUnless the program has named it itself.")},
    {"offer_thread_name", naming_offer_thread, METH_O,
     PyDoc_STR("offer_thread_name(name, /)\n--\n\nUnless the program has named it itself.")},
    {"tell_thread_name", (PyCFunction)(void (*)(void))naming_tell_thread, METH_FASTCALL,
     PyDoc_STR("tell_thread_name(number, name, /)\n--\n\nOf any thread of this process.")},
    {"starts_watch", starts_watch, METH_O,
     PyDoc_STR("starts_watch(on, /)\n--\n\nWhether forks get arrows.")},
    {"starts_before_fork", starts_before_fork, METH_NOARGS,
     PyDoc_STR("starts_before_fork()\n--\n\nFor os.register_at_fork.")},
    {"starts_after_fork_in_parent", starts_after_fork_in_parent, METH_NOARGS,
     PyDoc_STR("starts_after_fork_in_parent()\n--\n\nFor os.register_at_fork.")},
    {"starts_after_fork_in_child", starts_after_fork_in_child, METH_NOARGS,
     PyDoc_STR("starts_after_fork_in_child()\n--\n\nFor os.register_at_fork.")},
    {"starts_arrived", starts_arrived, METH_NOARGS,
     PyDoc_STR("starts_arrived()\n--\n\nThe arrow from who started this program.")},
    {NULL, NULL, 0, NULL},
};

int observe_functions_add(PyObject *module)
{
    return task_install(module) < 0 ? -1 : PyModule_AddFunctions(module, table);
}
