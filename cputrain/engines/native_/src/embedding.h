/* Token and position embeddings. */
#ifndef EMBEDDING_H
#define EMBEDDING_H

#include <stdint.h>

/* x [batch * length, width] = wte[ids] + wpe. */
void embed(int batch, int length, int width, const int64_t *ids, const float *wte,
           const float *wpe, float *x);

/* dwte[ids] += dx, dwpe = (add ? dwpe : 0) + dx summed over the batch. */
void embed_backward(int batch, int length, int width, const int64_t *ids, const float *dx,
                    float *dwte, float *dwpe, int add);

#endif
