/* Products of fp32 matrices: this program's own, or a library's cblas_sgemm. */
#ifndef MATMUL_H
#define MATMUL_H

/* cblas_sgemm (netlib's cblas.h) with whole numbers of 32 bits. */
typedef void sgemm_function(int layout, int transposed_a, int transposed_b, int m, int n, int k,
                            float alpha, const float *a, int lda, const float *b, int ldb,
                            float beta, float *c, int ldc);

/* What multiplies. `work` holds WORK floats at least, see work_floats. The counts are of
   products, and of calls of the library: a product shared out among threads makes several. */
struct multiplier {
    sgemm_function *library; /* NULL: this program's own code */
    float *work;
    long own, by_library, library_calls;
};

/* A factor: its element (i, j) is at[i * row + j * column]; row or column is 1. */
struct factor {
    const float *at;
    long row, column;
};

/* A factor B [k, n] as the kernel wants it: panels of some columns, `panel` floats apart;
   inside a panel the elements of a row are neighbours. */
struct packed {
    const float *at;
    long panel;
};

/* Floats of a factor that are packed at a time, about. */
enum { PACKED = 1 << 20 };

/* Floats that a factor B [k, n] takes when it is packed. */
long packed_floats(int n, int k);

/* Floats of `work` that the product of [m, k] and [k, n] takes. */
long work_floats(int n, int k);

/* Bytes that a product keeps on the stack of each thread: a tile of A. */
long multiply_stack(void);

/* Pack all of B [k, n] on this thread. */
struct packed pack(int n, int k, struct factor b, float *into);

/* The same factor from row `first` on. */
struct packed from_row(struct packed b, int first);

/* c [m, n] = (add ? c : 0) + a [m, k] b [k, n] + bias [n], all threads; bias may be NULL.
   The rows of c are ldc floats apart. Called outside of parallel regions. */
void multiply(struct multiplier *by, int m, int n, int k, struct factor a, struct factor b,
              float *c, long ldc, int add, const float *bias);

/* c = (add ? c : 0) + a b on this thread alone, as one product of an outer parallel region.
   Own code reads `packed`, a library reads b; the other one may be empty. */
void multiply_here(struct multiplier *by, int m, int n, int k, struct factor a, struct factor b,
                   struct packed packed, float *c, long ldc, int add);

/* Factors by their place in memory: rows one after the other, or transposed. */
static inline struct factor rows(const float *at, long ld)
{
    return (struct factor){at, ld, 1};
}

static inline struct factor transposed(const float *at, long ld)
{
    return (struct factor){at, 1, ld};
}

#endif
