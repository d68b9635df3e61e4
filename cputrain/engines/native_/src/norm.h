/* Layer norm (Ba, Kiros & Hinton 2016) of [rows, width], and sums over rows. */
#ifndef NORM_H
#define NORM_H

/* normed = (x - mean) * scale, scale = 1 / sqrt(variance + 1e-5) by row; y = normed w + b. */
void norm(int rows, int width, const float *x, const float *weight, const float *bias, float *y,
          float *normed, float *scale);

/* From dy: dx = (add_dx ? dx : 0) + its gradient; dweight and dbias as add says. */
void norm_backward(int rows, int width, const float *dy, const float *weight,
                   const float *normed, const float *scale, float *dx, int add_dx,
                   float *dweight, float *dbias, int add);

/* sums [width] = (add ? sums : 0) + the sum of x over its rows. */
void sum_rows(int rows, int width, const float *x, float *sums, int add);

#endif
