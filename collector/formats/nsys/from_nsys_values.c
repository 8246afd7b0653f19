/* SPDX-License-Identifier: MIT */
/* jsonText of NVTX_EVENTS: the members of its object are key-values. */
#include "from_nsys_parts.h"

#include <errno.h>
#include <string.h>

enum { NESTED_SIZE = 4096 };

/* What is nested stays JSON. */
static int take_nested(struct nsys *nsys, struct json_reader *reader,
                       const struct json_token *token, struct arg *arg)
{
    char bytes[NESTED_SIZE];
    struct text copy = text_init(bytes, sizeof(bytes));
    int error = json_copy(reader, token, &copy);
    if (copy.length + 1 >= copy.size)
        nsys->sink->left[LEFT_VALUES]++;
    arg->kind = VALUE_STRING;
    arg->value.string = import_string(nsys->sink, bytes, copy.length);
    return error;
}

static int read_member(struct nsys *nsys, struct json_reader *reader, const struct json_token *name)
{
    struct arg arg = {.key = import_string(nsys->sink, name->text, name->length)};
    struct json_token value;
    int status = json_next(reader, &value);
    if (status != 1)
        return status < 0 ? status : -EBADMSG;
    bool nested = value.kind == JSON_OBJECT || value.kind == JSON_ARRAY;
    if (nested)
        status = take_nested(nsys, reader, &value, &arg);
    else if (value.kind != JSON_NULL) /* which stays a value without a kind */
        status = import_scalar(nsys->sink, &value, &arg) ? 0 : -ERANGE;
    else
        status = 0;
    if (status == -ERANGE || nsys->args.count >= SINK_ARGS_MAX) {
        nsys->sink->left[LEFT_VALUES]++;
        return 0;
    }
    return status ? status : vec_push(&nsys->args, arg);
}

static int read_object(struct nsys *nsys, struct json_reader *reader)
{
    struct json_token token;
    int status = json_next(reader, &token);
    bool object = status == 1 && token.kind == JSON_OBJECT;
    while (object && (status = json_next(reader, &token)) == 1 && token.key) {
        status = read_member(nsys, reader, &token);
        if (status)
            return status;
    }
    return status < 0 ? status : object ? 0 : -EBADMSG;
}

int nsys_take_json(struct nsys *nsys, const char *bytes, size_t size)
{
    struct import_input *input = import_input_memory((const uint8_t *)bytes, size);
    struct json_reader reader;
    if (!input)
        return -ENOMEM;
    json_reader_init(&reader, input);
    int error = read_object(nsys, &reader);
    nsys->sink->left[LEFT_VALUES] += error == -EBADMSG;
    json_reader_fini(&reader);
    import_input_close(input);
    return error == -EBADMSG ? 0 : error;
}
