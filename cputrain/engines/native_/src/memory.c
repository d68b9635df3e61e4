/* The arrays of a model: where each tensor lies, and one allocation for all activations. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* Gives out pieces of one array; without an array it only counts. */
struct pieces {
    float *start;
    long used;
};

static float *piece(struct pieces *from, long count)
{
    float *start = from->start ? from->start + from->used : NULL;
    from->used += (count + ALIGN - 1) / ALIGN * ALIGN;
    return start;
}

/* `weight` and `bias` floats. */
static struct layer layer(struct pieces *from, long weight, long bias)
{
    float *matrix = piece(from, weight);
    return (struct layer){matrix, piece(from, bias)};
}

/* In the order of cputrain.model.shapes.weight_shapes. */
static void place_tensors(const struct sizes *s, struct pieces *from, struct tensors *to)
{
    const long width = s->n_embd, inner = (long)s->n_head * s->head_dim, hidden = s->hidden;
    to->wte = piece(from, s->vocab_size * width);
    to->wpe = piece(from, s->seq_len * width);
    for (int i = 0; i < s->n_layer; i++)
        to->blocks[i] = (struct block){
            .ln_1 = layer(from, width, width),
            .qkv = layer(from, 3 * inner * width, 3 * inner),
            .proj = layer(from, width * inner, width),
            .ln_2 = layer(from, width, width),
            .fc = layer(from, hidden * width, hidden),
            .mlp_proj = layer(from, width * hidden, width),
        };
    to->ln_f = layer(from, width, width);
    to->head = s->tied ? to->wte : piece(from, s->vocab_size * width);
}

static struct normed normed(struct pieces *from, long rows, long width)
{
    float *y = piece(from, rows * width), *centred = piece(from, rows * width);
    return (struct normed){y, centred, piece(from, rows)};
}

/* The most that any product of a step packs. */
static long most_work(const struct sizes *s)
{
    const int width = s->n_embd, inner = s->n_head * s->head_dim;
    const int rows = s->batch_size * s->seq_len;
    /* [in, out] of every linear layer: forward, gradient of the input, of the weight. */
    const int layers[][2] = {{width, 3 * inner},
                             {inner, width},
                             {width, s->hidden},
                             {s->hidden, width},
                             {width, s->vocab_size}};
    long most = 0;
    for (int i = 0; i < 5; i++) {
        const int in = layers[i][0], out = layers[i][1];
        const long floats[] = {work_floats(out, in), work_floats(in, out), work_floats(in, rows)};
        for (int j = 0; j < 3; j++)
            most = floats[j] > most ? floats[j] : most;
    }
    return most;
}

static void place_arrays(struct gpt *g, struct pieces *from)
{
    const struct sizes *s = &g->sizes;
    const long rows = (long)s->batch_size * s->seq_len, inner = (long)s->n_head * s->head_dim;
    for (int i = 0; i < s->n_layer; i++)
        g->kept[i] = (struct kept){
            .ln_1 = normed(from, rows, s->n_embd),
            .ln_2 = normed(from, rows, s->n_embd),
            .qkv = piece(from, rows * 3 * inner),
            .p = piece(from, rows * s->n_head * s->seq_len),
            .y = piece(from, rows * inner),
            .slope = piece(from, rows * s->hidden),
            .after = piece(from, rows * s->hidden),
        };
    g->ln_f = normed(from, rows, s->n_embd);
    g->x = piece(from, rows * s->n_embd);
    g->logits = piece(from, rows * s->vocab_size);
    g->dx = piece(from, rows * s->n_embd);
    g->branch = piece(from, rows * s->n_embd);
    g->dafter = piece(from, rows * s->hidden);
    g->dqkv = piece(from, rows * 3 * inner);
    g->dy = piece(from, rows * inner);
    g->scratch = piece(from, attention_scratch(g->attention));
    g->multiplier.work = piece(from, most_work(s));
    g->losses = (double *)piece(from, 2 * rows);
}

static float *floats(long count, int zero)
{
    float *array = aligned_alloc(ALIGN * sizeof(float), (size_t)count * sizeof(float));
    if (array && zero)
        memset(array, 0, (size_t)count * sizeof(float));
    return array;
}

int memory_take(struct gpt *g)
{
    struct pieces nothing = {NULL, 0};
    g->kept = calloc((size_t)g->sizes.n_layer, sizeof *g->kept);
    g->weights.blocks = calloc((size_t)g->sizes.n_layer, sizeof(struct block));
    g->gradients.blocks = calloc((size_t)g->sizes.n_layer, sizeof(struct block));
    if (!g->kept || !g->weights.blocks || !g->gradients.blocks)
        return 0;
    place_tensors(&g->sizes, &nothing, &g->weights);
    g->n_weights = nothing.used;
    nothing.used = 0;
    place_arrays(g, &nothing);
    g->flat_weights = floats(g->n_weights, 1);
    g->flat_gradients = floats(g->n_weights, 1);
    g->first = floats(g->n_weights, 1);
    g->second = floats(g->n_weights, 1);
    g->memory = floats(nothing.used, 0);
    if (!g->flat_weights || !g->flat_gradients || !g->first || !g->second || !g->memory)
        return 0;
    struct pieces weights = {g->flat_weights, 0}, gradients = {g->flat_gradients, 0};
    struct pieces arrays = {g->memory, 0};
    place_tensors(&g->sizes, &weights, &g->weights);
    place_tensors(&g->sizes, &gradients, &g->gradients);
    place_arrays(g, &arrays);
    return 1;
}

void memory_give_back(struct gpt *g)
{
    free(g->kept);
    free(g->weights.blocks);
    free(g->gradients.blocks);
    free(g->flat_weights);
    free(g->flat_gradients);
    free(g->first);
    free(g->second);
    free(g->memory);
}
