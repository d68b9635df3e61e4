"""A trained model in the layout of Hugging Face's transformers: GPT-2's and LLaMA's.

`export` reads model.safetensors of a run and writes model.safetensors and config.json, which
`transformers.AutoModelForCausalLM.from_pretrained` takes. Token ids stay: with bytes 0 to 255 are
the bytes and 256 is the end of text; of made paths 44 is the end, and nothing stands before them.
The run's tokenizer goes along, as `transformers.AutoTokenizer.from_pretrained` takes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cputrain import atomic
from cputrain.data import batches, tokenizer_file, walks
from cputrain.errors import UsageError
from cputrain.experiment import Experiment
from cputrain.worker.training import whole

if TYPE_CHECKING:
    import numpy as np

    Arrays = dict[str, np.ndarray]

EPS = 1e-5
"""Of the norms; transformers' classes have another default for LLaMA."""
GPT2 = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "silu": "silu"}
"""transformers' names of activations."""


def config(experiment: Experiment) -> dict[str, Any]:
    """What config.json says.

    Raises:
        UsageError: neither layout can hold the model.
    """
    _check(experiment)
    model, length = experiment.model, experiment.training.seq_len
    is_text = experiment.training.dataset == "text"
    common = {
        "vocab_size": model.vocab_size,
        "tie_word_embeddings": model.tied,
        "torch_dtype": "float32",
        "bos_token_id": batches.END if is_text else None,
        "eos_token_id": batches.END if is_text else walks.END,
    }
    if model.architecture == "gpt":
        return common | {
            "architectures": ["GPT2LMHeadModel"],
            "model_type": "gpt2",
            "n_embd": model.n_embd,
            "n_layer": model.n_layer,
            "n_head": model.n_head,
            "n_inner": model.hidden,
            "n_positions": length,
            "activation_function": GPT2[model.activation],
            "layer_norm_epsilon": EPS,
            **dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), model.dropout),
        }
    return common | {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": model.n_embd,
        "intermediate_size": model.hidden,
        "num_hidden_layers": model.n_layer,
        "num_attention_heads": model.n_head,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.d_head,
        "max_position_embeddings": length,
        "rope_theta": 10_000.0,
        "rms_norm_eps": EPS,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
    }


def _check(experiment: Experiment) -> None:
    model, no = experiment.model, "has no place in transformers' layouts"
    if model.architecture not in ("gpt", "llama"):
        raise UsageError(f"architecture = {model.architecture!r} {no}: gpt and llama have one")
    if model.attention != "full":
        raise UsageError(f"attention = {model.attention!r} {no}: full attention has one")
    if experiment.training.fine_tuning == "lora":
        raise UsageError(f"fine_tuning = 'lora' {no}: merged it has one")
    if model.architecture == "llama" and model.activation != "swiglu":
        raise UsageError(f"llama with activation = {model.activation!r} {no}: swiglu has one")
    if model.architecture == "gpt" and (
        model.activation not in GPT2
        or model.kv_heads != model.n_head
        or model.d_head * model.n_head != model.n_embd
    ):
        raise UsageError(f"gpt with this activation or these heads {no}: llama may")


def tensors(experiment: Experiment, weights: Arrays) -> Arrays:
    """The weights under transformers' names, as its modules hold them; copies.

    Raises:
        UsageError: neither layout can hold the model.
    """
    _check(experiment)
    make = _gpt2 if experiment.model.architecture == "gpt" else _llama
    named = make(experiment, weights)
    if not experiment.model.tied:
        named["lm_head.weight"] = weights["head.weight"]
    return {name: array.copy() for name, array in named.items()}


def _gpt2(experiment: Experiment, weights: Arrays) -> Arrays:
    layers = {
        "attn.qkv": "attn.c_attn",
        "attn.proj": "attn.c_proj",
        "mlp.fc": "mlp.c_fc",
        "mlp.proj": "mlp.c_proj",
    }
    named = {f"transformer.{name}": weights[name] for name in ("wte", "wpe")}
    named = {f"{name}.weight": array for name, array in named.items()}
    for kind in ("weight", "bias"):
        named[f"transformer.ln_f.{kind}"] = weights[f"ln_f.{kind}"]
    for i in range(experiment.model.n_layer):
        for kind in ("weight", "bias"):
            for norm in ("ln_1", "ln_2"):
                named[f"transformer.h.{i}.{norm}.{kind}"] = weights[f"h.{i}.{norm}.{kind}"]
            for own, theirs in layers.items():
                array = weights[f"h.{i}.{own}.{kind}"]
                # Their layers are Conv1D: [in, out].
                named[f"transformer.h.{i}.{theirs}.{kind}"] = array.T if kind == "weight" else array
    return named


def _llama(experiment: Experiment, weights: Arrays) -> Arrays:
    model = experiment.model
    inner, keys = model.n_head * model.d_head, model.kv_heads * model.d_head
    named = {
        "model.embed_tokens.weight": weights["wte"],
        "model.norm.weight": weights["ln_f.weight"],
    }
    for i in range(model.n_layer):
        own, theirs = f"h.{i}", f"model.layers.{i}"
        qkv, fc = weights[f"{own}.attn.qkv.weight"], weights[f"{own}.mlp.fc.weight"]
        named |= {
            f"{theirs}.input_layernorm.weight": weights[f"{own}.ln_1.weight"],
            f"{theirs}.post_attention_layernorm.weight": weights[f"{own}.ln_2.weight"],
            f"{theirs}.self_attn.q_proj.weight": qkv[:inner],
            f"{theirs}.self_attn.k_proj.weight": qkv[inner : inner + keys],
            f"{theirs}.self_attn.v_proj.weight": qkv[inner + keys :],
            f"{theirs}.self_attn.o_proj.weight": weights[f"{own}.attn.proj.weight"],
            # The values' rows come first, then the gates'.
            f"{theirs}.mlp.up_proj.weight": fc[: model.hidden],
            f"{theirs}.mlp.gate_proj.weight": fc[model.hidden :],
            f"{theirs}.mlp.down_proj.weight": weights[f"{own}.mlp.proj.weight"],
        }
    return named


def export(model: Path, folder: Path) -> None:
    """Write a run's model in that layout.

    Raises:
        UsageError: it is no such model, or has no place in a layout.
        OSError: it cannot be written.
    """
    from safetensors.numpy import save

    experiment, weights = whole.load(model)
    named = tensors(experiment, weights)
    atomic.write_bytes(folder / "model.safetensors", save(named, metadata={"format": "pt"}))
    atomic.write_json(folder / "config.json", config(experiment))
    tokenizer = model.with_name(tokenizer_file.FILE)
    if tokenizer.exists():
        atomic.write_bytes(folder / tokenizer_file.FILE, tokenizer.read_bytes())
        atomic.write_json(folder / "tokenizer_config.json", _tokenizer(experiment))


def _tokenizer(experiment: Experiment) -> dict[str, Any]:
    """What tokenizer_config.json says: what reads tokenizer.json, and what its ids are for."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokenizer_file.END_TOKEN,
        "eos_token": tokenizer_file.END_TOKEN,
        "model_max_length": experiment.training.seq_len,
        "clean_up_tokenization_spaces": False,
    }
