/* GELU by erf and by tanh (Hendrycks & Gimpel 2016), ReLU. The forward pass leaves the slopes. */
#include "activation.h"
#include "elementary.h"

enum { BLOCK = 4096 }; /* numbers that one thread takes at a time */

static void gelu(long n, float *restrict x, float *restrict after)
{
#pragma omp simd
    for (long i = 0; i < n; i++) {
        const float gauss = exp_negative(-0.5f * x[i] * x[i]);
        const float share = normal(x[i], gauss);
        after[i] = x[i] * share;
        x[i] = share + x[i] * gauss * 0.398942280f; /* 1 / sqrt(2 pi) */
    }
}

static void gelu_tanh(long n, float *restrict x, float *restrict after)
{
    const float inner = 0.797884561f, cubic = 0.044715f; /* sqrt(2 / pi) */
#pragma omp simd
    for (long i = 0; i < n; i++) {
        const float square = x[i] * x[i];
        const float u = inner * x[i] * (1 + cubic * square);
        const float e = exp_negative(u < 0 ? 2 * u : -2 * u);
        const float size = (1 - e) / (1 + e), tanh = u < 0 ? -size : size;
        const float half = 0.5f * (1 + tanh);
        after[i] = x[i] * half;
        x[i] = half + 0.5f * x[i] * (1 - tanh * tanh) * inner * (1 + 3 * cubic * square);
    }
}

static void relu(long n, float *restrict x, float *restrict after)
{
#pragma omp simd
    for (long i = 0; i < n; i++) {
        after[i] = above_zero(x[i]);
        x[i] = x[i] > 0 ? 1 : 0;
    }
}

void activate(enum activation kind, long n, float *x, float *after)
{
#pragma omp parallel for schedule(runtime)
    for (long start = 0; start < n; start += BLOCK) {
        const long count = n - start < BLOCK ? n - start : BLOCK;
        if (kind == GELU)
            gelu(count, x + start, after + start);
        else if (kind == GELU_TANH)
            gelu_tanh(count, x + start, after + start);
        else
            relu(count, x + start, after + start);
    }
}

void activate_backward(long n, const float *slope, float *d)
{
#pragma omp parallel for schedule(runtime)
    for (long start = 0; start < n; start += BLOCK) {
        const long end = n - start < BLOCK ? n : start + BLOCK;
#pragma omp simd
        for (long i = start; i < end; i++)
            d[i] *= slope[i];
    }
}
