"""Combinations that cannot be: each is refused by the fields' names and the rule."""

import pytest

from cputrain.engines import specs
from cputrain.experiment import Experiment, ExperimentError

NUMPY = {"engine": "numpy", "attention_backend": "manual"}
NATIVE = {"engine": "native", "attention_backend": "manual"}
JAX = {"engine": "jax", "compile": "xla"}
BERT = {"architecture": "bert", "objective": "masked", "vocab_size": 258}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"n_embd": 255}, ["n_head = 4", "n_embd = 255", "does not divide"]),
        ({"n_kv_head": 3}, ["n_kv_head = 3", "n_head = 4", "does not divide"]),
        ({"n_kv_head": 8}, ["n_kv_head = 8", "n_head = 4"]),
        ({"attention": "local"}, ["window = None", "'local'"]),
        ({"window": 64}, ["window = 64", "'full'"]),
        ({"attention": "sliding", "window": 512}, ["window = 512", "seq_len = 256"]),
        ({"attention": "local", "window": 100}, ["window = 100", "seq_len = 256", "divide"]),
        ({"vocab_size": 256}, ["vocab_size = 256", "257", "tokenizer"]),
        ({**BERT, "vocab_size": 257}, ["vocab_size = 257", "258", "mask"]),
        ({"architecture": "bert"}, ["objective = 'causal'", "bert"]),
        ({"objective": "masked", "vocab_size": 258}, ["objective = 'masked'", "gpt"]),
        ({**BERT, "attention": "local", "window": 64}, ["attention = 'local'", "bert"]),
        ({**BERT, "packing": "padded"}, ["packing = 'padded'", "masked"]),
        ({**BERT, "objective": "masked_node", "seq_len": 255}, ["seq_len = 255", "even"]),
        ({"dataset": "paths", "vocab_size": 45}, ["packing = 'packed'", "paths"]),
        ({"dataset": "paths", "vocab_size": 44, "packing": "padded"}, ["vocab_size = 44", "45"]),
        ({"loader_workers": 2}, ["loader_workers = 2", "memory"]),
        ({"dropout": 0.1}, ["dropout = 0.1", "attention_backend", "manual"]),
        (
            {"optimizer": "adafactor", "optimizer_kernel": "fused"},
            ["optimizer_kernel = 'fused'", "adafactor", "foreach or default"],
        ),
        ({"optimizer": "lion", "optimizer_kernel": "foreach"}, ["optimizer_kernel", "lion"]),
        ({"loss_chunk": 257}, ["loss_chunk = 257", "256 rows"]),
        ({"fine_tuning": "head"}, ["tied = True", "head"]),
        (
            {"fine_tuning": "head", "tied": False, "activation_checkpointing": True},
            ["activation_checkpointing = True", "'head'", "no block"],
        ),
        ({"fine_tuning": "lora", "architecture": "lstm"}, ["fine_tuning = 'lora'", "lstm"]),
        ({"objective": "forward", "grad_accum": 2}, ["grad_accum = 2", "forward"]),
        ({"architecture": "lstm", "n_kv_head": 2}, ["n_kv_head = 2", "no attention"]),
        ({"architecture": "llama", "head_dim": 33}, ["head_dim = 33", "even"]),
        ({"precision": "q4", "n_embd": 80}, ["n_embd = 80", "q4", "32"]),
        ({"precision": "q4", "head_dim": 12}, ["n_head x head_dim = 48", "q4"]),
        ({"precision": "q4", "activation": "swiglu"}, ["mlp_ratio and activation = 688", "q4"]),
        (
            {"precision": "q8_torchao", "compile": "inductor"},
            ["compile = 'inductor'", "q8_torchao", "one graph"],
        ),
        ({"fusion": False}, ["fusion = False", "inductor"]),
        ({"jit_state": "warm"}, ["jit_state = 'warm'", "inductor"]),
        ({"grad_accum": 2, "micro_batches": 3}, ["micro_batches = 3", "grad_accum = 2"]),
        ({"affinity": "siblings", "cores": 2}, ["cores = 2", "'siblings'"]),
        ({"cxx": "g++"}, ["cxx = 'g++'", "inductor"]),
        ({"compile": "inductor", "cxx": "clang++"}, ["cxx = 'clang++'", "libiomp5"]),
        (
            {"precision": "q8_torchao", "instruction_set": "avx2"},
            ["instruction_set = 'avx2'", "q8_torchao", "VNNI"],
        ),
        ({"numa_policy": "one_node", "affinity": "scattered"}, ["'scattered'", "one node"]),
        ({"huge_pages": "madvise", "allocator": "jemalloc"}, ["'madvise'", "glibc", "jemalloc"]),
        ({**NUMPY, "pinning": "close"}, ["pinning = 'close'", "numpy", "no such setting"]),
        ({**NUMPY, "wait_policy": "active"}, ["wait_policy = 'active'", "numpy", "native"]),
        ({"compile": "xla"}, ["compile = 'xla'", "torch", "inductor"]),
        ({"engine": "jax", "compile": "eager"}, ["compile = 'eager'", "jax", "xla"]),
        ({**JAX, "architecture": "ssm"}, ["architecture = 'ssm'", "jax", "gpt"]),
        ({**JAX, "precision": "q8"}, ["precision = 'q8'", "jax", "mixed"]),
        (
            {**JAX, "precision": "bf16", "instruction_set": "avx2"},
            ["instruction_set = 'avx2'", "bf16", "fp32"],
        ),
        ({**JAX, "omp_runtime": "libiomp5"}, ["omp_runtime = 'libiomp5'", "jax"]),
        ({"jit_state": "cold"}, ["jit_state = 'cold'", "'xla'"]),
        ({"cc": "clang"}, ["cc = 'clang'", "torch", "native"]),
        ({**NATIVE, "cc": "clang"}, ["cc = 'clang'", "libiomp5"]),
        ({**NATIVE, "cc_level": "O1"}, ["cc_level = 'O1'", "Ofast"]),
        (
            {**NATIVE, "cc_target": "generic", "instruction_set": "avx2"},
            ["instruction_set = 'avx2'", "generic"],
        ),
        ({**NATIVE, "n_kv_head": 2}, ["n_kv_head = 2", "native"]),
        ({"omp_schedule": "guided"}, ["omp_schedule = 'guided'", "native"]),
        ({"lto": True}, ["lto = True", "native"]),
        ({"auto_kernel_selection": True}, ["auto_kernel_selection = True", "ipex"]),
        ({"processes": 2}, ["processes = 2", "batch_size = 1"]),
        ({"processes": 2, "batch_size": 2, "threads": 1}, ["threads = 1", "processes = 2"]),
        ({**JAX, "processes": 1}, ["processes = 1", "jax", "torch"]),
        ({**NUMPY, "omp_runtime": "libiomp5"}, ["omp_runtime = 'libiomp5'", "no such setting"]),
        (
            {"pinning": "spread", "loader": "stream", "loader_workers": 1},
            ["loader_workers = 1", "pinning = 'spread'"],
        ),
        ({"matmul_backend": "openblas"}, ["matmul_backend = 'openblas'", "torch", "onednn"]),
        ({"matmul_backend": "mkl", "precision": "bf16"}, ["precision = 'bf16'", "'mkl'", "fp32"]),
        ({"matmul_backend": "onednn", "precision": "q4"}, ["precision = 'q4'", "fp32"]),
        ({"matmul_backend": "mkl", "architecture": "lstm"}, ["'lstm'", "matmul_backend = 'mkl'"]),
        (
            {"matmul_backend": "onednn", "compile": "inductor"},
            ["compile = 'inductor'", "matmul_backend = 'onednn'"],
        ),
        ({"engine": "numpy", "attention_backend": "sdpa"}, ["attention_backend = 'sdpa'", "numpy"]),
        ({"engine": "numpy", "attention_backend": "manual", "precision": "bf16"}, ["bf16"]),
    ],
)
def test_a_combination_that_cannot_be_names_the_fields_and_the_rule(changes, named):
    with pytest.raises(ExperimentError) as caught:
        specs.settle(Experiment().but(**changes))
    said = str(caught.value)
    assert all(word in said for word in named), said
    assert "\n" not in said


def test_what_the_rules_leave_is_allowed():
    for changes in (
        BERT,
        {**BERT, "objective": "masked_node"},
        {"dataset": "paths", "packing": "padded", "vocab_size": 45, "seq_len": 64},
        {"attention": "sliding", "window": 256},
        {"n_kv_head": 1, "head_dim": 100},
        {"fine_tuning": "head", "tied": False},
        {"dropout": 0.1, "attention_backend": "manual"},
        {"loader": "stream", "loader_workers": 4},
        {"pinning": "close", "loader": "stream"},
        {"matmul_backend": "mkl", "compile": "inductor"},
        {"matmul_backend": "onednn", "fine_tuning": "lora"},
        {**NUMPY, "matmul_backend": "openblas"},
        {"compile": "inductor", "cxx": "clang++", "omp_runtime": "libiomp5"},
        {"precision": "q8", "instruction_set": "avx2"},
    ):
        specs.settle(Experiment().but(**changes))


@pytest.mark.parametrize(
    ("engine", "optimizer", "kernel"),
    [
        ("torch", "adamw", "fused"),
        ("torch", "lion", "default"),
        ("torch", "adafactor", "foreach"),
        ("jax", "lion", "default"),
    ],
)
def test_the_plain_way_is_a_kernel_that_the_optimizer_has(engine, optimizer, kernel):
    settled = specs.settle(Experiment().but(engine=engine, optimizer=optimizer))
    assert settled.runtime.optimizer_kernel == kernel
