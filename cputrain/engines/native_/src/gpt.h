/* One GPT decoder in training: pre-norm blocks, learned positions (Radford et al. 2019). */
#ifndef GPT_H
#define GPT_H

#include "activation.h"
#include "adamw.h"
#include "attention.h"
#include "matmul.h"
#include "phases.h"

#include <stdint.h>

struct sizes {
    int n_layer, n_embd, n_head, head_dim, hidden, vocab_size, tied, seq_len, batch_size;
    int activation; /* enum activation */
};

struct layer {
    float *weight, *bias;
};

/* Weights of a block, or their gradients. */
struct block {
    struct layer ln_1, qkv, proj, ln_2, fc, mlp_proj;
};

/* All weights, or all gradients; head is wte where it is tied. */
struct tensors {
    float *wte, *wpe, *head;
    struct block *blocks;
    struct layer ln_f;
};

/* What a norm leaves: see norm.h. */
struct normed {
    float *y, *normed, *scale;
};

/* What a block leaves for its backward pass. */
struct kept {
    struct normed ln_1, ln_2;
    float *qkv, *p, *y, *slope, *after;
};

struct gpt {
    struct sizes sizes;
    struct attention attention;
    struct multiplier multiplier;
    struct adamw adamw;
    long n_weights; /* of the flat arrays, gaps between tensors included */
    float *flat_weights, *flat_gradients, *first, *second;
    struct tensors weights, gradients;
    struct kept *kept;
    struct normed ln_f;
    float *x, *logits, *dx, *branch, *dafter, *dqkv, *dy, *scratch;
    double *losses;
    void *memory; /* of all working arrays */
    long steps, counted;
    struct phases phases;
};

/* The loss of ids [batch, length]; leaves what gpt_backward needs. See cross_entropy. */
double gpt_forward(struct gpt *g, const int64_t *ids, const int64_t *targets, int64_t ignore,
                   float share);

/* All gradients, `share` of them; added to those there where add says so. */
void gpt_backward(struct gpt *g, const int64_t *ids, int add);

#endif
