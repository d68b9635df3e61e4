#include "embedding.h"

enum {
    ROWS = 16,  /* that one thread takes at a time */
    STRIP = 64, /* channels that one thread adds up at a time: tokens come more than once */
};

void embed(int batch, int length, int width, const int64_t *ids, const float *wte,
           const float *wpe, float *x)
{
    const int rows = batch * length;
#pragma omp parallel for schedule(runtime)
    for (int start = 0; start < rows; start += ROWS)
        for (int row = start; row < rows && row < start + ROWS; row++) {
            const float *restrict token = wte + ids[row] * width;
            const float *restrict place = wpe + (long)(row % length) * width;
            float *restrict out = x + (long)row * width;
#pragma omp simd
            for (int i = 0; i < width; i++)
                out[i] = token[i] + place[i];
        }
}

void embed_backward(int batch, int length, int width, const int64_t *ids, const float *dx,
                    float *dwte, float *dwpe, int add)
{
    const int rows = batch * length;
#pragma omp parallel for schedule(runtime)
    for (int first = 0; first < width; first += STRIP) {
        const int count = width - first < STRIP ? width - first : STRIP;
        for (int row = 0; row < rows; row++) {
            const float *restrict here = dx + (long)row * width + first;
            float *restrict token = dwte + ids[row] * width + first;
            float *restrict place = dwpe + (long)(row % length) * width + first;
            const int fresh = row < length && !add;
#pragma omp simd
            for (int i = 0; i < count; i++) {
                token[i] += here[i];
                place[i] = (fresh ? 0 : place[i]) + here[i];
            }
        }
    }
}
