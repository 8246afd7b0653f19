/* SPDX-License-Identifier: MIT */
/* The list of findings. See doctor.h. */
#include "doctor.h"

#include <errno.h>
#include <stdio.h>

struct doctor_finding *doctor_add(struct doctor *doctor, enum doctor_group group, const char *name)
{
    static struct doctor_finding spare;
    struct doctor_finding empty = {.group = group};
    snprintf(empty.name, sizeof(empty.name), "%s", name);
    if (vec_push(&doctor->findings, empty) == 0)
        return &doctor->findings.items[doctor->findings.count - 1];
    doctor->error = -ENOMEM;
    spare = empty;
    return &spare;
}

static struct doctor_fact *free_fact(struct doctor_finding *finding, const char *key)
{
    for (size_t i = 0; i < DOCTOR_FACTS_MAX; i++) {
        if (finding->facts[i].key)
            continue;
        finding->facts[i].key = key;
        return &finding->facts[i];
    }
    return NULL;
}

void doctor_fact_number(struct doctor_finding *finding, const char *key, int64_t number)
{
    struct doctor_fact *fact = free_fact(finding, key);
    if (fact)
        fact->number = number;
}

void doctor_fact_text(struct doctor_finding *finding, const char *key, const char *text)
{
    struct doctor_fact *fact = free_fact(finding, key);
    if (!fact)
        return;
    fact->is_text = true;
    snprintf(fact->text, sizeof(fact->text), "%s", text);
}
