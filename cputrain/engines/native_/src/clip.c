#include "clip.h"

#include <math.h>

/* What a turn of a loop takes: one number a turn would have "dynamic" wait for each. The sums are
   added up in their order, whoever made them. */
enum { PIECES = 256 };

double clip(long n, float *x, double most)
{
    const long each = (n + PIECES - 1) / PIECES;
    double sums[PIECES];
#pragma omp parallel for schedule(runtime)
    for (int piece = 0; piece < PIECES; piece++) {
        const long start = piece * each, end = start + each < n ? start + each : n;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (long i = start; i < end; i++)
            sum += (double)x[i] * (double)x[i];
        sums[piece] = sum;
    }
    double total = 0;
    for (int piece = 0; piece < PIECES; piece++)
        total += sums[piece];
    const double norm = sqrt(total);
    if (norm > most) {
        const float scale = (float)(most / norm);
#pragma omp parallel for schedule(runtime)
        for (int piece = 0; piece < PIECES; piece++) {
            const long start = piece * each, end = start + each < n ? start + each : n;
#pragma omp simd
            for (long i = start; i < end; i++)
                x[i] *= scale;
        }
    }
    return norm;
}
