/* A blocked product: B is packed into panels by all threads, tiles of C are shared out among
   them. A is read where it lies if its rows are contiguous, else packed tile by tile. */
#include "matmul.h"
#include "kernel.h"
#include "library.h"

#include <stddef.h>

enum {
    DEPTH = 256,                     /* of a block along k: a panel of B fits the first cache */
    TILE_ROWS = 8 * KERNEL_ROWS,     /* of C: with DEPTH a block of A fits the second */
    TILE_COLUMNS = 4 * KERNEL_COLUMNS,
    SQUARE = 16,                     /* of a transposition */
};

static inline int least(int a, int b)
{
    return a < b ? a : b;
}

static int panels(int n)
{
    return (n + KERNEL_COLUMNS - 1) / KERNEL_COLUMNS;
}

/* Panels of B that are packed at a time. */
static int panels_at_a_time(int n, int k)
{
    const int fit = PACKED / KERNEL_COLUMNS / k;
    return least(panels(n), fit > 1 ? fit : 1);
}

long packed_floats(int n, int k)
{
    return (long)panels(n) * KERNEL_COLUMNS * k;
}

long work_floats(int n, int k)
{
    return (long)panels_at_a_time(n, k) * KERNEL_COLUMNS * k;
}

long multiply_stack(void)
{
    return TILE_ROWS * DEPTH * (long)sizeof(float);
}

/* Columns [first, first + KERNEL_COLUMNS) of B [k, n], filled up with 0. */
static void pack_panel(int n, int k, struct factor b, int first, float *restrict into)
{
    const int count = least(KERNEL_COLUMNS, n - first);
    const float *restrict from = b.at + first * b.column;
    if (count < KERNEL_COLUMNS)
        for (long i = 0; i < (long)k * KERNEL_COLUMNS; i++)
            into[i] = 0;
    if (b.column == 1 && count == KERNEL_COLUMNS) {
        for (int p = 0; p < k; p++)
#pragma omp simd
            for (int j = 0; j < KERNEL_COLUMNS; j++)
                into[(long)p * KERNEL_COLUMNS + j] = from[p * b.row + j];
        return;
    }
    for (int start = 0; start < k; start += SQUARE) {
        const int end = least(start + SQUARE, k);
        for (int j = 0; j < count; j++)
            for (int p = start; p < end; p++)
                into[(long)p * KERNEL_COLUMNS + j] = from[p * b.row + j * b.column];
    }
}

struct packed pack(int n, int k, struct factor b, float *into)
{
    const struct packed packed = {into, (long)KERNEL_COLUMNS * k};
    for (int i = 0; i < panels(n); i++)
        pack_panel(n, k, b, i * KERNEL_COLUMNS, into + i * packed.panel);
    return packed;
}

struct packed from_row(struct packed b, int first)
{
    return (struct packed){b.at + (long)first * KERNEL_COLUMNS, b.panel};
}

/* Up to KERNEL_ROWS rows of A [m, k], column by column, filled up with 0. */
static void pack_rows(int m, int k, struct factor a, float *restrict into)
{
    if (m == KERNEL_ROWS && a.row == 1) {
        for (int p = 0; p < k; p++)
#pragma omp simd
            for (int i = 0; i < KERNEL_ROWS; i++)
                into[p * KERNEL_ROWS + i] = a.at[p * a.column + i];
        return;
    }
    for (int p = 0; p < k; p++)
        for (int i = 0; i < KERNEL_ROWS; i++)
            into[p * KERNEL_ROWS + i] = i < m ? a.at[i * a.row + p * a.column] : 0;
}

/* c [m, n] as in `multiply`, m up to TILE_ROWS. */
static void tile(int m, int n, int k, struct factor a, struct packed b, float *c, long ldc,
                 int add, const float *bias)
{
    _Alignas(64) float copy[TILE_ROWS * DEPTH];
    for (int start = 0; start < k; start += DEPTH) {
        const int depth = least(DEPTH, k - start);
        const struct factor here = {a.at + start * a.column, a.row, a.column};
        for (int i = 0; i < m; i += KERNEL_ROWS) {
            const struct factor part = {here.at + i * a.row, a.row, a.column};
            if (a.column != 1 || m - i < KERNEL_ROWS)
                pack_rows(least(KERNEL_ROWS, m - i), depth, part, copy + i * DEPTH);
        }
        for (int j = 0; j < n; j += KERNEL_COLUMNS) {
            const float *panel =
                b.at + j / KERNEL_COLUMNS * b.panel + (long)start * KERNEL_COLUMNS;
            for (int i = 0; i < m; i += KERNEL_ROWS) {
                const struct result to = {
                    c + i * ldc + j,
                    ldc,
                    least(KERNEL_ROWS, m - i),
                    least(KERNEL_COLUMNS, n - j),
                    add || start,
                    bias && !start ? bias + j : NULL,
                };
                if (a.column == 1 && to.rows == KERNEL_ROWS)
                    kernel_in_place(depth, here.at + i * a.row, a.row, panel, &to);
                else
                    kernel_packed(depth, copy + i * DEPTH, panel, &to);
            }
        }
    }
}

void multiply(struct multiplier *by, int m, int n, int k, struct factor a, struct factor b,
              float *c, long ldc, int add, const float *bias)
{
    if (by->library) {
        library_multiply(by, m, n, k, a, b, c, ldc, add, bias);
        return;
    }
    by->own++;
    const int width = panels_at_a_time(n, k) * KERNEL_COLUMNS;
    const struct packed packed = {by->work, (long)KERNEL_COLUMNS * k};
    float *const work = by->work;
#pragma omp parallel
    for (int first = 0; first < n; first += width) {
        const int columns = least(width, n - first);
#pragma omp for schedule(runtime)
        for (int i = 0; i < panels(columns); i++)
            pack_panel(n, k, b, first + i * KERNEL_COLUMNS, work + i * packed.panel);
#pragma omp for schedule(runtime) collapse(2)
        for (int i = 0; i < m; i += TILE_ROWS)
            for (int j = 0; j < columns; j += TILE_COLUMNS) {
                const struct factor part = {a.at + i * a.row, a.row, a.column};
                const struct packed there = {
                    packed.at + j / KERNEL_COLUMNS * packed.panel, packed.panel};
                tile(least(TILE_ROWS, m - i), least(TILE_COLUMNS, columns - j), k, part, there,
                     c + i * ldc + first + j, ldc, add, bias ? bias + first + j : NULL);
            }
    }
}

void multiply_here(struct multiplier *by, int m, int n, int k, struct factor a, struct factor b,
                   struct packed packed, float *c, long ldc, int add)
{
    if (by->library) {
        library_multiply_here(by, m, n, k, a, b, c, ldc, add);
        return;
    }
#pragma omp atomic
    by->own++;
    for (int i = 0; i < m; i += TILE_ROWS) {
        const struct factor part = {a.at + i * a.row, a.row, a.column};
        tile(least(TILE_ROWS, m - i), n, k, part, packed, c + i * ldc, ldc, add, NULL);
    }
}
