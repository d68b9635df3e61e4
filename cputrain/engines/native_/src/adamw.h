/* AdamW (Loshchilov & Hutter 2019, alg. 2). */
#ifndef ADAMW_H
#define ADAMW_H

struct adamw {
    double beta1, beta2, eps, weight_decay;
};

/* One update of n parameters; step counts from 1, decay acts on all of them alike. */
void adamw_step(struct adamw with, long n, float *parameters, const float *gradients,
                float *first, float *second, double rate, long step);

#endif
