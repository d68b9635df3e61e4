/* Causal self-attention between its two linear layers, by blocks of queries. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include "matmul.h"

enum {
    QUERIES = 64, /* of a block: keys after the block's last query are skipped, which is all that
                     is saved of the masked half */
    KEYS = 256,   /* whose gradients are computed at a time */
};

struct attention {
    int batch, length, heads, channels;
};

/* Floats that `scratch` has to hold, forward or backward. */
long attention_scratch(struct attention size);

/* Bytes that attention_backward keeps on the stack of each thread, which is more than anything
   else here does: a block of gradients, and what the product inside it keeps. */
long attention_stack(void);

/* y = softmax(q k^T / sqrt(channels)) v.

   qkv: [rows, 3 * heads * channels], all q, all k, all v, head by head; p takes the weights
   [batch, heads, length, length], of which those after a query's block stay as they are;
   y: [rows, heads * channels]. */
void attention(struct multiplier *by, struct attention size, const float *qkv, float *p,
               float *y, float *scratch);

/* The gradient of qkv from dy, that of y. Turns p into the gradient of the scores. */
void attention_backward(struct multiplier *by, struct attention size, const float *qkv, float *p,
                        const float *y, const float *dy, float *dqkv, float *scratch);

#endif
