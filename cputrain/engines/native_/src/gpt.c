/* Forward and backward pass of the whole model. */
#include "gpt.h"
#include "embedding.h"
#include "loss.h"
#include "norm.h"

#include <stddef.h>
#include <string.h>

static void norm_of(int rows, int width, const float *x, struct layer with, struct normed *to)
{
    norm(rows, width, x, with.weight, with.bias, to->y, to->normed, to->scale);
}

/* y [rows, out] = (add ? y : 0) + x [rows, in] weight^T + bias; bias may be NULL. */
static void linear(struct multiplier *by, int n_rows, int in, int out, const float *x,
                   struct layer with, float *y, int add)
{
    multiply(by, n_rows, out, in, rows(x, in), transposed(with.weight, in), y, out, add,
             with.bias);
}

/* The gradients of a linear layer, added to those there where add says so, and dx, that of its
   input. `gradient.bias` may be NULL. */
static void linear_backward(struct multiplier *by, int n_rows, int in, int out, const float *dy,
                            const float *x, struct layer with, struct layer gradient, float *dx,
                            int add)
{
    multiply(by, out, in, n_rows, transposed(dy, out), rows(x, in), gradient.weight, in, add,
             NULL);
    if (gradient.bias)
        sum_rows(n_rows, out, dy, gradient.bias, add);
    multiply(by, n_rows, in, out, rows(dy, out), rows(with.weight, in), dx, in, 0, NULL);
}

double gpt_forward(struct gpt *g, const int64_t *ids, const int64_t *targets, int64_t ignore,
                   float share)
{
    const struct sizes *s = &g->sizes;
    struct multiplier *by = &g->multiplier;
    const int n_rows = s->batch_size * s->seq_len, width = s->n_embd;
    const int inner = s->n_head * s->head_dim;
    struct phases *p = &g->phases;
    phases_start(p);
    embed(s->batch_size, s->seq_len, width, ids, g->weights.wte, g->weights.wpe, g->x);
    phase_end(p, EMBEDDING);
    for (int i = 0; i < s->n_layer; i++) {
        const struct block *w = &g->weights.blocks[i];
        struct kept *k = &g->kept[i];
        norm_of(n_rows, width, g->x, w->ln_1, &k->ln_1);
        phase_end(p, ELEMENTWISE);
        linear(by, n_rows, width, 3 * inner, k->ln_1.y, w->qkv, k->qkv, 0);
        phase_end(p, PRODUCTS);
        attention(by, g->attention, k->qkv, k->p, k->y, g->scratch);
        phase_end(p, ATTENTION);
        linear(by, n_rows, inner, width, k->y, w->proj, g->x, 1);
        phase_end(p, PRODUCTS);
        norm_of(n_rows, width, g->x, w->ln_2, &k->ln_2);
        phase_end(p, ELEMENTWISE);
        linear(by, n_rows, width, s->hidden, k->ln_2.y, w->fc, k->slope, 0);
        phase_end(p, PRODUCTS);
        activate(s->activation, (long)n_rows * s->hidden, k->slope, k->after);
        phase_end(p, ELEMENTWISE);
        linear(by, n_rows, s->hidden, width, k->after, w->mlp_proj, g->x, 1);
        phase_end(p, PRODUCTS);
    }
    norm_of(n_rows, width, g->x, g->weights.ln_f, &g->ln_f);
    phase_end(p, ELEMENTWISE);
    const struct layer head = {g->weights.head, NULL};
    linear(by, n_rows, width, s->vocab_size, g->ln_f.y, head, g->logits, 0);
    const double loss = cross_entropy(n_rows, s->vocab_size, g->logits, targets, ignore, share,
                                      g->losses, &g->counted);
    phase_end(p, HEAD);
    return loss;
}

static void norm_backward_of(int n_rows, int width, const float *dy, struct layer with,
                             const struct normed *kept, struct layer gradient, float *dx,
                             int add_dx, int add)
{
    norm_backward(n_rows, width, dy, with.weight, kept->normed, kept->scale, dx, add_dx,
                  gradient.weight, gradient.bias, add);
}

static void block_backward(struct gpt *g, int i, int add)
{
    const struct sizes *s = &g->sizes;
    struct multiplier *by = &g->multiplier;
    const int n_rows = s->batch_size * s->seq_len, width = s->n_embd;
    const int inner = s->n_head * s->head_dim;
    const struct block *w = &g->weights.blocks[i], *d = &g->gradients.blocks[i];
    const struct kept *k = &g->kept[i];
    struct phases *p = &g->phases;
    linear_backward(by, n_rows, s->hidden, width, g->dx, k->after, w->mlp_proj, d->mlp_proj,
                    g->dafter, add);
    phase_end(p, PRODUCTS);
    activate_backward((long)n_rows * s->hidden, k->slope, g->dafter);
    phase_end(p, ELEMENTWISE);
    linear_backward(by, n_rows, width, s->hidden, g->dafter, k->ln_2.y, w->fc, d->fc, g->branch,
                    add);
    phase_end(p, PRODUCTS);
    norm_backward_of(n_rows, width, g->branch, w->ln_2, &k->ln_2, d->ln_2, g->dx, 1, add);
    phase_end(p, ELEMENTWISE);
    linear_backward(by, n_rows, inner, width, g->dx, k->y, w->proj, d->proj, g->dy, add);
    phase_end(p, PRODUCTS);
    attention_backward(by, g->attention, k->qkv, k->p, k->y, g->dy, g->dqkv, g->scratch);
    phase_end(p, ATTENTION);
    linear_backward(by, n_rows, width, 3 * inner, g->dqkv, k->ln_1.y, w->qkv, d->qkv, g->branch,
                    add);
    phase_end(p, PRODUCTS);
    norm_backward_of(n_rows, width, g->branch, w->ln_1, &k->ln_1, d->ln_1, g->dx, 1, add);
    phase_end(p, ELEMENTWISE);
}

void gpt_backward(struct gpt *g, const int64_t *ids, int add)
{
    const struct sizes *s = &g->sizes;
    const int n_rows = s->batch_size * s->seq_len, width = s->n_embd;
    const struct layer head = {g->weights.head, NULL}, dhead = {g->gradients.head, NULL};
    struct phases *p = &g->phases;
    phases_start(p);
    linear_backward(&g->multiplier, n_rows, width, s->vocab_size, g->logits, g->ln_f.y, head,
                    dhead, g->branch, add);
    phase_end(p, HEAD);
    norm_backward_of(n_rows, width, g->branch, g->weights.ln_f, &g->ln_f, g->gradients.ln_f,
                     g->dx, 0, add);
    phase_end(p, ELEMENTWISE);
    for (int i = s->n_layer - 1; i >= 0; i--)
        block_backward(g, i, add);
    if (!s->tied && !add)
        memset(g->gradients.wte, 0, (size_t)s->vocab_size * (size_t)width * sizeof(float));
    embed_backward(s->batch_size, s->seq_len, width, ids, g->dx, g->gradients.wte,
                   g->gradients.wpe, add);
    phase_end(p, EMBEDDING);
}
