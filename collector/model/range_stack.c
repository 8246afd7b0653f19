/* SPDX-License-Identifier: MIT */
/* Memory of range_stack.h. */
#include "range_stack.h"

int range_stack_grow(struct range_stack *stack)
{
    if (vec_grow((void **)&stack->open, &stack->capacity, stack->count + 1, sizeof(*stack->open)) ||
        vec_grow((void **)&stack->begins, &stack->begins_capacity, stack->capacity,
                 sizeof(*stack->begins)))
        return -ENOMEM;
    for (size_t i = 0; i < stack->capacity; i++)
        stack->begins[i] = &stack->open[i].begin;
    return 0;
}

int range_stack_keep_values(struct range_stack *stack, const struct slice_values *values)
{
    if (vec_reserve(&stack->values, values->count) != 0)
        return -ENOMEM;
    memcpy(stack->values.items + stack->values.count, values->items,
           values->count * sizeof(*values->items));
    stack->values.count += values->count;
    return 0;
}

void range_stack_free(struct range_stack *stack)
{
    free(stack->open);
    free(stack->begins);
    vec_free(&stack->values);
    *stack = (struct range_stack){0};
}

int64_t range_end_ns(const struct trace *trace, uint32_t process, int64_t last_ns)
{
    const struct trace_process *entry = trace_process_get(trace, process);
    if (entry && entry->end_ns)
        return entry->end_ns;
    return time_latest(trace_session_get(trace)->end_ns, last_ns);
}
