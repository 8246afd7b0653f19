/* SPDX-License-Identifier: MIT */
/* Tracy's names for C, each once, with no other includes. */
#define TRACY_ENABLE
#include <annot/tracy_shim.h>

int main(void)
{
    TracyCZone(plain, 1);
    TracyCZoneN(named, "named", 1);
    TracyCZoneC(coloured, 0x102030, 1);
    TracyCZoneNC(both, "both", 0x102030, 0);
    TracyCZoneText(plain, "text", 4);
    TracyCZoneName(plain, "text", 4);
    TracyCZoneValue(plain, 1);
    TracyCZoneEnd(both);
    TracyCZoneEnd(coloured);
    TracyCZoneEnd(named);
    TracyCZoneEnd(plain);
    TracyCFrameMark;
    TracyCFrameMarkNamed("frame");
    TracyCFrameMarkStart("frame");
    TracyCFrameMarkEnd("frame");
    TracyCPlot("plot", 1);
    TracyCMessage("text", 4);
    TracyCMessageL("text");
    TracyCSetThreadName("thread");
    TracyCAlloc(NULL, 1);
    TracyCFree(NULL);
    return TracyCIsConnected;
}
