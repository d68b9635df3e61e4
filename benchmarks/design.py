"""Shapes from which the time of a step of other shapes is predicted."""

from cputrain.run import suite

FIELDS = {
    "l": "n_layer",
    "d": "n_embd",
    "h": "n_head",
    "m": "mlp_ratio",
    "v": "vocab_size",
    "s": "seq_len",
    "b": "batch_size",
}
"""By the letter that a value names it with."""


class Design(suite.Suite):
    """Small models that differ in everything at once, which tells what each part of a step costs.

    Chosen so that parts' shares of a step are little alike (D-optimal) and most levels of a field
    are there some times, then changed so that no part's cost rests on a single cell. l layers, d
    channels, h heads, m MLP ratio, v vocabulary, s tokens, b sequences; learning rate over width.
    """

    values = (
        "l4-d256-h4-m4-v257-s256-b1",  # the baseline
        "l8-d64-h2-m2-v257-s64-b2",
        "l6-d64-h1-m4-v257-s128-b8",
        "l2-d96-h1-m1-v257-s128-b1",
        "l2-d128-h4-m2-v257-s512-b1",
        "l3-d128-h1-m1-v257-s1024-b2",
        "l3-d192-h6-m2-v1000-s512-b2",
        "l2-d384-h3-m3-v1000-s1024-b1",
        "l3-d512-h8-m2-v1000-s512-b1",
        "l8-d320-h5-m3-v8000-s64-b1",
        "l1-d384-h6-m3-v8000-s128-b8",
        "l2-d96-h3-m2-v8000-s64-b8",
        "l1-d64-h1-m4-v16000-s128-b4",
        "l6-d64-h2-m2-v16000-s192-b8",
        "l3-d320-h10-m4-v16000-s128-b4",
        "l1-d64-h2-m3-v32000-s192-b4",
        "l1-d768-h12-m1-v32000-s64-b1",
        "l3-d640-h20-m4-v32000-s64-b1",
        "llama-l3-d64-h1-m3-v32000-s64-b1",
        "llama-l2-d512-h8-m4-v16000-s128-b2",
    )
    on_others = (
        "l4-d256-h4-m4-v257-s256-b1",
        "l8-d64-h2-m2-v257-s64-b2",
        "l2-d96-h1-m1-v257-s128-b1",
        "l2-d128-h4-m2-v257-s512-b1",
        "l2-d384-h3-m3-v1000-s1024-b1",
        "l3-d512-h8-m2-v1000-s512-b1",
        "l8-d320-h5-m3-v8000-s64-b1",
        "l1-d384-h6-m3-v8000-s128-b8",
        "l2-d96-h3-m2-v8000-s64-b8",
        "l1-d64-h1-m4-v16000-s128-b4",
        "l1-d768-h12-m1-v32000-s64-b1",
    )
    engines = {"jax": on_others, "native": on_others}
    name = "shape"
    late = True
    calibrates = True

    def vary(self, base, value):
        kind, shape = value.split("-", 1) if value.startswith("llama") else ("gpt", value)
        fields = {FIELDS[part[0]]: int(part[1:]) for part in shape.split("-")}
        rate = base.training.learning_rate * base.model.n_embd / fields["n_embd"]
        activation = "swiglu" if kind == "llama" else base.model.activation
        return base.but(architecture=kind, activation=activation, learning_rate=rate, **fields)
