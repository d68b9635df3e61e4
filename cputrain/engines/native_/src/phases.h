/* Where the time of a step goes: the clock of the thread that calls, read where a phase ends.
   Parallel regions end in a barrier, so a phase's time is that of all threads. */
#ifndef PHASES_H
#define PHASES_H

#include <omp.h>

/* By the parts of cputrain.model.parts. */
enum phase { EMBEDDING, ATTENTION, PRODUCTS, HEAD, ELEMENTWISE, OPTIMIZER, N_PHASES };

struct phases {
    int watched; /* 0: no clock is read */
    double at;
    double seconds[N_PHASES];
    long ends[N_PHASES];
};

/* The first phase of a pass starts. */
static inline void phases_start(struct phases *p)
{
    if (p->watched)
        p->at = omp_get_wtime();
}

/* A phase ends, and the next one starts. */
static inline void phase_end(struct phases *p, enum phase which)
{
    if (!p->watched)
        return;
    const double now = omp_get_wtime();
    p->seconds[which] += now - p->at;
    p->ends[which]++;
    p->at = now;
}

#endif
