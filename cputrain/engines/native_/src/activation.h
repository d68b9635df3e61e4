/* The MLP's activations. */
#ifndef ACTIVATION_H
#define ACTIVATION_H

enum activation { GELU, GELU_TANH, RELU };

/* after = f(x); x becomes the slope f'(x). n numbers. */
void activate(enum activation kind, long n, float *x, float *after);

/* d *= slope. */
void activate_backward(long n, const float *slope, float *d);

#endif
