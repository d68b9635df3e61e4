#include "kernel.h"

#include <string.h>

/* A vector of GCC's kind, which clang has too; without instructions for it, it is arithmetic on
   its elements. Plain arrays were as fast where all went well, but whether a compiler keeps an
   array of sums in registers is luck: clang 14 did at -O2 and was 4 times slower at -O3. */
typedef float vector __attribute__((vector_size(LANES * sizeof(float))));

static void store(float sum[KERNEL_ROWS][KERNEL_COLUMNS], const struct result *to, int n_rows,
                  int n_columns)
{
    for (int i = 0; i < n_rows; i++) {
        float *restrict c = to->c + i * to->ldc;
        if (to->bias)
            for (int j = 0; j < n_columns; j++)
                sum[i][j] += to->bias[j];
        if (to->add)
            for (int j = 0; j < n_columns; j++)
                c[j] += sum[i][j];
        else
            for (int j = 0; j < n_columns; j++)
                c[j] = sum[i][j];
    }
}

/* Element (i, p) of a is a[i * row + p * column]. */
static inline __attribute__((always_inline)) void
kernel(int k, const float *restrict a, long row, long column, const float *restrict b,
       const struct result *to)
{
    vector sum[KERNEL_ROWS][2];
    float result[KERNEL_ROWS][KERNEL_COLUMNS];
    for (int i = 0; i < KERNEL_ROWS; i++)
        sum[i][0] = sum[i][1] = (vector){0};
    for (int p = 0; p < k; p++) {
        vector left, right;
        memcpy(&left, b + (long)p * KERNEL_COLUMNS, sizeof left);
        memcpy(&right, b + (long)p * KERNEL_COLUMNS + LANES, sizeof right);
#pragma GCC unroll 8
        for (int i = 0; i < KERNEL_ROWS; i++) {
            const float x = a[i * row + p * column];
            sum[i][0] += x * left;
            sum[i][1] += x * right;
        }
    }
    memcpy(result, sum, sizeof result);
    if (to->rows == KERNEL_ROWS && to->columns == KERNEL_COLUMNS)
        store(result, to, KERNEL_ROWS, KERNEL_COLUMNS); /* bounds that are fixed are faster */
    else
        store(result, to, to->rows, to->columns);
}

void kernel_in_place(int k, const float *a, long row, const float *b, const struct result *to)
{
    kernel(k, a, row, 1, b, to);
}

void kernel_packed(int k, const float *a, const float *b, const struct result *to)
{
    kernel(k, a, 1, KERNEL_ROWS, b, to);
}
