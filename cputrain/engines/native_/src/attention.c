#include "attention.h"
#include "rows.h"

#include <math.h>

/* One head of one sequence: where its rows start in arrays [rows, heads * channels]. */
struct head {
    long q, k, v, y, p; /* offsets */
};

static struct head head_of(struct attention size, int number)
{
    const long inner = (long)size.heads * size.channels;
    const long sequence = number / size.heads, head = number % size.heads;
    const long q = sequence * size.length * 3 * inner + head * size.channels;
    return (struct head){
        .q = q,
        .k = q + inner,
        .v = q + 2 * inner,
        .y = sequence * size.length * inner + head * size.channels,
        .p = (long)number * size.length * size.length,
    };
}

static inline int end_of(int first, int step, int size)
{
    return first + step < size ? first + step : size;
}

/* Floats of one packed factor of one head, [channels, length] or [length, channels]. */
static long packed_slot(struct attention size)
{
    const long a = packed_floats(size.length, size.channels);
    const long b = packed_floats(size.channels, size.length);
    return a > b ? a : b;
}

long attention_scratch(struct attention size)
{
    return 4 * packed_slot(size) * size.batch * size.heads;
}

long attention_stack(void)
{
    return (QUERIES + QUERIES * KEYS) * (long)sizeof(float) + multiply_stack();
}

/* Pack a factor unless a library multiplies. */
static void pack_for(struct multiplier *by, int n, int k, struct factor b, float *into)
{
    if (!by->library)
        pack(n, k, b, into);
}

/* The factor [k, ...] that was packed there. */
static struct packed packed_at(int k, const float *at)
{
    return (struct packed){at, packed_floats(1, k)};
}

/* Scores of the queries [first, end) into their weights; 0 for keys after the query. */
static void softmax(int first, int end, long ld, float *p, float scale)
{
    for (int query = first; query < end; query++) {
        float *mine = p + query * ld;
        const int keys = query + 1;
        const float sum = row_exp(keys, mine, scale, row_largest(keys, mine));
        row_scale(keys, mine, 1 / sum);
        row_scale(end - keys, mine + keys, 0);
    }
}

void attention(struct multiplier *by, struct attention size, const float *qkv, float *p,
               float *y, float *scratch)
{
    const int T = size.length, d = size.channels, heads = size.batch * size.heads;
    const long inner = (long)size.heads * d, ld = 3 * inner, slot = packed_slot(size);
    const float scale = 1 / sqrtf((float)d);
#pragma omp parallel
    {
#pragma omp for schedule(runtime)
        for (int i = 0; i < heads; i++) {
            const struct head at = head_of(size, i);
            pack_for(by, T, d, transposed(qkv + at.k, ld), scratch + 2 * i * slot);
            pack_for(by, d, T, rows(qkv + at.v, ld), scratch + (2 * i + 1) * slot);
        }
#pragma omp for schedule(runtime) collapse(2)
        for (int i = 0; i < heads; i++)
            for (int first = 0; first < T; first += QUERIES) {
                const struct head at = head_of(size, i);
                const int end = end_of(first, QUERIES, T), count = end - first;
                const struct packed keys = packed_at(d, scratch + 2 * i * slot);
                const struct packed values = packed_at(T, scratch + (2 * i + 1) * slot);
                float *mine = p + at.p + (long)first * T;
                multiply_here(by, count, end, d, rows(qkv + at.q + first * ld, ld),
                              transposed(qkv + at.k, ld), keys, mine, T, 0);
                softmax(first, end, T, p + at.p, scale);
                multiply_here(by, count, d, end, rows(mine, T), rows(qkv + at.v, ld), values,
                              y + at.y + first * inner, inner, 0);
            }
    }
}

/* p of the queries [first, end) becomes the gradient of their scores. */
static void scores_backward(struct multiplier *by, struct attention size, struct head at,
                            int first, int end, const float *qkv, float *p, const float *y,
                            const float *dy, struct packed values)
{
    const int T = size.length, d = size.channels;
    const long inner = (long)size.heads * d, ld = 3 * inner;
    const float scale = 1 / sqrtf((float)d);
    float along[QUERIES], dp[QUERIES * KEYS];
    for (int query = first; query < end; query++) {
        const long row = at.y + query * inner;
        along[query - first] = row_dot(d, dy + row, y + row);
    }
    for (int key = 0; key < end; key += KEYS) {
        const int last = end_of(key, KEYS, end), count = last - key;
        const struct packed here = {values.at + key / KEYS * packed_floats(KEYS, d),
                                    values.panel};
        multiply_here(by, end - first, count, d, rows(dy + at.y + first * inner, inner),
                      transposed(qkv + at.v + key * ld, ld), here, dp, KEYS, 0);
        for (int query = first; query < end; query++) {
            float *restrict mine = p + at.p + (long)query * T + key;
            const float *restrict theirs = dp + (query - first) * KEYS;
            const float mean = along[query - first];
#pragma omp simd
            for (int j = 0; j < count; j++)
                mine[j] *= scale * (theirs[j] - mean);
        }
    }
}

void attention_backward(struct multiplier *by, struct attention size, const float *qkv, float *p,
                        const float *y, const float *dy, float *dqkv, float *scratch)
{
    const int T = size.length, d = size.channels, heads = size.batch * size.heads;
    const long inner = (long)size.heads * d, ld = 3 * inner, slot = packed_slot(size);
#pragma omp parallel
    {
#pragma omp for schedule(runtime)
        for (int i = 0; i < heads; i++) {
            const struct head at = head_of(size, i);
            float *mine = scratch + 4 * i * slot;
            pack_for(by, d, T, rows(dy + at.y, inner), mine);
            pack_for(by, T, d, transposed(qkv + at.v, ld), mine + slot);
            pack_for(by, d, T, rows(qkv + at.k, ld), mine + 2 * slot);
            pack_for(by, d, T, rows(qkv + at.q, ld), mine + 3 * slot);
        }
        /* Of the values, from the weights, by blocks of keys and the queries from there on. */
#pragma omp for schedule(runtime) collapse(2)
        for (int i = 0; i < heads; i++)
            for (int first = 0; first < T; first += QUERIES) {
                const struct head at = head_of(size, i);
                const struct packed given = packed_at(T, scratch + 4 * i * slot);
                const long corner = at.p + (long)first * T + first;
                multiply_here(by, end_of(first, QUERIES, T) - first, d, T - first,
                              transposed(p + corner, T), rows(dy + at.y + first * inner, inner),
                              from_row(given, first), dqkv + at.v + first * ld, ld, 0);
            }
        /* Of the scores, which take the place of the weights, and of the queries. */
#pragma omp for schedule(runtime) collapse(2)
        for (int i = 0; i < heads; i++)
            for (int first = 0; first < T; first += QUERIES) {
                const struct head at = head_of(size, i);
                const int end = end_of(first, QUERIES, T);
                const float *mine = scratch + 4 * i * slot;
                scores_backward(by, size, at, first, end, qkv, p, y, dy,
                                packed_at(d, mine + slot));
                multiply_here(by, end - first, d, end, rows(p + at.p + (long)first * T, T),
                              rows(qkv + at.k, ld), packed_at(T, mine + 2 * slot),
                              dqkv + at.q + first * ld, ld, 0);
            }
        /* Of the keys. */
#pragma omp for schedule(runtime) collapse(2)
        for (int i = 0; i < heads; i++)
            for (int first = 0; first < T; first += QUERIES) {
                const struct head at = head_of(size, i);
                const struct packed queries = packed_at(T, scratch + (4 * i + 3) * slot);
                const long corner = at.p + (long)first * T + first;
                multiply_here(by, end_of(first, QUERIES, T) - first, d, T - first,
                              transposed(p + corner, T), rows(qkv + at.q + first * ld, ld),
                              from_row(queries, first), dqkv + at.k + first * ld, ld, 0);
            }
    }
}
