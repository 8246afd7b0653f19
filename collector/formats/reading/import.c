/* SPDX-License-Identifier: MIT */
/* One import: chooses the format; its importer reads into a sink. */
#include "input.h"
#include "sink.h"

#include "import_formats.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SNIFF_BYTES = 64 << 10 };

const struct import_format *import_format(unsigned index)
{
    unsigned count = 0;
    while (count < index && importers[count])
        count++;
    return importers[count] ? &importers[count]->format : NULL;
}

/* NULL: not recognized. *ret_error: 0 or -errno. */
static const struct importer *choose(struct import_input *input,
                                     const struct import_options *options, int *ret_error)
{
    const char *bytes;
    *ret_error = 0;
    for (unsigned i = 0; options->format && importers[i]; i++)
        if (strcmp(importers[i]->format.name, options->format) == 0)
            return importers[i];
    if (options->format) {
        *ret_error = -ENOPROTOOPT;
        return NULL;
    }
    int64_t size = import_input_peek(input, SNIFF_BYTES, &bytes);
    if (size < 0)
        *ret_error = (int)size;
    for (unsigned i = 0; size > 0 && importers[i]; i++)
        if (importers[i]->sniff(bytes, (size_t)size))
            return importers[i];
    if (!*ret_error)
        *ret_error = -ENOMSG;
    return NULL;
}

int import_run(struct import_input *input, const char *output, const struct import_options *options,
               struct import_result *ret_result)
{
    struct import_sink sink;
    int error;
    *ret_result = (struct import_result){0};
    const struct importer *importer = choose(input, options, &error);
    if (importer) {
        ret_result->format = &importer->format;
        error = import_sink_init(&sink, output, options, ret_result);
        if (!error)
            error = importer->read(input, &sink);
        ret_result->bytes = import_input_offset(input);
        if (import_input_is_broken(input))
            import_cut(&sink, ret_result->bytes);
        if (!error)
            error = import_cut_check(&sink);
        if (!error)
            error = import_sink_finish(&sink);
        import_sink_fini(&sink);
    }
    import_input_close(input);
    return error;
}

int import_file(const char *path, const char *output, const struct import_options *options,
                struct import_result *ret_result)
{
    struct import_input *input;
    *ret_result = (struct import_result){0};
    if (!options->overwrite && !options->unnamed && access(output, F_OK) == 0)
        return -EEXIST;
    int error = import_input_open(path, &input);
    return error ? error : import_run(input, output, options, ret_result);
}

const struct import_format *import_recognize(const char *path)
{
    const struct import_options options = {0};
    struct import_input *input;
    int error = import_input_open(path, &input);
    if (error)
        return NULL;
    const struct importer *importer = choose(input, &options, &error);
    import_input_close(input);
    return importer ? &importer->format : NULL;
}
