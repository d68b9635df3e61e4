#ifndef MODEL_H
#define MODEL_H

#include "gpt.h"

/* The loss of ids [batch, length]; leaves what gpt_backward needs. See cross_entropy. */
double gpt_forward(struct gpt *g, const int64_t *ids, const int64_t *targets, int64_t ignore,
                   float share);

/* All gradients, `share` of them; added to those there where add says so. */
void gpt_backward(struct gpt *g, const int64_t *ids, int add);

#endif
