/* SPDX-License-Identifier: MIT */
/* The class `reader`: an open recording. Thread-safety: as of objects.h. */
#ifndef ANNOT_RECORDING_READER_H
#define ANNOT_RECORDING_READER_H

#include "compat.h"

/* OSError of `code`, a negative errno, about the file; MemoryError. Always NULL. */
PyObject *raise_code(int code, PyObject *path);

#endif
