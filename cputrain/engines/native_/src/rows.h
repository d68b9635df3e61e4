/* What is done with single rows of numbers: small functions that several files call often. */
#ifndef ROWS_H
#define ROWS_H

float row_sum(int n, const float *x);
float row_dot(int n, const float *x, const float *y);
float row_largest(int n, const float *x);

/* x = exp(scale * (x - largest)), largest being that of the row; the sum of the result, which is
   NaN where any x is, or where the largest is infinite. scale is positive. */
float row_exp(int n, float *x, float scale, float largest);

/* x *= factor. */
void row_scale(int n, float *x, float factor);

#endif
