"""Models in transformers' layouts: their loss by these layouts alone is ours.

By plain PyTorch, written here after the layouts; and by transformers itself where it is installed.
"""

import importlib.util
import json
import resource
import subprocess
import sys

import numpy as np
import pytest
from settled import settled

from cputrain.data.batches import Batch
from cputrain.errors import UsageError
from cputrain.experiment.presets import PRESETS
from cputrain.model.initial import initial_weights
from cputrain.worker import saved
from cputrain.worker.training import hf

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

SIZES = {"n_layer": 2, "n_embd": 32, "n_head": 4, "seq_len": 24, "batch_size": 2}
MODELS = {
    "gpt": settled(**SIZES),
    "gpt untied": settled(**SIZES, tied=False, activation="gelu_tanh"),
    "llama": settled(**SIZES, architecture="llama", activation="swiglu"),
    "llama, two key heads": settled(
        **SIZES, architecture="llama", activation="swiglu", n_kv_head=2, tied=False
    ),
}


def batch_of(experiment):
    shape = (experiment.training.batch_size, experiment.training.seq_len + 1)
    ids = np.random.default_rng(3).integers(0, experiment.model.vocab_size, shape)
    return Batch(np.ascontiguousarray(ids[:, :-1]), np.ascontiguousarray(ids[:, 1:]))


def weights_of(experiment):
    """Large enough that every tensor matters for the loss, norms and biases too."""
    draw = np.random.default_rng(5)
    return {
        name: (array + 0.1 * draw.standard_normal(array.shape)).astype(np.float32)
        for name, array in initial_weights(experiment).items()
    }


@pytest.fixture(params=MODELS)
def exported(request, tmp_path):
    """Folder of the export, a batch, and our own loss of it."""
    from cputrain import engines

    experiment = MODELS[request.param]
    weights, batch = weights_of(experiment), batch_of(experiment)
    saved.save(tmp_path / "run", experiment, weights, 10**9)
    hf.export(tmp_path / "run" / saved.MODEL, tmp_path / "hf")
    return tmp_path / "hf", batch, engines.build(experiment, weights).loss(batch)


def attended(q, k, v, heads):
    """[B, T, C] each; the keys' and values' heads are shared where they are fewer."""
    dim = q.shape[-1] // heads
    q, k, v = (x.unflatten(-1, (-1, dim)).transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(heads // k.shape[1], 1) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


def gpt2(w, c, ids):
    def layer(name, x):  # Conv1D
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    def norm(name, x):
        eps = c["layer_norm_epsilon"]
        return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], eps)

    approximate = {"gelu": "none", "gelu_new": "tanh"}[c["activation_function"]]
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"]
    for i in range(c["n_layer"]):
        h = f"transformer.h.{i}"
        q, k, v = layer(f"{h}.attn.c_attn", norm(f"{h}.ln_1", x)).split(c["n_embd"], -1)
        x = x + layer(f"{h}.attn.c_proj", attended(q, k, v, c["n_head"]))
        inner = F.gelu(layer(f"{h}.mlp.c_fc", norm(f"{h}.ln_2", x)), approximate=approximate)
        x = x + layer(f"{h}.mlp.c_proj", inner)
    table = "transformer.wte.weight" if c["tie_word_embeddings"] else "lm_head.weight"
    return norm("transformer.ln_f", x) @ w[table].T


def llama(w, c, ids):
    dim = c["head_dim"]
    rate = c["rope_theta"] ** (-torch.arange(0, dim, 2) / dim)
    angle = torch.outer(torch.arange(ids.shape[1]), rate).repeat(1, 2)[:, None]

    def norm(name, x):
        scale = (x.pow(2).mean(-1, keepdim=True) + c["rms_norm_eps"]).rsqrt()
        return x * scale * w[f"{name}.weight"]

    def turned(x):  # rotate_half
        x = x.unflatten(-1, (-1, dim))
        half = torch.cat((-x[..., dim // 2 :], x[..., : dim // 2]), -1)
        return (x * angle.cos() + half * angle.sin()).flatten(-2)

    x = w["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        h = f"model.layers.{i}"
        y = norm(f"{h}.input_layernorm", x)
        q, k, v = (y @ w[f"{h}.self_attn.{n}_proj.weight"].T for n in "qkv")
        y = attended(turned(q), turned(k), v, c["num_attention_heads"])
        x = x + y @ w[f"{h}.self_attn.o_proj.weight"].T
        y = norm(f"{h}.post_attention_layernorm", x)
        gate, up = (y @ w[f"{h}.mlp.{n}_proj.weight"].T for n in ("gate", "up"))
        x = x + (F.silu(gate) * up) @ w[f"{h}.mlp.down_proj.weight"].T
    table = "model.embed_tokens.weight" if c["tie_word_embeddings"] else "lm_head.weight"
    return norm("model.norm", x) @ w[table].T


def test_by_plain_torch_the_loss_is_ours(exported):
    from safetensors.torch import load_file

    folder, batch, ours = exported
    config = json.loads((folder / "config.json").read_text())
    forward = {"gpt2": gpt2, "llama": llama}[config["model_type"]]
    logits = forward(
        load_file(folder / "model.safetensors"), config, torch.from_numpy(batch.inputs)
    )
    loss = F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(batch.targets).flatten())
    assert float(loss) == pytest.approx(ours, rel=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="no transformers")
def test_by_transformers_the_loss_is_ours(exported):
    import transformers

    folder, batch, ours = exported
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        folder, output_loading_info=True, attn_implementation="eager"
    )
    assert not info["missing_keys"] and not info["unexpected_keys"]
    with torch.no_grad():
        logits = model.eval()(torch.from_numpy(batch.inputs)).logits
    loss = F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(batch.targets).flatten())
    assert float(loss) == pytest.approx(ours, rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"architecture": "lstm"}, "architecture = 'lstm'"),
        ({"attention": "local", "window": 8}, "attention = 'local'"),
        ({"architecture": "llama"}, "llama with activation = 'gelu'"),
        ({"n_kv_head": 2}, "these heads"),
    ],
)
def test_what_has_no_place_in_the_layouts_is_refused(changes, what):
    with pytest.raises(UsageError, match=what):
        hf.config(settled(**{**SIZES, **changes}))


def test_the_ids_of_start_and_end_are_those_of_the_training():
    text = hf.config(MODELS["gpt"])
    assert (text["bos_token_id"], text["eos_token_id"]) == (256, 256)
    paths = hf.config(PRESETS["path-600k"].experiment)
    assert (paths["vocab_size"], paths["bos_token_id"], paths["eos_token_id"]) == (45, None, 44)


@pytest.mark.parametrize(("bytes_", "status"), [(1000, 1), (None, 2)])
def test_the_process_says_why_it_failed_in_one_line(tmp_path, bytes_, status):
    experiment = MODELS["gpt"]
    saved.save(tmp_path / "run", experiment, weights_of(experiment), 10**9)
    if bytes_ is None:
        (tmp_path / "hf").write_text("no folder")
    else:  # what is larger cannot be written, as on a disk that is full

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))

    words = ("-m", "cputrain.worker.training.exporting", tmp_path / "run" / saved.MODEL)
    done = subprocess.run(
        [sys.executable, "-P", *words, tmp_path / "hf"],
        preexec_fn=None if bytes_ is None else limit,
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    assert done.stderr.count("\n") == 1 and f"{tmp_path / 'hf'}" in done.stderr


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"nothing")
    with pytest.raises(UsageError, match="no model of a run"):
        hf.export(path, tmp_path / "hf")


def test_the_tokenizer_goes_along(tmp_path):
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer

    from cputrain.data import tokenizer_file

    experiment = MODELS["gpt"]
    saved.save(tmp_path / "run", experiment, weights_of(experiment), 10**9)
    (tmp_path / "run" / tokenizer_file.FILE).write_text(tokenizer_file.of_bytes())
    hf.export(tmp_path / "run" / saved.MODEL, tmp_path / "hf")
    config = json.loads((tmp_path / "hf" / "tokenizer_config.json").read_text())
    tokenizer = Tokenizer.from_file(str(tmp_path / "hf" / tokenizer_file.FILE))
    assert tokenizer.encode("a\u00e4").ids == list("a\u00e4".encode())
    assert tokenizer.token_to_id(config["eos_token"]) == 256
    assert config["model_max_length"] == experiment.training.seq_len
