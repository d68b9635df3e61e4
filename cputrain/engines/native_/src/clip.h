/* Gradients held to a norm (Pascanu et al. 2013). */
#ifndef CLIP_H
#define CLIP_H

/* The norm of x [n]; x is scaled down to the norm `most` where it is longer. The same numbers give
   the same norm whatever the threads do first. */
double clip(long n, float *x, double most);

#endif
