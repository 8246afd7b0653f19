/* SPDX-License-Identifier: MIT */
/* A program written for Tracy, with one include changed; test_shims.py knows its output. */
#ifndef TRACY_STAYS_OFF
#define TRACY_ENABLE
#endif
#include <annot/tracy_shim.h>

#include <mutex>

namespace
{

void work()
{
    ZoneScoped;
    ZoneText("text, cut", 4);
    ZoneValue(7);
    {
        ZoneScopedNC("coloured", 0x102030);
        ZoneNamedN(inactive, "inactive", false);
        ZoneTextV(inactive, "nothing", 7);
    }
}

void work_in_c()
{
    TracyCZoneN(zone, "c zone", 1);
    TracyCZoneText(zone, "c text", 6);
    TracyCZone(off, 0);
    TracyCZoneEnd(off);
    TracyCZoneEnd(zone);
}

} // namespace

int main()
{
    TracyLockable(std::mutex, lock);
    const std::lock_guard<LockableBase(std::mutex)> guard(lock);
    tracy::SetThreadName("named by tracy");
    work();
    TracyPlot("plot", 2.5);
    TracyPlot("plot", static_cast<std::int64_t>(3));
    TracyMessage("message, cut", 7);
    TracyMessageL("literal");
    FrameMarkStart("physics");
    FrameMarkEnd("physics");
    work_in_c();
    TracyCPlot("plot", 1);
    FrameMarkNamed("named frame");
    FrameMark;
    return 0;
}
