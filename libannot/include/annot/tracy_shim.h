/* SPDX-License-Identifier: MIT */
/* The names of Tracy's C++ and C macros that programs use most, over annot: include this instead of
 * <tracy/Tracy.hpp> or <tracy/TracyC.h>, link libannot instead of the client. As with Tracy, they
 * do nothing unless TRACY_ENABLE is defined: without it, all of annot is disabled in this file.
 *
 * Differences from Tracy:
 * - ZoneText, ZoneName and ZoneValue are marks inside of the zone: a range that has begun keeps its
 *   name. Zones of one thread nest, so TracyCZoneEnd closes the innermost.
 * - A frame is a mark ("Frame"); FrameMarkStart and FrameMarkEnd are a range on a track.
 * - Messages are log messages of severity info; their colour is dropped.
 * - Memory events, locks, GPU zones, images and callstack depths are accepted where listed below,
 *   and not recorded.
 *
 * C++17 and later; C99 and later. */
#ifndef ANNOT_TRACY_SHIM_H
#define ANNOT_TRACY_SHIM_H

#ifndef TRACY_ENABLE
#ifndef ANNOT_DISABLE
#define ANNOT_DISABLE
#endif
#endif

#ifdef __cplusplus
#include <annot/annot.hpp>
#else
#include <annot/annot.h>
#endif

#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Emits a text with a length, as Tracy passes it, of at most 1,024 bytes. */
ANNOT_UNTRACED static inline void annot_tracy_text(const char *text, size_t size, int is_message)
{
    char copy[1026];
    size = size < sizeof(copy) ? size : sizeof(copy) - 1;
    __builtin_memcpy(copy, text, size);
    copy[size] = '\0';
    if (is_message)
        annot_emit_log(ANNOT_SEVERITY_INFO, copy);
    else
        annot_emit_mark(copy);
}

ANNOT_UNTRACED static inline void annot_tracy_value(uint64_t value)
{
    struct annot_event event;
    __builtin_memset(&event, 0, sizeof(event));
    event.text = "value";
    event.payload_kind = ANNOT_PAYLOAD_UINT64;
    event.payload.uint64 = value;
    annot_emit_mark_event(&event);
}

/* Opens a zone; color is Tracy's 0xRRGGBB, 0: default. Returns 1 if it was opened, else 0. */
ANNOT_UNTRACED static inline int annot_tracy_begin(const char *name, uint32_t color, int active)
{
    if (!active || !ANNOT_UNLIKELY(annot_enabled()))
        return 0;
    if (color) {
        struct annot_event event;
        __builtin_memset(&event, 0, sizeof(event));
        event.text = name;
        event.color = color | 0xff000000u;
        annot_emit_push_event(&event);
    } else {
        annot_emit_push(name);
    }
    return 1;
}

/* Returns the track of frames of one name, the same at every call in the process. */
ANNOT_UNTRACED static inline struct annot_track annot_tracy_frames(const char *name)
{
    struct annot_track track = {annot_flow_id(name, (uint64_t)getpid()), 0, 0, 0};
    track.name = annot_name_intern(name);
    return track;
}

ANNOT_UNTRACED static inline void annot_tracy_frame_begin(const char *name)
{
    struct annot_track track = annot_tracy_frames(name);
    annot_emit_track_begin(&track, name);
}

ANNOT_UNTRACED static inline void annot_tracy_frame_end(const char *name)
{
    struct annot_track track = annot_tracy_frames(name);
    annot_emit_track_end(&track);
}

#ifdef __cplusplus
}
#endif

#define ANNOT_TRACY_IF(call) (ANNOT_UNLIKELY(annot_enabled()) ? (call) : (void)0)

/* ---- C++ ------------------------------------------------------------------------------------- */

#ifdef __cplusplus

namespace annot
{
#ifdef ANNOT_DISABLE
inline namespace disabled
{
#endif

class tracy_zone
{
  public:
    ANNOT_UNTRACED tracy_zone(const char *name, std::uint32_t color, bool active) noexcept
        : is_open_(annot_tracy_begin(name, color, active) != 0)
    {
    }

    tracy_zone(const tracy_zone &) = delete;
    tracy_zone &operator=(const tracy_zone &) = delete;

    ANNOT_UNTRACED ~tracy_zone()
    {
        if (ANNOT_UNLIKELY(is_open_))
            annot_emit_pop();
    }

    /* Emits a mark, but not for an inactive zone. */
    ANNOT_UNTRACED void say(const char *text, std::size_t size) const noexcept
    {
        if (ANNOT_UNLIKELY(is_open_))
            annot_tracy_text(text, size, 0);
    }

    ANNOT_UNTRACED void say(std::uint64_t value) const noexcept
    {
        if (ANNOT_UNLIKELY(is_open_))
            annot_tracy_value(value);
    }

  private:
    bool is_open_;
};

#ifdef ANNOT_DISABLE
} // namespace disabled
#endif
} // namespace annot

namespace tracy
{
ANNOT_UNTRACED inline void SetThreadName(const char *name)
{
    annot_name_thread(name);
}
} // namespace tracy

#define ZoneNamedNC(zone, name, color, active)                                                     \
    [[maybe_unused]] const annot::tracy_zone zone((name), (color), (active))
#define ZoneNamed(zone, active)         ZoneNamedNC(zone, __func__, 0, active)
#define ZoneNamedN(zone, name, active)  ZoneNamedNC(zone, name, 0, active)
#define ZoneNamedC(zone, color, active) ZoneNamedNC(zone, __func__, color, active)
#define ZoneScoped                      ZoneNamed(annot_tracy_zone_, true)
#define ZoneScopedN(name)               ZoneNamedN(annot_tracy_zone_, name, true)
#define ZoneScopedC(color)              ZoneNamedC(annot_tracy_zone_, color, true)
#define ZoneScopedNC(name, color)       ZoneNamedNC(annot_tracy_zone_, name, color, true)
#define ZoneTextV(zone, text, size)     (zone).say((text), (size))
#define ZoneNameV(zone, text, size)     (zone).say((text), (size))
#define ZoneValueV(zone, value)         (zone).say(static_cast<std::uint64_t>(value))
#define ZoneText(text, size)            ZoneTextV(annot_tracy_zone_, text, size)
#define ZoneName(text, size)            ZoneNameV(annot_tracy_zone_, text, size)
#define ZoneValue(value)                ZoneValueV(annot_tracy_zone_, value)

#define FrameMark            annot_mark("Frame")
#define FrameMarkNamed(name) annot_mark(name)
#define FrameMarkStart(name) ANNOT_TRACY_IF(annot_tracy_frame_begin(name))
#define FrameMarkEnd(name)   ANNOT_TRACY_IF(annot_tracy_frame_end(name))

#define TracyPlot(name, value)           annot::counter((name), (value))
#define TracyMessage(text, size)         ANNOT_TRACY_IF(annot_tracy_text((text), (size), 1))
#define TracyMessageL(text)              annot_log(ANNOT_SEVERITY_INFO, (text))
#define TracyMessageC(text, size, color) TracyMessage(text, size)
#define TracyMessageLC(text, color)      TracyMessageL(text)
#define TracyAppInfo(text, size)         TracyMessage(text, size)
#define TracyIsConnected                 (annot_enabled() != 0)

#define TracyAlloc(pointer, size)        ((void)0)
#define TracyFree(pointer)               ((void)0)
#define TracyLockable(type, lock)        type lock
#define TracyLockableN(type, lock, text) type lock
#define TracySharedLockable(type, lock)  type lock
#define LockableBase(type)               type
#define LockMark(lock)                   ((void)0)
#define LockableName(lock, text, size)   ((void)0)

#endif

/* ---- C --------------------------------------------------------------------------------------- */

typedef struct annot_tracy_context {
    int active;
} TracyCZoneCtx;

ANNOT_UNTRACED static inline TracyCZoneCtx annot_tracy_open(const char *name, uint32_t color,
                                                            int active)
{
    TracyCZoneCtx zone;
    zone.active = annot_tracy_begin(name, color, active);
    return zone;
}

#define TracyCZoneNC(zone, name, color, active)                                                    \
    const TracyCZoneCtx zone = annot_tracy_open((name), (color), (active))
#define TracyCZone(zone, active)         TracyCZoneNC(zone, __func__, 0, active)
#define TracyCZoneN(zone, name, active)  TracyCZoneNC(zone, name, 0, active)
#define TracyCZoneC(zone, color, active) TracyCZoneNC(zone, __func__, color, active)
#define TracyCZoneEnd(zone)              ((zone).active ? annot_emit_pop() : (void)0)
#define TracyCZoneText(zone, text, size)                                                           \
    ((zone).active ? annot_tracy_text((text), (size), 0) : (void)0)
#define TracyCZoneName(zone, text, size) TracyCZoneText(zone, text, size)
#define TracyCZoneValue(zone, value)     ((zone).active ? annot_tracy_value(value) : (void)0)

#define TracyCFrameMark            annot_mark("Frame")
#define TracyCFrameMarkNamed(name) annot_mark(name)
#define TracyCFrameMarkStart(name) ANNOT_TRACY_IF(annot_tracy_frame_begin(name))
#define TracyCFrameMarkEnd(name)   ANNOT_TRACY_IF(annot_tracy_frame_end(name))
#define TracyCPlot(name, value)    annot_counter((name), (value))
#define TracyCMessage(text, size)  ANNOT_TRACY_IF(annot_tracy_text((text), (size), 1))
#define TracyCMessageL(text)       annot_log(ANNOT_SEVERITY_INFO, (text))
#define TracyCSetThreadName(name)  annot_name_thread(name)
#define TracyCIsConnected          (annot_enabled() != 0)
#define TracyCAlloc(pointer, size) ((void)0)
#define TracyCFree(pointer)        ((void)0)

#endif
