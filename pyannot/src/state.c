/* SPDX-License-Identifier: MIT */
/* Makes types on first use: see state.h. */
#include "state.h"

PyTypeObject *state_type_make(struct state *state, enum later_type type)
{
    PyTypeObject *none = NULL;
    if (!state_is_alive(state))
        return NULL;
    PyTypeObject *made = state->type_create(state->module, type);
    if (made == NULL)
        return NULL;
    /* Partner: state_type, and itself: making one may let other threads run. */
    if (__atomic_compare_exchange_n(&state->later_types[type], &none, made, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    Py_DECREF(made);
    return none;
}
