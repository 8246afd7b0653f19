/* SPDX-License-Identifier: MIT */
/* The table of the module's functions, ended by NULL. */
#ifndef PYANNOT_FUNCTIONS_H
#define PYANNOT_FUNCTIONS_H

#include "compat.h"

extern PyMethodDef functions_table[];

#endif
