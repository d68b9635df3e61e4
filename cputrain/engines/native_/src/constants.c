/* The numbers that Python has to know, by name: cputrain.engines.native_.binding reads them, so
   that none has to be the same in two places without anybody looking. */
#include "gpt.h"
#include "kernel.h"
#include "memory.h"

#include <stddef.h>

#define SIZE(structure) {#structure, sizeof(struct structure)}
#define FIELD(structure, field) {#structure "." #field, offsetof(struct structure, field)}

static const struct {
    const char *name;
    long value;
} constants[] = {
    {"activation.gelu", GELU},
    {"activation.gelu_tanh", GELU_TANH},
    {"activation.relu", RELU},
    {"align", ALIGN},
    {"queries", QUERIES},
    {"keys", KEYS},
    {"panel", KERNEL_COLUMNS},
    {"packed", PACKED},
    {"phase.embedding", EMBEDDING},
    {"phase.attention", ATTENTION},
    {"phase.products", PRODUCTS},
    {"phase.head", HEAD},
    {"phase.elementwise", ELEMENTWISE},
    {"phase.optimizer", OPTIMIZER},
    /* Bytes, and where fields start. */
    SIZE(sizes),
    FIELD(sizes, n_layer),
    FIELD(sizes, n_embd),
    FIELD(sizes, n_head),
    FIELD(sizes, head_dim),
    FIELD(sizes, hidden),
    FIELD(sizes, vocab_size),
    FIELD(sizes, tied),
    FIELD(sizes, seq_len),
    FIELD(sizes, batch_size),
    FIELD(sizes, activation),
    SIZE(adamw),
    FIELD(adamw, beta1),
    FIELD(adamw, beta2),
    FIELD(adamw, eps),
    FIELD(adamw, weight_decay),
    SIZE(factor),
    FIELD(factor, at),
    FIELD(factor, row),
    FIELD(factor, column),
};

/* The name of the constant of that number, counted from 0, and its value; NULL after the last. */
const char *native_constant(int number, long *value)
{
    if (number >= (int)(sizeof constants / sizeof *constants))
        return NULL;
    *value = constants[number].value;
    return constants[number].name;
}
