/* SPDX-License-Identifier: MIT */
/* The usual way into pyannot: what bootstrap.py does where all goes well, without compiling it. */
#ifndef PYANNOT_QUICK_H
#define PYANNOT_QUICK_H

/* Whether pyannot has begun, or is not wanted. 0: not this way, bootstrap.py may look further and
 * tell why. -1: an exception is set that is not ours, that of a signal. Needs the GIL. */
int quick_begin(void);

#endif
