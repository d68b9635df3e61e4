/* Products by a library, each call on one thread: as `multiply` and `multiply_here`. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "matmul.h"

void library_multiply(struct multiplier *by, int m, int n, int k, struct factor a,
                      struct factor b, float *c, long ldc, int add, const float *bias);

void library_multiply_here(struct multiplier *by, int m, int n, int k, struct factor a,
                           struct factor b, float *c, long ldc, int add);

#endif
