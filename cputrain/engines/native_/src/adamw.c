#include "adamw.h"

#include <math.h>

enum { BLOCK = 1 << 14 }; /* parameters that one thread takes at a time */

void adamw_step(struct adamw with, long n, float *parameters, const float *gradients,
                float *first, float *second, double rate, long step)
{
    const double left1 = 1 - pow(with.beta1, (double)step);
    const double left2 = 1 - pow(with.beta2, (double)step);
    /* rate / left1 * m / (sqrt(v / left2) + eps), with the factors gathered. */
    const float size = (float)(rate * sqrt(left2) / left1);
    const float eps = (float)(with.eps * sqrt(left2));
    const float keep = (float)(1 - rate * with.weight_decay);
    const float beta1 = (float)with.beta1, rest1 = (float)(1 - with.beta1);
    const float beta2 = (float)with.beta2, rest2 = (float)(1 - with.beta2);
#pragma omp parallel for schedule(runtime)
    for (long start = 0; start < n; start += BLOCK) {
        const long count = n - start < BLOCK ? n - start : BLOCK;
        float *restrict p = parameters + start;
        const float *restrict g = gradients + start;
        float *restrict m = first + start;
        float *restrict v = second + start;
#pragma omp simd
        for (long i = 0; i < count; i++) {
            m[i] = beta1 * m[i] + rest1 * g[i];
            v[i] = beta2 * v[i] + rest2 * g[i] * g[i];
            p[i] = keep * p[i] - size * m[i] / (sqrtf(v[i]) + eps);
        }
    }
}
