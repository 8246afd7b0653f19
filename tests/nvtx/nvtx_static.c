/* SPDX-License-Identifier: MIT */
/* A program that contains the injection library. */
#include "nvtx_ledger.h"

#include <nvtx3/nvToolsExt.h>

int main(void)
{
    ledger("pushed", "", "from the program", "");
    nvtxRangePushA("from the program");
    nvtxRangePop();
    return 0;
}
