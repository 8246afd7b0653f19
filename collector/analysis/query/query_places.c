/* SPDX-License-Identifier: MIT */
/* Readers of the recording, one a scan: made on demand, and reused. */
#include "query_places.h"

#include "query_state.h"
#include "reader.h"

#include <errno.h>
#include <stdlib.h>

/* Makes a place: opens the recording with samples, or another reader on the options' trace.
 * -errno. */
static int make_place(struct query *query, bool samples, struct query_place **ret_place)
{
    struct query_place *place = calloc(1, sizeof(*place));
    if (!place)
        return -ENOMEM;
    place->whole = samples;
    int error = samples ? store_reader_open(query->options.path, &place->reader)
                        : store_reader_again(query->options.reader, &place->reader);
    if (!error)
        error = vec_push(&query->places, place);
    if (error) {
        store_reader_close(place->reader);
        free(place);
        return error;
    }
    *ret_place = place;
    return 0;
}

struct query_place *query_take_place(struct query *query, bool samples)
{
    struct query_place *place = NULL;
    for (size_t i = 0; i < query->places.count && !place; i++)
        if (!query->places.items[i]->busy && (query->places.items[i]->whole || !samples))
            place = query->places.items[i];
    query->read_error =
        place ? store_reader_rewind(place->reader) : make_place(query, samples, &place);
    if (query->read_error)
        return NULL;
    place->busy = true;
    return place;
}

void query_give_place(struct query_place *place)
{
    place->busy = false;
}
