#include "rows.h"
#include "elementary.h"

float row_sum(int n, const float *x)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

float row_dot(int n, const float *x, const float *y)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

float row_largest(int n, const float *x)
{
    float largest = x[0];
#pragma omp simd reduction(max : largest)
    for (int i = 1; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    return largest;
}

float row_exp(int n, float *x, float scale, float largest)
{
    float sum = 0, distances = 0; /* the latter NaN where any number is: they have one sign */
#pragma omp simd reduction(+ : sum, distances)
    for (int i = 0; i < n; i++) {
        const float below = largest - x[i];
        distances += below;
        x[i] = exp_negative(-scale * below);
        sum += x[i];
    }
    return or_nan(sum, distances);
}

void row_scale(int n, float *x, float factor)
{
#pragma omp simd
    for (int i = 0; i < n; i++)
        x[i] *= factor;
}
