/* SPDX-License-Identifier: MIT */
/* A driver for fuzz targets without libFuzzer: replays a corpus, then mutates it.
 *
 *     fuzz_x CORPUS...      each a file or a folder
 *
 *     ANNOT_FUZZ_SECONDS    how long to mutate after the replay (default 0)
 *     ANNOT_FUZZ_SEED       seed of the mutations (default 1, so that a run can be repeated)
 *     ANNOT_FUZZ_OUTPUT     folder for an input that crashed or hung (default: the current one)
 *
 * An input that takes longer than 10 seconds counts as hung. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sanitizers report with abort, so that the handler below can save the input. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "abort_on_error=1:handle_segv=0:handle_sigbus=0:handle_abort=0:"
           "allocator_may_return_null=1";
}

__attribute__((visibility("default"))) const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:abort_on_error=1:print_stacktrace=1";
}

enum { INPUT_MAX = 1 << 20, HANG_SECONDS = 10, MUTATIONS_MAX = 8 };

struct input {
    uint8_t *bytes;
    size_t size;
};

static struct input *corpus;
static size_t corpus_count, corpus_capacity;
static struct input current;
static char crash_path[4096];

static void keep_input(int signal_number)
{
    int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd >= 0 && write(fd, current.bytes, current.size) == (ssize_t)current.size) {
        static const char text[] = "the input was kept: ";
        if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ||
            write(STDERR_FILENO, crash_path, strlen(crash_path)) < 0 ||
            write(STDERR_FILENO, "\n", 1) < 0)
            _exit(1);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run_input(const uint8_t *bytes, size_t size)
{
    /* Exactly as large as the data, so that reads past the end are detected. */
    current.bytes = malloc(size ? size : 1);
    current.size = size;
    if (!current.bytes)
        exit(2);
    memcpy(current.bytes, bytes, size);
    alarm(HANG_SECONDS);
    LLVMFuzzerTestOneInput(current.bytes, size);
    alarm(0);
    free(current.bytes);
    current = (struct input){0};
}

static void add_file(const char *path)
{
    struct input input = {malloc(INPUT_MAX), 0};
    FILE *file = fopen(path, "rb");
    if (!file || !input.bytes) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    input.size = fread(input.bytes, 1, INPUT_MAX, file);
    fclose(file);
    uint8_t *fitting = realloc(input.bytes, input.size + 1);
    input.bytes = fitting ? fitting : input.bytes;
    if (corpus_count == corpus_capacity) {
        corpus_capacity = corpus_capacity * 2 + 64;
        corpus = realloc(corpus, corpus_capacity * sizeof(*corpus));
        if (!corpus)
            exit(2);
    }
    corpus[corpus_count++] = input;
}

static void add_path(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        add_file(path);
        return;
    }
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort); /* same order everywhere */
    if (count < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    for (int i = 0; i < count; i++) {
        char file[4096];
        snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            add_file(file);
        free(names[i]);
    }
    free(names);
}

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return limit ? (random_state * UINT64_C(0x2545f4914f6cdd1d) >> 16) % limit : 0;
}

/* Writes a number that breaks sums and comparisons, at any place and width. */
static void put_odd_number(uint8_t *bytes, size_t size)
{
    static const uint64_t odd[] = {0,          1,          0x7f,       0x80,       0xff,
                                   0x7fff,     0x8000,     0xffff,     0x7fffffff, 0x80000000,
                                   0xffffffff, UINT64_MAX, INT64_MAX,  1u << 20,   16,
                                   4096,       65536,      1ull << 63, 0xfffffff0, 1ull << 32};
    uint64_t value = odd[random_below(sizeof(odd) / sizeof(*odd))];
    size_t width = (size_t)1 << random_below(4);
    if (width <= size)
        memcpy(bytes + random_below(size - width + 1), &value, width);
}

static size_t cut_out(uint8_t *bytes, size_t size)
{
    size_t begin = random_below(size), length = random_below(size - begin) + 1;
    memmove(bytes + begin, bytes + begin + length, size - begin - length);
    return size - length;
}

/* Copies a piece of another input, or of this one, over or into this one. */
static size_t graft(uint8_t *bytes, size_t size, const struct input *from)
{
    if (from->size == 0)
        return size;
    size_t begin = random_below(from->size), length = random_below(from->size - begin) + 1;
    size_t at = random_below(size + 1);
    length = length > 4096 ? 4096 : length;
    if (size + length > INPUT_MAX)
        return size;
    if (random_below(2)) {
        memmove(bytes + at + length, bytes + at, size - at);
        memcpy(bytes + at, from->bytes + begin, length);
        return size + length;
    }
    memcpy(bytes + at, from->bytes + begin, length);
    return at + length > size ? at + length : size;
}

static size_t mutate(uint8_t *bytes, size_t size)
{
    if (size == 0)
        return graft(bytes, size, &corpus[random_below(corpus_count)]);
    switch (random_below(8)) {
    case 0:
    case 1:
        bytes[random_below(size)] ^= (uint8_t)(1u << random_below(8));
        return size;
    case 2:
        bytes[random_below(size)] = (uint8_t)random_below(256);
        return size;
    case 3:
    case 4:
        put_odd_number(bytes, size);
        return size;
    case 5:
        return cut_out(bytes, size);
    case 6:
        return random_below(size + 1);
    default:
        return graft(bytes, size, &corpus[random_below(corpus_count)]);
    }
}

static uint64_t mutate_until(time_t deadline)
{
    static uint8_t bytes[INPUT_MAX];
    uint64_t runs = 0;
    for (; time(NULL) < deadline; runs++) {
        const struct input *seed = &corpus[random_below(corpus_count)];
        size_t size = seed->size;
        memcpy(bytes, seed->bytes, size);
        for (uint64_t i = random_below(MUTATIONS_MAX) + 1; i > 0; i--)
            size = mutate(bytes, size);
        run_input(bytes, size);
    }
    return runs;
}

static unsigned long number_from(const char *variable, unsigned long otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoul(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    const char *folder = getenv("ANNOT_FUZZ_OUTPUT");
    snprintf(crash_path, sizeof(crash_path), "%s/crash-%d", folder ? folder : ".", (int)getpid());
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        signal(signals[i], keep_input);
    random_state = number_from("ANNOT_FUZZ_SEED", 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (int i = 1; i < argc; i++)
        add_path(argv[i]);
    if (corpus_count == 0) {
        fprintf(stderr, "usage: %s CORPUS...\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < corpus_count; i++)
        run_input(corpus[i].bytes, corpus[i].size);
    uint64_t runs = mutate_until(time(NULL) + (time_t)number_from("ANNOT_FUZZ_SECONDS", 0));
    printf("%zu inputs replayed, %llu mutated\n", corpus_count, (unsigned long long)runs);
    for (size_t i = 0; i < corpus_count; i++)
        free(corpus[i].bytes);
    free(corpus);
    return 0;
}
