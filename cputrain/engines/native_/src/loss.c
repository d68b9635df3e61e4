#include "loss.h"
#include "rows.h"

#include <math.h>

enum { ROWS = 8 }; /* that one thread takes at a time */

double cross_entropy(int rows, int vocabulary, float *logits, const int64_t *targets,
                     int64_t ignore, float share, double *scratch, long *counted)
{
    long count = 0;
    for (int row = 0; row < rows; row++)
        count += targets[row] != ignore;
    *counted = count;
    const float each = count ? share / (float)count : 0;
#pragma omp parallel for schedule(runtime)
    for (int start = 0; start < rows; start += ROWS)
        for (int row = start; row < rows && row < start + ROWS; row++) {
            float *mine = logits + (long)row * vocabulary;
            if (targets[row] == ignore) {
                row_scale(vocabulary, mine, 0);
                scratch[row] = 0;
                continue;
            }
            const float largest = row_largest(vocabulary, mine);
            const float chosen = mine[targets[row]] - largest;
            const float sum = row_exp(vocabulary, mine, 1, largest);
            scratch[row] = log(sum) - chosen;
            row_scale(vocabulary, mine, each / sum);
            mine[targets[row]] -= each;
        }
    double total = 0;
    for (int row = 0; row < rows; row++)
        total += scratch[row];
    return count ? total / (double)count : 0;
}
