/* What the library offers to Python (cputrain.engines.native_.binding). */
#include "clip.h"
#include "gpt.h"
#include "memory.h"

#include <stdlib.h>

/* A model with weights of 0; NULL where there is no memory for it. `library` is the address of
   a cblas_sgemm, or NULL. */
struct gpt *native_new(struct sizes sizes, struct adamw adamw, sgemm_function *library)
{
    struct gpt *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->sizes = sizes;
    g->adamw = adamw;
    g->multiplier.library = library;
    g->attention =
        (struct attention){sizes.batch_size, sizes.seq_len, sizes.n_head, sizes.head_dim};
    if (memory_take(g))
        return g;
    memory_give_back(g);
    free(g);
    return NULL;
}

void native_free(struct gpt *g)
{
    memory_give_back(g);
    free(g);
}

/* Floats of the flat arrays. */
long native_size(const struct gpt *g)
{
    return g->n_weights;
}

float *native_weights(const struct gpt *g)
{
    return g->flat_weights;
}

float *native_gradients(const struct gpt *g)
{
    return g->flat_gradients;
}

/* The loss; `counted` takes how many targets it is the mean of. Leaves what the backward pass
   needs for `share` of the gradients. */
double native_forward(struct gpt *g, const int64_t *ids, const int64_t *targets, int64_t ignore,
                      float share, long *counted)
{
    const double loss = gpt_forward(g, ids, targets, ignore, share);
    *counted = g->counted;
    return loss;
}

/* The gradients of the forward pass before, of the same ids; added where add says so. */
void native_backward(struct gpt *g, const int64_t *ids, int add)
{
    gpt_backward(g, ids, add);
}

/* AdamW's moments, as many floats as weights. */
float *native_first(const struct gpt *g)
{
    return g->first;
}

float *native_second(const struct gpt *g)
{
    return g->second;
}

/* Go on as after so many updates. */
void native_set_steps(struct gpt *g, long steps)
{
    g->steps = steps;
}

/* The norm of the gradients, which are scaled down to `most` where it is more. */
double native_clip(struct gpt *g, double most)
{
    return clip(g->n_weights, g->flat_gradients, most);
}

void native_update(struct gpt *g, double rate)
{
    phases_start(&g->phases);
    adamw_step(g->adamw, g->n_weights, g->flat_weights, g->flat_gradients, g->first, g->second,
               rate, ++g->steps);
    phase_end(&g->phases, OPTIMIZER);
}

/* Watch phases from now on, with sums of 0, or no more. */
void native_watch(struct gpt *g, int on)
{
    g->phases = (struct phases){.watched = on};
}

/* Seconds of each phase since then, and how often it ended: arrays of enum phase's size. */
void native_phases(const struct gpt *g, double *seconds, long *ends)
{
    for (int i = 0; i < N_PHASES; i++) {
        seconds[i] = g->phases.seconds[i];
        ends[i] = g->phases.ends[i];
    }
}

long native_steps(const struct gpt *g)
{
    return g->steps;
}

/* Bytes of AdamW's two moments, gaps between tensors included. */
long native_state_bytes(const struct gpt *g)
{
    return 2 * g->n_weights * (long)sizeof(float);
}

/* Products so far: of this library's own, of the other one, and calls of that one. */
void native_products(const struct gpt *g, long counts[3])
{
    counts[0] = g->multiplier.own;
    counts[1] = g->multiplier.by_library;
    counts[2] = g->multiplier.library_calls;
}

/* One product as in matmul.h; 0 where there is no memory for it. */
int native_multiply(int m, int n, int k, struct factor a, struct factor b, float *c, long ldc,
                    int add, const float *bias, sgemm_function *library)
{
    const size_t bytes = (size_t)work_floats(n, k) * sizeof(float);
    struct multiplier by = {.library = library, .work = aligned_alloc(64, (bytes + 63) & ~63UL)};
    if (!by.work)
        return 0;
    multiply(&by, m, n, k, a, b, c, ldc, add, bias);
    free(by.work);
    return 1;
}
