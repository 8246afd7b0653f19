/* SPDX-License-Identifier: MIT */
/* Takes the terminal of `annot top`, draws on it, and restores it. See top.h.
 *
 * Only changed lines are written, in one write, to avoid flicker. The terminal's mode is restored
 * however annot ends: by a signal, by a crash, and while it is stopped. */
#include "top_screen.h"
#include "top.h"
#include "top_draw.h"
#include "top_keys.h"

#include "clock_now.h"
#include "cmd.h"
#include "term.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { ESCAPE_MS = 50, WIDTH_LEAST = 20, WIDTH_MOST = 1000, HEIGHT_MOST = 500 };

/* Samples arrive up to this much later. */
#define SETTLE_NS INT64_C(250000000)

/* Drawing takes at most one part in DRAW_PART of the time. */
enum { DRAW_PART = 200 };

#define PAUSE_NS INT64_C(5000000000) /* longest pause, unless a longer interval was asked for */

/* ---- The terminal ---------------------------------------------------------------------------- */

/* Switches to the alternate screen without a cursor, and back. */
static const char enter_text[] = "\033[?1049h\033[?25l\033[2J";
static const char leave_text[] = "\033[?25h\033[?1049l";

static struct {
    struct termios before;
    int fd; /* source of keys */
    volatile sig_atomic_t taken;
} terminal;

/* Async-signal-safe: also called from signal handlers. */
static void give_back(void)
{
    if (!terminal.taken)
        return;
    terminal.taken = 0;
    ssize_t ignored = write(STDOUT_FILENO, leave_text, sizeof(leave_text) - 1);
    (void)ignored;
    tcsetattr(terminal.fd, TCSADRAIN, &terminal.before);
}

static void on_crash(int number)
{
    give_back();
    signal(number, SIG_DFL);
    raise(number);
}

static int take_terminal(void)
{
    struct termios mode = terminal.before;
    mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    mode.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    mode.c_cc[VMIN] = 0;
    mode.c_cc[VTIME] = 0;
    terminal.taken = 1;
    if (tcsetattr(terminal.fd, TCSADRAIN, &mode) != 0)
        return -errno;
    ssize_t wrote = write(STDOUT_FILENO, enter_text, sizeof(enter_text) - 1);
    return wrote == (ssize_t)sizeof(enter_text) - 1 ? 0 : -EIO;
}

static int open_terminal(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    terminal.fd = isatty(STDIN_FILENO) ? STDIN_FILENO : open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal.fd < 0 || tcgetattr(terminal.fd, &terminal.before) != 0)
        return cmd_fail(CMD_FAILED, "there is no terminal to read keys from\nannot top --once "
                                    "prints one table");
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        signal(crashes[i], on_crash);
    atexit(give_back);
    return take_terminal() == 0 ? 0 : cmd_fail(CMD_FAILED, "cannot use the terminal");
}

/* ---- The screen ------------------------------------------------------------------------------ */

struct screen {
    struct top_session *session;
    struct top_state state;
    struct top_keys keys;
    struct top_frame frame, before; /* `before`: the frame on the terminal */
    struct top_data data;
    struct top_view drawn; /* the view of `data`, which points to it */
    int64_t shown_ns;      /* end of the displayed window; constant while frozen */
    int64_t next_ns, until_ns;
    int64_t interval_ns;
    int error;
};

static void find_size(struct top_frame *frame)
{
    struct winsize size = {0};
    unsigned width = 80, height = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        width = size.ws_col;
        height = size.ws_row;
    }
    frame->width = width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
    frame->height = height > HEIGHT_MOST ? HEIGHT_MOST : height;
}

static const char *line_at(const struct top_frame *frame, size_t at)
{
    return at < frame->lines.count ? frame->lines.items[at] : "";
}

static int write_all(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t wrote = write(STDOUT_FILENO, text, size);
        if (wrote < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        text += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

/* Writes the lines that differ from the last frame. */
static int show(struct screen *screen)
{
    bool all = screen->before.width != screen->frame.width ||
               screen->before.height != screen->frame.height;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return -ENOMEM;
    fputs(all ? "\033[?2026h\033[2J" : "\033[?2026h", out);
    for (size_t i = 0; i < screen->frame.height; i++) {
        const char *line = line_at(&screen->frame, i);
        if (all || strcmp(line, line_at(&screen->before, i)) != 0)
            fprintf(out, "\033[%zu;1H%s\033[K", i + 1, line);
    }
    fputs("\033[?2026l", out);
    int error = fclose(out) != 0 ? -ENOMEM : write_all(text, size);
    free(text);
    top_frame_clear(&screen->before);
    screen->before = screen->frame;
    screen->frame = (struct top_frame){.color = screen->before.color};
    return error;
}

/* Draws the present view up to shown_ns; while frozen, the same part of the samples still kept. */
static int draw(struct screen *screen)
{
    find_size(&screen->frame);
    top_data_free(&screen->data);
    screen->drawn = screen->state.view;
    int error = top_data_make(screen->session, &screen->drawn, screen->shown_ns, &screen->data);
    if (!error)
        error = top_frame_draw(&screen->frame, screen->session, &screen->state, &screen->data);
    return error ? error : show(screen);
}

static int64_t pause_of(const struct screen *screen, int64_t wanted_ns)
{
    int64_t most_ns = screen->interval_ns > PAUSE_NS ? screen->interval_ns : PAUSE_NS;
    if (wanted_ns < screen->interval_ns)
        return screen->interval_ns;
    return wanted_ns < most_ns ? wanted_ns : most_ns;
}

/* Draws a frame. The pause after it grows with the time that drawing took: many threads are drawn
 * less often. */
static int redraw(struct screen *screen)
{
    int64_t begin_ns = clock_now_ns(), draw_ns;
    bool still = screen->state.frozen || screen->state.ended;
    int error = still ? 0 : top_session_renew(screen->session, begin_ns);
    if (!still)
        screen->shown_ns = begin_ns - SETTLE_NS;
    draw_ns = clock_now_ns();
    if (!error)
        error = draw(screen);
    int64_t took_ns = clock_now_ns() - draw_ns;
    screen->next_ns = begin_ns + pause_of(screen, took_ns * DRAW_PART);
    return error;
}

/* ---- Keys and signals ------------------------------------------------------------------------ */

/* Limits the view to the process or thread of the selected row. */
static void choose_row(struct screen *screen)
{
    struct top_state *state = &screen->state;
    bool threads = state->view.kind == TOP_THREADS;
    state->chosen = false;
    if (!threads && state->view.kind != TOP_PROCESSES) {
        snprintf(state->message, sizeof(state->message),
                 "return chooses a process or a thread: 4 or 5 lists them");
        return;
    }
    if (state->selected >= screen->data.rows.count)
        return;
    const struct top_row *row = &screen->data.rows.items[state->selected];
    state->view.one_thread = threads;
    state->view.one_process = !threads;
    state->view.thread = row->thread;
    state->view.process = row->process;
    state->view.filter[0] = '\0';
    state->view.kind = TOP_FUNCTIONS;
    state->view.sort = -1;
    state->selected = state->first = 0;
}

static int reset(struct screen *screen)
{
    screen->state.reset = false;
    snprintf(screen->state.message, sizeof(screen->state.message), "counted anew from here on");
    int error = recent_reset(screen->session->recent, clock_now_ns());
    if (screen->session->memory)
        top_memory_reset(screen->session->memory);
    return error ? error : recent_ranges_reset(screen->session->ranges);
}

/* Stops until SIGCONT. */
static int stop(struct screen *screen)
{
    screen->state.stop = false;
    give_back();
    kill(getpid(), SIGSTOP);
    screen->before.width = 0;
    return take_terminal();
}

static int take_signals(struct screen *screen)
{
    struct signal_sent sent;
    while (signals_take(&screen->session->signals, &sent)) {
        bool redraws = sent.number == SIGWINCH || (sent.number == SIGCONT && terminal.taken);
        screen->state.stop |= sent.number == SIGTSTP;
        screen->state.quit |= signals_is_end(sent.number);
        if (redraws)
            screen->before.width = 0;
        if (redraws || screen->state.stop || screen->state.quit)
            screen->next_ns = 0;
        else
            top_session_take_signal(screen->session, &sent);
        if (sent.number == SIGCONT && terminal.taken) /* the shell may have set its own mode */
            take_terminal();
    }
    return 0;
}

static int take_keys(struct screen *screen, bool ready)
{
    char bytes[64];
    bool frozen = screen->state.frozen;
    ssize_t size = ready ? read(terminal.fd, bytes, sizeof(bytes)) : 0;
    if (ready && (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)))
        return -EIO; /* the terminal has closed */
    if (size > 0)
        top_keys_take(&screen->keys, &screen->state, bytes, (size_t)size);
    else if (top_keys_wait(&screen->keys))
        top_keys_end(&screen->keys, &screen->state);
    else
        return 0;
    if (screen->state.chosen)
        choose_row(screen);
    int error = screen->state.reset ? reset(screen) : 0;
    if (!error && frozen != screen->state.frozen)
        error = top_session_hold(screen->session, screen->state.frozen);
    if (frozen && !screen->state.frozen)
        screen->next_ns = 0;
    if (error)
        return error;
    return screen->state.quit || screen->state.stop ? 0 : draw(screen);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static int wait_for_more(struct screen *screen)
{
    int64_t now_ns = clock_now_ns();
    int64_t rest = screen->next_ns > now_ns ? (screen->next_ns - now_ns) / 1000000 + 1 : 0;
    int timeout = top_session_timeout_ms(screen->session);
    struct pollfd fds[] = {
        {.fd = screen->state.ended ? -1 : top_session_fd(screen->session), .events = POLLIN},
        {.fd = screen->session->signals.fd, .events = POLLIN},
        {.fd = terminal.fd, .events = POLLIN}};
    timeout = screen->state.ended ? 1000 : timeout;
    timeout = rest < timeout || timeout < 0 ? (int)rest : timeout;
    if (top_keys_wait(&screen->keys) && timeout > ESCAPE_MS)
        timeout = ESCAPE_MS;
    poll(fds, sizeof(fds) / sizeof(fds[0]), timeout);
    int error = screen->state.ended ? 0 : top_session_step(screen->session);
    if (!error)
        error = take_signals(screen);
    if (!error)
        error = take_keys(screen, fds[2].revents != 0);
    return error;
}

/* Keeps the last frame on the screen once all programs have ended. */
static void look_for_end(struct screen *screen)
{
    if (screen->state.ended || !top_session_is_over(screen->session))
        return;
    screen->state.ended = true;
    screen->shown_ns = clock_now_ns();
    (void)top_session_complete(screen->session, screen->shown_ns);
}

static int run(struct screen *screen)
{
    int error = 0;
    while (!error && !screen->state.quit &&
           (screen->until_ns == 0 || clock_now_ns() < screen->until_ns)) {
        error = wait_for_more(screen);
        if (!error && screen->state.stop)
            error = stop(screen);
        if (error || clock_now_ns() < screen->next_ns)
            continue;
        look_for_end(screen);
        error = redraw(screen);
    }
    return error;
}

int top_screen_run(struct top_session *session, const struct top_view *view, int64_t until_ns)
{
    struct screen *screen = calloc(1, sizeof(*screen));
    if (!screen)
        return cmd_fail(CMD_FAILED, "out of memory");
    screen->session = session;
    screen->state.view = *view;
    screen->interval_ns = session->values->interval_ns;
    screen->until_ns = until_ns;
    screen->frame.color = term_color(STDOUT_FILENO, NULL);
    int status = open_terminal();
    int error = status == 0 ? run(screen) : 0;
    give_back();
    if (error && error != -EIO && error != -EPIPE)
        status = cmd_fail(CMD_FAILED, "cannot go on: %s", strerror(-error));
    top_frame_clear(&screen->frame);
    top_frame_clear(&screen->before);
    top_data_free(&screen->data);
    free(screen);
    return status;
}
