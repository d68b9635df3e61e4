/* Products by a library's cblas_sgemm. The rows or columns of a product are shared out among
   OpenMP's threads and each calls the library for its own: a library's threads beside these
   would fight with them for the CPUs. */
#include "library.h"

#include <omp.h>

enum {
    ROW_MAJOR = 101, /* cblas.h */
    PLAIN = 111,
    TRANSPOSED = 112,
    STEP = 16, /* rows or columns that stay together */
};

/* Elements between rows or columns in memory: a single one may be given with any distance. */
static int distance(long between, int inside)
{
    return between > inside ? (int)between : inside;
}

static void call(struct multiplier *by, int m, int n, int k, struct factor a, struct factor b,
                 float *c, long ldc, int add)
{
    const int turned_a = a.column != 1, turned_b = b.column != 1;
#pragma omp atomic
    by->library_calls++;
    by->library(ROW_MAJOR, turned_a ? TRANSPOSED : PLAIN, turned_b ? TRANSPOSED : PLAIN, m, n, k,
                1, a.at, turned_a ? distance(a.column, m) : distance(a.row, k), b.at,
                turned_b ? distance(b.column, k) : distance(b.row, n), add ? 1 : 0, c, (int)ldc);
}

/* Element of the part-th of `parts` that starts it. */
static int start_of(int part, int parts, int size)
{
    const int steps = (size + STEP - 1) / STEP;
    const int start = (int)((long)steps * part / parts) * STEP;
    return start < size ? start : size;
}

void library_multiply(struct multiplier *by, int m, int n, int k, struct factor a,
                      struct factor b, float *c, long ldc, int add, const float *bias)
{
    const int parts = omp_get_max_threads(), by_rows = m >= n;
    by->by_library++;
#pragma omp parallel for schedule(runtime)
    for (int part = 0; part < parts; part++) {
        const int size = by_rows ? m : n;
        const int start = start_of(part, parts, size);
        const int count = start_of(part + 1, parts, size) - start;
        if (!count)
            continue;
        const int height = by_rows ? count : m, width = by_rows ? n : count;
        const long first = by_rows ? 0 : start;
        float *mine = c + (by_rows ? start * ldc : start);
        if (bias)
            for (int i = 0; i < height; i++)
#pragma omp simd
                for (int j = 0; j < width; j++)
                    mine[i * ldc + j] = (add ? mine[i * ldc + j] : 0) + bias[first + j];
        const struct factor left = {a.at + (by_rows ? start * a.row : 0), a.row, a.column};
        const struct factor right = {b.at + first * b.column, b.row, b.column};
        call(by, height, width, k, left, right, mine, ldc, add || bias);
    }
}

void library_multiply_here(struct multiplier *by, int m, int n, int k, struct factor a,
                           struct factor b, float *c, long ldc, int add)
{
#pragma omp atomic
    by->by_library++;
    call(by, m, n, k, a, b, c, ldc, add);
}
