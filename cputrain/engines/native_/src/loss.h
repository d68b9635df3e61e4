/* The loss: cross-entropy of the logits, in nats. */
#ifndef LOSS_H
#define LOSS_H

#include <stdint.h>

/* Mean cross-entropy over the targets that are not `ignore`; `counted` takes how many those are
   (the result is 0 where there is none). Turns logits [rows, vocabulary] into `share` of their
   gradient in place. `scratch` holds one double for each row. */
double cross_entropy(int rows, int vocabulary, float *logits, const int64_t *targets,
                     int64_t ignore, float share, double *scratch, long *counted);

#endif
