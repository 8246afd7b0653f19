/* SPDX-License-Identifier: MIT */
/* What each image of a program calls that was compiled with NVTX: the executable and every library
 * has pointers of its own, so this is called once for each of them and never says "already done".
 *
 * Threads: any, also in a constructor, inside of dlopen, with locks of the program's held. */
#include "nvtx_api.h"

NVTX_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table ? get_table(NVTX_ETID_CALLBACKS) : NULL;
    return callbacks && callbacks->struct_size >= sizeof(*callbacks);
}
