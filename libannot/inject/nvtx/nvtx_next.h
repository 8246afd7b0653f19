/* SPDX-License-Identifier: MIT */
/* A tool of NVTX that was set before annot: it gets tables of its own, and our callbacks call what
 * it puts there.
 *
 * With such a tool, handles and numbers of ranges are its own, so that whatever annot does not know
 * of works between the program and it; ours are looked up by them (nvtx_map.h). All images of a
 * process share the next tool's tables, as they share ours. Threads: any. */
#ifndef ANNOT_NVTX_NEXT_H
#define ANNOT_NVTX_NEXT_H

#include "nvtx_api.h"
#include "nvtx_extension.h"

/* Lets the next tool, if there is one, take part in an image. */
void nvtx_next_offer(NvtxGetExportTableFunc_t get_table);
/* The same for an extension of one: of its slots, those that only the next tool has are its own. */
void nvtx_next_offer_extension(struct nvtx_extension *extension);

/* Whether any tool but ours has taken part. */
int nvtx_next_is_there(void);

/* What it has there, or 0. */
intptr_t nvtx_next_extension_of(uint32_t module, uint32_t slot);

/* What the next tool has for a callback; NULL: nothing. */
NvtxFunctionPointer nvtx_next_of(uint32_t module, uint32_t id);

/* Our callback that calls ours and the next tool's. NULL: there is none of that id. */
NvtxFunctionPointer nvtx_next_call(uint32_t module, uint32_t id);
/* The same of the modules that name objects. */
NvtxFunctionPointer nvtx_next_name(uint32_t module, uint32_t id);

#endif
