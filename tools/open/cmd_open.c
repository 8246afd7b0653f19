/* SPDX-License-Identifier: MIT */
/* annot open: shows a recording, or an exported file, in a browser.
 *
 * The page, or the trace for the Perfetto UI, is written to a temporary file, which is unlinked
 * before it is served (file_server.h). Ends once the browser has loaded it. Main thread only. */
#include "cmd.h"
#include "file_server.h"
#include "recording.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts the user's browser in a process that outlives this one; its output is discarded. */

enum { BROWSER_WORDS_MAX = 16, WORDS_SIZE = 1024 };

/* Splits the first of $BROWSER's commands into words and inserts the address. */
static bool split(const char *browser, const char *url, char *text, char **words)
{
    size_t length = strcspn(browser, ":");
    int count = 0;
    if (length >= WORDS_SIZE)
        return false;
    memcpy(text, browser, length);
    text[length] = '\0';
    char *rest = NULL;
    bool placed = false;
    for (char *word = strtok_r(text, " ", &rest); word && count + 2 < BROWSER_WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        bool is_place = strcmp(word, "%s") == 0;
        words[count++] = is_place ? (char *)url : word;
        placed = placed || is_place;
    }
    if (count == 0)
        return false;
    if (!placed)
        words[count++] = (char *)url;
    words[count] = NULL;
    return true;
}

/* Without $BROWSER requires a desktop: elsewhere xdg-open would start a browser in the terminal. */
static bool choose(const char *url, char *text, char **words)
{
    const char *browser = getenv("BROWSER");
    if (browser && browser[0])
        return split(browser, url, text, words);
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        return false;
    return split("xdg-open", url, text, words);
}

/* Runs in the child: starts a session and detaches from annot's streams. The errno of a failure is
 * written to `told`. */
static void execute(char **words, int told)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && nothing >= 0; fd++)
        dup2(nothing, fd);
    if (fork() == 0) {
        execvp(words[0], words);
        int error = errno;
        (void)!write(told, &error, sizeof(error));
    }
    _exit(0);
}

/* Starts the user's browser on an address: $BROWSER, else xdg-open on a desktop. Returns false if
 * neither is available or it cannot be started. Does not wait for it. */
static bool browser_start(const char *url)
{
    char text[WORDS_SIZE], *words[BROWSER_WORDS_MAX];
    int told[2], error = 0;
    if (!choose(url, text, words) || pipe2(told, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        execute(words, told[1]);
    close(told[1]);
    bool failed = pid < 0 || read(told[0], &error, sizeof(error)) > 0;
    close(told[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return !failed;
}

/* The content security policy of the Perfetto UI allows fetching only from this port. */
enum { PERFETTO_PORT = 9001, GRACE_MS = 3000, EXIT_INTERRUPTED = 130, WORDS_MAX = 8 };

#define PERFETTO_UI "https://ui.perfetto.dev"

struct open_values {
    const char *ui;
    bool perfetto, no_browser;
};

/* The kind of a file, by its suffix. */
struct form {
    const char *ending, *type;
    bool for_perfetto;
};

static const struct form forms[] = {
    {".html", "text/html; charset=utf-8", false},
    {".svg", "image/svg+xml", false},
    {".pftrace", "application/octet-stream", true},
    {".pftrace.gz", "application/octet-stream", true},
    {".perfetto-trace", "application/octet-stream", true},
    {".json", "application/octet-stream", true},
    {".json.gz", "application/octet-stream", true},
};

struct job {
    const struct open_values *values;
    const char *file; /* as given by the user */
    const struct form *form;
    char name[NAME_MAX + 16]; /* file name in the address */
    char origin[256];         /* of the Perfetto UI */
    int fd;
};

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
    (void)signal;
    stop = 1;
}

/* ---- The file -------------------------------------------------------------------------------- */

static const struct form *form_of(const char *name)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (text_ends_with(name, forms[i].ending))
            return &forms[i];
    return NULL;
}

/* "dir/x.annot" gives "x.html"; a file that is served unchanged keeps its name. */
static void make_name(struct job *job)
{
    const char *base = text_base_name(job->file);
    size_t length = strlen(base);
    if (form_of(base))
        length -= strlen(job->form->ending);
    else if (text_ends_with(base, ".annot"))
        length -= strlen(".annot");
    struct text name = text_init(job->name, sizeof(job->name));
    text_add(&name, base, length);
    text_format(&name, "%s", job->form->ending);
}

static int fail_file(const char *file, int error)
{
    return cmd_fail(CMD_FAILED, "cannot open %s: %s\nis it a file that you may read?", file,
                    strerror(-error));
}

static int open_file(struct job *job, const char *path)
{
    struct stat status;
    job->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (job->fd < 0)
        return fail_file(job->file, -errno);
    if (fstat(job->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return fail_file(job->file, S_ISDIR(status.st_mode) ? -EISDIR : -ENODEV);
    return CMD_OK;
}

/* Runs `annot html` or `annot export`, which print their own messages. */
static int make_file(struct job *job, const char *folder)
{
    static char force[] = "--force", output[] = "-o", format[] = "--format=perfetto";
    char path[PATH_MAX];
    const struct cmd *maker = job->values->perfetto ? &cmd_export : &cmd_html;
    snprintf(path, sizeof(path), "%s/page%s", folder, job->form->ending);
    char *words[WORDS_MAX] = {force, output, path};
    int count = 3;
    if (job->values->perfetto)
        words[count++] = format;
    words[count++] = (char *)job->file;
    int status = cmd_run(maker, count, words);
    cmd_set_name("open");
    if (access(path, F_OK) == 0) { /* also written for a damaged recording */
        int opened = open_file(job, path);
        status = opened == CMD_OK ? CMD_OK : status;
        unlink(path);
    }
    return status;
}

static int make_in_folder(struct job *job)
{
    const char *temporary = getenv("TMPDIR");
    char folder[PATH_MAX - 64];
    snprintf(folder, sizeof(folder), "%s/annot-open.XXXXXX",
             temporary && temporary[0] ? temporary : "/tmp");
    if (!mkdtemp(folder))
        return cmd_fail(CMD_FAILED, "cannot make a folder in %s: %s\nTMPDIR names another place",
                        temporary && temporary[0] ? temporary : "/tmp", strerror(errno));
    job->form = form_of(job->values->perfetto ? ".x.pftrace" : ".x.html");
    int status = make_file(job, folder);
    rmdir(folder);
    return status;
}

/* The operand is a recording or an exported file. */
static int choose_file(struct job *job)
{
    job->form = form_of(job->file);
    if (!job->form)
        return make_in_folder(job);
    if (job->values->perfetto && !job->form->for_perfetto)
        return cmd_fail(CMD_MISUSE,
                        "the Perfetto UI does not open %s\nwithout --perfetto a browser shows it",
                        job->file);
    return open_file(job, job->file);
}

/* ---- The browser ----------------------------------------------------------------------------- */

static bool for_perfetto(const struct job *job)
{
    return job->form->for_perfetto;
}

static const char *ui_of(const struct job *job)
{
    return job->values->ui ? job->values->ui : PERFETTO_UI;
}

/* Checks the address and sets the origin, "https://host:port". */
static int check_ui(struct job *job)
{
    const char *ui = ui_of(job);
    const char *host = strstr(ui, "://");
    bool known = strncmp(ui, "https://", 8) == 0 || strncmp(ui, "http://", 7) == 0;
    size_t length = host ? (size_t)(host - ui) + 3 + strcspn(host + 3, "/?#") : 0;
    if (!known || length <= (size_t)(host - ui) + 3 || length >= sizeof(job->origin) ||
        strpbrk(ui, " \r\n\t\"<>"))
        return cmd_fail(CMD_MISUSE,
                        "--ui is no address: \"%s\"\nas in --ui https://perfetto.example.org", ui);
    memcpy(job->origin, ui, length);
    job->origin[length] = '\0';
    return CMD_OK;
}

static void make_address(const struct job *job, const char *served, char *buffer, size_t size)
{
    struct text address = text_init(buffer, size);
    const char *ui = ui_of(job);
    bool slash = ui[strlen(ui) - 1] == '/';
    if (for_perfetto(job))
        text_format(&address, "%s%s#!/?url=%s", ui, slash ? "" : "/", served);
    else
        text_format(&address, "%s", served);
}

static int fail_server(const struct job *job, int error)
{
    if (error == -ENOSYS)
        return cmd_fail(CMD_FAILED, "annot was built without annot open\ninstall "
                                    "libmicrohttpd-dev, then " ANNOT_REBUILD
                                    "; or open what annot html and annot export write");
    if (error == -ELIBACC)
        return cmd_fail(CMD_FAILED,
                        "this machine has no libmicrohttpd.so.12\ninstall it (Debian: "
                        "libmicrohttpd12), or open what annot html and annot export write");
    if (error == -EADDRINUSE && for_perfetto(job))
        return cmd_fail(CMD_FAILED,
                        "port %d is in use, and the Perfetto UI reads from no other one\nend "
                        "trace_processor or another annot open, or open the file that annot export "
                        "writes at %s",
                        PERFETTO_PORT, ui_of(job));
    return cmd_fail(CMD_FAILED, "cannot listen on 127.0.0.1: %s", strerror(-error));
}

/* Prints the address if no browser was started, for users to open it themselves. */
static void show(const struct job *job, const char *address)
{
    bool started = !job->values->no_browser && browser_start(address);
    if (started) {
        cmd_note("opened %s in the browser: %s", job->name, address);
        return;
    }
    printf("%s\n", address);
    fflush(stdout);
    cmd_note("serving %s until a browser has loaded it; Ctrl-C stops", job->name);
}

static int serve(struct job *job)
{
    const struct file_server_options options = {
        .fd = job->fd,
        .name = job->name,
        .type = job->form->type,
        .origin = for_perfetto(job) ? job->origin : NULL,
        .port = for_perfetto(job) ? PERFETTO_PORT : 0,
    };
    struct file_server *server;
    char address[FILE_SERVER_URL_SIZE + 512];
    int error = file_server_start(&options, &server);
    if (error)
        return fail_server(job, error);
    make_address(job, file_server_url(server), address, sizeof(address));
    show(job, address);
    error = file_server_run(server, GRACE_MS, &stop);
    file_server_stop(server);
    return error == -EINTR ? EXIT_INTERRUPTED : error ? fail_server(job, error) : CMD_OK;
}

static int run_open(const struct cmd_call *call)
{
    const struct sigaction interrupt = {.sa_handler = on_signal};
    struct sigaction before, before_term;
    char name[RECORDING_NAME_SIZE];
    struct job job = {.values = call->values, .fd = -1};
    job.file = recording_choose(call, name);
    if (!job.file)
        return CMD_FAILED;
    int status = check_ui(&job);
    if (status == CMD_OK)
        status = choose_file(&job);
    if (status == CMD_OK && job.fd >= 0) {
        make_name(&job);
        stop = 0;
        sigaction(SIGINT, &interrupt, &before);
        sigaction(SIGTERM, &interrupt, &before_term);
        status = serve(&job);
        sigaction(SIGINT, &before, NULL);
        sigaction(SIGTERM, &before_term, NULL);
    }
    if (job.fd >= 0)
        close(job.fd);
    return status;
}

#define AT(field) offsetof(struct open_values, field)

static const struct option_spec open_options[] = {
    {"perfetto", 0, OPTION_FLAG, AT(perfetto), NULL,
     "show the recording in the Perfetto UI, not on a page", NULL},
    {"no-browser", 0, OPTION_FLAG, AT(no_browser), NULL, "print the address, and start no browser",
     NULL},
    {"ui", 0, OPTION_TEXT, AT(ui), "URL", "another Perfetto UI (default: " PERFETTO_UI ")", NULL},
    {0},
};

static const char open_details[] = RECORDING_CHOICE_HELP
    "Also opens pages, flame graphs and traces that annot wrote: x.html, x.svg, x.pftrace, "
    "x.json.\n"
    "The browser gets the file from a server on 127.0.0.1, which has nothing else and ends then.\n"
    "\n"
    "exit status: 0; 1 if it could not be opened; 2 wrong command line; 130 interrupted\n";

const struct cmd cmd_open = {
    .name = "open",
    .summary = "show a recording in the browser: its page, or the Perfetto UI",
    .usage = "[OPTIONS] [FILE]",
    .details = open_details,
    .options = open_options,
    .values_size = sizeof(struct open_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_open,
};
