"""The JAX engine: the whole step is one program, and what made it faster without less work.

Tried with jax 0.10.2 on two cores of a Zen 5 (AVX-512), the baseline at one thread, best CPU time
of many steps; torch 2.13's fused step took 69 to 77 ms beside it.

- The plain step (jax.numpy, jax.nn, optax; 73 ms) spent 15 ms in page faults: XLA asks for all
  temporary numbers in one block, 41 MB here, and glibc returns what is above 32 MiB to the kernel
  after every step. `options`: blocks of 32 MB (10 000 faults a step -> 0). Where the blocks are
  more than some 64 MB in all, glibc returns most of them too: at batch 8 71 000 faults, a tenth
  of the time, which system.allocator = "glibc_thresholds" halves.
- Not taken: jax_cpu_enable_async_dispatch off. The calling thread's memory is glibc's main heap,
  whose free end goes back to the kernel: large shapes fault in every step, and A/A cells of the
  default experiment scatter by 12 % (docs/figures/places.md).
- Fused loops added up the residual stream from the embedding on, in each norm of each block.
  `model`: barriers (and 2-D arrays). XLA drops barriers early on a CPU unless told otherwise.
- 25 copies of weights a step, made as the update writes over what a product still reads.
  `options`: none.
- Gradients by weights went to a slower library. `products`: their first factor is turned before.
- jax.nn.gelu is erfc, with two branches; here it is erf. `layers`.
- A scatter into zeros and a sum of two tables for a tied embedding: the rows are added to the
  head's gradient where that lies. `steps`.
- The gradient of softmax sums over keys; `attention.weighted` sums over channels. By hand
  attention takes 37 ms a step, jax.nn.dot_product_attention 44, and at 1 024 tokens in 2 layers
  130 against 260: that function is JAX's, and its gradient is what XLA makes of it: turned copies,
  slow sums. It computes all pairs of tokens and keeps them, as by hand.
- jax.checkpoint kept as much as without, as XLA computed at once what was put off: with barriers
  88 instead of 318 MB at batch 8, and it is faster.
- bf16: forward and by the input a layer's products are of bf16, by the weight and in attention
  XLA makes fp32 of the factors first; see `model.flops`. It is no faster than fp32 here.

What remains is products, some 30 of 37 ms, at 200 GFLOP/s.
"""
