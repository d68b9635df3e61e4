/* Elementary functions in fp32 that compilers turn into vector code: no calls, no tables. */
#ifndef ELEMENTARY_H
#define ELEMENTARY_H

#include <stdint.h>

/* With -ffast-math compilers take every number to be none of NaN; integers they leave alone. */
union bits {
    float number;
    uint32_t whole;
};

/* x; NaN where `other` is. */
static inline float or_nan(float x, float other)
{
    union bits result = {.number = x};
    const union bits of = {.number = other};
    result.whole |= (of.whole & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : 0;
    return result.number;
}

/* max(x, 0); NaN where x is.

   0 is what has the bits from 0x80000000, -0, to 0xff800000, -infinity: moved, as numbers with a
   sign, they are the highest ones. NaN with a sign lies above them and is one of the lowest. */
static inline float above_zero(float x)
{
    union bits u = {.number = x};
    u.whole = (int32_t)(u.whole + 0x807fffff) < 0x007fffff ? u.whole : 0;
    return u.number;
}

/* exp(x) for x <= 0; below -87 it is exp(-87), and of NaN any number.

   x = n ln 2 + r, |r| <= ln 2 / 2; exp(r) by a polynomial of its own minimax fit with a relative
   error of 3e-9, so what is left is rounding: 2e-7 of the result with fused multiply-add,
   1e-7 |x| without. */
static inline float exp_negative(float x)
{
    x = x > -87.0f ? x : -87.0f;
    const int32_t n = (int32_t)(x * 1.44269504f - 0.5f); /* to the nearest: x is not positive */
    const float r = x - (float)n * 0.693147182f;
    float p = 0.00138145985f;
    p = p * r + 0.00836871689f;
    p = p * r + 0.0416683880f;
    p = p * r + 0.166665206f;
    p = p * r + 0.499999934f;
    p = p * r * r + r + 1.0f;
    union bits result = {.number = p}; /* times 2^n */
    result.whole += (uint32_t)n << 23;
    return result.number;
}

/* The tail of the normal distribution beyond x >= 0, given exp(-x^2 / 2).

   A polynomial in t = 1 / (1 + 0.38 x), of the form of Abramowitz & Stegun 1964, 7.1.26, but of
   degree 6 and fitted anew (minimax of the absolute error): 1.8e-8, and 1.8e-7 with rounding. */
static inline float normal_tail(float x, float gauss)
{
    const float t = 1.0f / (1.0f + 0.38f * x);
    float p = 0.0502440073f;
    p = p * t - 0.257708848f;
    p = p * t + 0.407431960f;
    p = p * t - 0.0469137058f;
    p = p * t + 0.200992882f;
    p = p * t + 0.145953700f;
    return p * t * gauss;
}

/* The normal distribution function (1 + erf(x / sqrt 2)) / 2. */
static inline float normal(float x, float gauss)
{
    const float tail = normal_tail(x < 0 ? -x : x, gauss);
    return x < 0 ? tail : 1.0f - tail;
}

#endif
