/* What this library says of itself: how it was built, and what is in force while it runs. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "attention.h"
#include "elementary.h"
#include "kernel.h"

#include <limits.h>
#include <omp.h>
#include <pthread.h>

/* Bytes of stack for the frames of functions with few or small arrays, and for those of a
   library that multiplies. */
enum { FRAMES = 64 << 10 };

const char *native_compiler(void)
{
#if defined __clang__
    return __VERSION__;
#else
    return "GCC " __VERSION__;
#endif
}

/* Lanes of fp32 that the innermost loops were written for: 16, 8 or 4. */
int native_lanes(void)
{
    return LANES;
}

int native_threads(void)
{
    return omp_get_max_threads();
}

/* Threads that a parallel region really has. */
int native_team(void)
{
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    return threads;
}

/* Bytes of stack that each of OpenMP's threads needs. */
long native_stack_needed(void)
{
    return attention_stack() + FRAMES;
}

/* Bytes of stack that OpenMP's threads have left: of the one with the least; 0 where one cannot
   be told. */
long native_stack_left(void)
{
    long left = LONG_MAX;
#pragma omp parallel reduction(min : left)
    {
        pthread_attr_t attributes;
        void *lowest;
        size_t size;
        left = 0;
        if (!pthread_getattr_np(pthread_self(), &attributes)) {
            if (!pthread_attr_getstack(&attributes, &lowest, &size))
                left = (char *)&attributes - (char *)lowest;
            pthread_attr_destroy(&attributes);
        }
    }
    return left;
}

/* What schedule(runtime) means: omp_sched_t, and its chunk. */
void native_schedule(int kind_and_chunk[2])
{
    omp_sched_t kind;
    omp_get_schedule(&kind, &kind_and_chunk[1]);
    kind_and_chunk[0] = (int)kind;
}

/* Where OpenMP's functions come from. */
void *native_openmp(void)
{
    return (void *)omp_get_max_threads;
}

/* Whether any thread flushes small numbers to 0: 1, 0, or -1 where it cannot be told. */
int native_flush_to_zero(void)
{
#if defined __x86_64__ || defined __SSE__
    int flushes = 0;
#pragma omp parallel reduction(| : flushes)
    flushes |= (__builtin_ia32_stmxcsr() & 0x8040) != 0; /* FTZ and DAZ of MXCSR */
    return flushes;
#else
    return -1;
#endif
}

/* n elementary functions, for tests: of = 0: exp(x), x <= 0; 1: the normal distribution. */
void native_elementary(int of, long n, const float *x, float *y)
{
    for (long i = 0; i < n; i++)
        y[i] = of ? normal(x[i], exp_negative(-0.5f * x[i] * x[i])) : exp_negative(x[i]);
}
