/* SPDX-License-Identifier: MIT */
/* Names that contain numbers, as PyTorch's emit_nvtx creates them, and similar names. */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    char text[2000];
    nvtxRangePushA(
        "aten::mm, seq = 7, op_id = 41, sizes = [[8, 2], [], []], input_op_ids = [(3,0)]");
    nvtxRangePushA("scale<float, 4>, op_id = 42");
    nvtxMarkA("AccumulateGrad, seq = -1");
    nvtxRangePushA("a, b, seq=4");
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeEnd(nvtxRangeStartA("send, sizes = [[1]]"));
    /* Long text is cut. Where the numbers come too late, all of it is the name. */
    snprintf(text, sizeof(text), "cat, op_id = 43, sizes = [%01000d]", 1);
    nvtxRangePushA(text);
    nvtxRangePop();
    snprintf(text, sizeof(text), "%0300d, op_id = 44", 1);
    nvtxRangePushA(text);
    nvtxRangePop();
    return 0;
}
