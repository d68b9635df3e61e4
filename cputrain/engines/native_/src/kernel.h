/* The innermost product: a few rows by a few vectors of columns, kept in registers.

   The sizes are chosen so that the sums, one row of B and one element of A fit the vector
   registers: 16 sums of 32 with AVX-512 and NEON, 12 of 16 else (Goto & van de Geijn 2008,
   sec. 6; Van Zee & van de Geijn 2015). Instructions are the compiler's choice. */
#ifndef KERNEL_H
#define KERNEL_H

#if defined __AVX512F__
#define LANES 16
#define KERNEL_ROWS 8
#elif defined __AVX__
#define LANES 8
#define KERNEL_ROWS 6
#elif defined __aarch64__
#define LANES 4
#define KERNEL_ROWS 8
#else
#define LANES 4
#define KERNEL_ROWS 6
#endif
#define KERNEL_COLUMNS (2 * LANES)

/* Where a kernel's result goes: [rows, columns], the rest of the kernel is thrown away. */
struct result {
    float *c;
    long ldc;
    int rows, columns, add;
    const float *bias; /* NULL, or [columns] */
};

/* to = a [KERNEL_ROWS, k] b [k, KERNEL_COLUMNS]; b is a panel of `struct packed`.
   The rows of a are `row` floats apart, each contiguous. */
void kernel_in_place(int k, const float *a, long row, const float *b, const struct result *to);

/* The same; a is packed, column by column. */
void kernel_packed(int k, const float *a, const float *b, const struct result *to);

#endif
