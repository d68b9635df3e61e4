#include "norm.h"
#include "rows.h"

#include <math.h>

enum {
    ROWS = 8,   /* that one thread takes at a time */
    STRIP = 32, /* columns that one thread sums at a time: no sums that threads share */
};

void norm(int rows, int width, const float *x, const float *weight, const float *bias, float *y,
          float *normed, float *scale)
{
#pragma omp parallel for schedule(runtime)
    for (int start = 0; start < rows; start += ROWS)
        for (int row = start; row < rows && row < start + ROWS; row++) {
            const long at = (long)row * width;
            const float mean = row_sum(width, x + at) / (float)width;
            float *restrict mine = normed + at;
            float *restrict out = y + at;
#pragma omp simd
            for (int i = 0; i < width; i++)
                mine[i] = x[at + i] - mean;
            const float variance = row_dot(width, mine, mine) / (float)width;
            const float factor = 1 / sqrtf(variance + 1e-5f);
            scale[row] = factor;
#pragma omp simd
            for (int i = 0; i < width; i++) {
                mine[i] *= factor;
                out[i] = mine[i] * weight[i] + bias[i];
            }
        }
}

/* The gradients of weight and bias of some columns. */
static void parameters_backward(int rows, int width, int first, int count, const float *dy,
                                const float *normed, float *dweight, float *dbias, int add)
{
    float weight[STRIP] = {0}, bias[STRIP] = {0};
    for (int row = 0; row < rows; row++) {
        const float *restrict here = dy + (long)row * width + first;
        const float *restrict there = normed + (long)row * width + first;
        if (count == STRIP) { /* of fixed bounds */
#pragma omp simd
            for (int i = 0; i < STRIP; i++) {
                weight[i] += here[i] * there[i];
                bias[i] += here[i];
            }
        } else {
            for (int i = 0; i < count; i++) {
                weight[i] += here[i] * there[i];
                bias[i] += here[i];
            }
        }
    }
    for (int i = 0; i < count; i++) {
        dweight[first + i] = (add ? dweight[first + i] : 0) + weight[i];
        dbias[first + i] = (add ? dbias[first + i] : 0) + bias[i];
    }
}

void norm_backward(int rows, int width, const float *dy, const float *weight,
                   const float *normed, const float *scale, float *dx, int add_dx,
                   float *dweight, float *dbias, int add)
{
#pragma omp parallel
    {
#pragma omp for schedule(runtime) nowait
        for (int first = 0; first < width; first += STRIP) {
            const int count = width - first < STRIP ? width - first : STRIP;
            parameters_backward(rows, width, first, count, dy, normed, dweight, dbias, add);
        }
#pragma omp for schedule(runtime)
        for (int start = 0; start < rows; start += ROWS)
            for (int row = start; row < rows && row < start + ROWS; row++) {
                const float *restrict here = dy + (long)row * width;
                const float *restrict mine = normed + (long)row * width;
                float *restrict out = dx + (long)row * width;
                const float factor = scale[row];
                float mean = 0, along = 0;
#pragma omp simd reduction(+ : mean, along)
                for (int i = 0; i < width; i++) {
                    mean += here[i] * weight[i];
                    along += here[i] * weight[i] * mine[i];
                }
                mean /= (float)width;
                along /= (float)width;
                if (add_dx) {
#pragma omp simd
                    for (int i = 0; i < width; i++)
                        out[i] += factor * (here[i] * weight[i] - mean - along * mine[i]);
                } else {
#pragma omp simd
                    for (int i = 0; i < width; i++)
                        out[i] = factor * (here[i] * weight[i] - mean - along * mine[i]);
                }
            }
    }
}

void sum_rows(int rows, int width, const float *x, float *sums, int add)
{
#pragma omp parallel for schedule(runtime)
    for (int first = 0; first < width; first += STRIP) {
        const int count = width - first < STRIP ? width - first : STRIP;
        float mine[STRIP] = {0};
        for (int row = 0; row < rows; row++) {
            const float *restrict here = x + (long)row * width + first;
            if (count == STRIP) {
#pragma omp simd
                for (int i = 0; i < STRIP; i++)
                    mine[i] += here[i];
            } else {
                for (int i = 0; i < count; i++)
                    mine[i] += here[i];
            }
        }
        for (int i = 0; i < count; i++)
            sums[first + i] = (add ? sums[first + i] : 0) + mine[i];
    }
}
