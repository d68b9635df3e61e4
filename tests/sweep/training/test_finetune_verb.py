"""Train, have the model write, go on with it on other text: by processes as people start them."""

import json

import pytest

pytestmark = pytest.mark.tools

MODEL = ("--engine", "numpy", "--n-layer", "1", "--n-embd", "32", "--n-head", "2")
TRAIN = ("train", *MODEL, "--seq-len", "32", "--rows", "60", "--offline", "--steps", "30")
TEXT = "Once \x1b[31mupon"
"""A terminal would write on in red."""


def ran(trial, *words):
    process = trial.start(*words)
    out, _ = process.communicate(timeout=240)
    return process.returncode, out


def test_a_model_writes_and_goes_on_with_other_text(trial):
    words = ("--out", "mine", "--sample", TEXT, "--sample-tokens", "12", "--temperature", "0.5")
    status, out = ran(trial, *TRAIN, *words)
    assert status == 0, out
    assert "temperature 0.5, seed 0:" in out and "\x1b" not in out
    assert "Once \N{REPLACEMENT CHARACTER}[31mupon" in out
    assert "rows, fingerprint" in out
    folder = trial.output / "train" / "mine"
    record = json.loads((folder / "train.json").read_text())
    assert record["plan"]["prompt"]["text"] == TEXT
    assert 0 < record["continued"]["tokens"] <= 12
    kept = (folder / "samples.txt").read_text()
    assert "\x1b" not in kept and "[31mupon" in kept

    status, out = ran(trial, "sample", "mine", TEXT, "--tokens", "12", "--temperature", "0.5")
    assert status == 0, out
    assert (folder / "samples.txt").read_text() == f"{kept}\n{kept}"  # the same seed

    mine = trial.folder / "mine.txt"
    mine.write_text("\n\n".join(f"Letter {n}: dear reader, all is well." for n in range(60)))
    words = ("finetune", "--from", "mine", "--method", "full", "--steps", "12", "--lr", "0.01")
    status, out = ran(trial, *words, "--data", str(mine), "--offline", "--validate-every", "4")
    assert status == 0, out
    assert "fine-tuning mine: " in out and "step 0, validation " in out
    assert "before the first step" in out and "project" not in out
    assert "rows, fingerprint" not in out  # of the corpus, which it does not need
    tuned = json.loads((trial.output / "train" / "mine-full" / "train.json").read_text())
    started, ended = tuned["started"], tuned["ended"]
    assert ended["validation_loss"] < started["validation_loss"]
    assert started["trained"] == started["weights"]
    assert tuned["plan"]["start"]["name"] == "mine"
    assert tuned["plan"]["start"]["sha256"] == tuned["worker"]["started_from"]["sha256"]
    names = ("model.safetensors", "tokenizer.json")
    assert all((trial.output / "train" / "mine-full" / name).exists() for name in names)

    status, out = ran(trial, *words, "--data", str(mine), "--offline")
    assert status == 2 and "python3 bench.py finetune --resume mine-full goes on with it" in out
    status, out = ran(trial, "finetune", "--resume", "mine-full", "--steps", "16", "--offline")
    assert status == 0, out
    assert "going on with mine-full after step 12" in out
    again = json.loads((trial.output / "train" / "mine-full" / "train.json").read_text())
    assert again["started"] == started and again["ended"]["step"] == 16
