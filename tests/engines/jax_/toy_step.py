"""A small jitted training step with donated weights, whose parts can be left out or replaced."""

import functools

import jax
import jax.numpy as jnp
import optax

TOKENS, WIDTH, HEADS, VOCAB, LAYERS = 16, 32, 2, 64, 1


def loss(weights, ids, *, attention, dropout, again, numbers):
    """The mean cross-entropy of the next token, of attention and a gelu in each layer."""
    weights = {name: weight.astype(numbers) for name, weight in weights.items()}
    x = weights["table"][ids]

    def layer(x, qkv, up, down, key):
        parts = jnp.split(x @ qkv, 3, axis=-1)
        q, k, v = (part.reshape(*ids.shape, HEADS, -1) for part in parts)
        if attention == "sdpa":
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
            y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
        x = x + y.reshape(x.shape)
        if dropout:
            x = jnp.where(jax.random.bernoulli(key, 1 - dropout, x.shape), x, 0)
        return x + jax.nn.gelu(x @ up, approximate=False) @ down

    run = jax.checkpoint(layer) if again else layer
    key = jax.random.key(0)
    for n in range(LAYERS):
        x = run(x, *(weights[f"{n}.{name}"] for name in ("qkv", "up", "down")), key)
    logits = (x @ weights["table"].T).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, ids).mean()


def compiled(
    *,
    attention="sdpa",
    dropout=0.0,
    again=False,
    numbers=jnp.float32,
    donated=(0, 1),
    options=None,
):
    """The compiled step and its arguments, weights and state first."""
    optimizer = optax.adamw(1e-3)
    lost = functools.partial(
        loss, attention=attention, dropout=dropout, again=again, numbers=numbers
    )

    def step(weights, state, ids):
        value, gradients = jax.value_and_grad(lost)(weights, ids)
        updates, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state, value

    shapes = {"table": (VOCAB, WIDTH)}
    for n in range(LAYERS):
        shapes |= {f"{n}.qkv": (WIDTH, 3 * WIDTH), f"{n}.up": (WIDTH, 4 * WIDTH)}
        shapes |= {f"{n}.down": (4 * WIDTH, WIDTH)}
    weights = {name: jnp.full(shape, 0.01) for name, shape in shapes.items()}
    arguments = weights, optimizer.init(weights), jnp.zeros((2, TOKENS), jnp.int32)
    lowered = jax.jit(step, donate_argnums=donated).lower(*arguments)
    return lowered.compile(compiler_options=options), arguments
