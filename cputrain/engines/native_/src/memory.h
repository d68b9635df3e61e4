#ifndef MEMORY_H
#define MEMORY_H

#include "gpt.h"

/* Floats to which every tensor and array starts aligned: 64 bytes. */
enum { ALIGN = 16 };

/* Allocate and place every array of a model whose sizes are set; 0 where there is no memory. */
int memory_take(struct gpt *g);

void memory_give_back(struct gpt *g);

#endif
