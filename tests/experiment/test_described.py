"""A model of one's own: sources, their order, and each way in which one cannot be."""

import argparse
import re

import pytest

from cputrain.commands import model_flags
from cputrain.errors import UsageError
from cputrain.experiment import Experiment, ExperimentError
from cputrain.experiment.described import FIELDS, described, value_of, values
from cputrain.experiment.presets import PRESETS
from cputrain.report import described as report

pytestmark = pytest.mark.tools


def from_flags(*words):
    parser = argparse.ArgumentParser()
    model_flags.add(parser)
    return model_flags.experiment(parser.parse_args(words))


def test_what_is_left_out_is_the_baseline_s():
    assert from_flags() == Experiment()
    assert from_flags("--n-layer", "8", "--seq-len", "512") == Experiment().but(
        n_layer=8, seq_len=512
    )


def test_flags_have_the_types_of_the_fields():
    words = ("--dropout", "0.1", "--no-tied", "--window", "none", "--rows", "none")
    made = from_flags(*words, "--optimizer", "lion", "--activation-checkpointing")
    assert made == Experiment().but(
        dropout=0.1, tied=False, rows=None, optimizer="lion", activation_checkpointing=True
    )


def test_a_preset_is_the_published_run_and_flags_change_it():
    assert from_flags("--preset", "wiki-24m") == PRESETS["wiki-24m"].experiment
    made = from_flags("--preset", "wiki-24m", "--batch-size", "4")
    assert made == PRESETS["wiki-24m"].experiment.but(batch_size=4)


def test_a_file_has_fields_by_name_or_by_part_and_flags_win(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('n_layer = 8\nprecision = "bf16"\n[training]\nseq_len = 512\nrows = "none"\n')
    made = from_flags("--model", str(file), "--n-layer", "2")
    assert made == Experiment().but(n_layer=2, precision="bf16", seq_len=512, rows=None)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("n_layer = 8\n", encoding="utf-8-sig")
    assert described(file=file) == Experiment().but(n_layer=8)


def test_none_is_a_word_where_a_field_has_it(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('pinning = "none"\nthreads = "none"\n')
    assert described(file=file) == Experiment()


def test_a_preset_runs_part_of_a_step_where_there_is_one():
    def part(name, **fields):
        return described(name, flags=fields).budget.micro_batches

    assert (part("llm-25m"), part("llm-25m", grad_accum=4, batch_size=1)) == (2, 2)
    assert part("llm-25m", grad_accum=2) is part("llm-25m", grad_accum=1) is None
    assert part("llm-117m", processes=2) is part("llm-117m", processes=1) is None
    assert described("llm-25m") == PRESETS["llm-25m"].experiment


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("n_layer = ", "no TOML"),
        ("layers = 8", "layers = 8: no such field; did you mean n_layer"),
        ("[modell]\nn_layer = 8", r"\[modell\]: no such part; did you mean model"),
        ("[model]\nseq_len = 8", r"model.seq_len: no such field; it is of \[training\]"),
        ("n_layer = 0", "n_layer = 0: a whole number of at least 1 is needed"),
        (
            "n_layer = 3\n[model]\nn_layer = 5",
            r"mine\.toml: n_layer is given twice: alone and in \[model\]; leave one of them out",
        ),
        ("governor = 'performance'", "'performance': no such field; there are architecture, n_l"),
        ("samples = 3", "samples = 3: no such field"),
    ],
)
def test_a_file_that_cannot_be_is_one_line(tmp_path, text, line):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ExperimentError, match=line) as caught:
        described(file=file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--n-layer", "many"), "n_layer = 'many': a whole number is needed"),
        (("--dropout", "x"), "dropout = 'x': a number is needed"),
        (("--beta1", "1"), "beta1 = 1.0: a number from 0 to 0.9999999 is needed"),
        (("--eps", "0"), "eps = 0.0: a number from 1e-16 to 1 is needed"),
        (("--seed", "9" * 23), "9999: a whole number of at most 9007199254740991 is needed"),
        (("--threads", "100000"), "threads = 100000: a whole number of at most 4096 is needed"),
        (("--n-head", "7"), "n_head = 7: n_embd = 256 does not divide by it"),
        (("--preset", "gpt-5"), "no preset 'gpt-5'; there are mlm-80m"),
        (("--model", "nowhere.toml"), "nowhere.toml: cannot be read: No such file or directory"),
    ],
)
def test_flags_that_cannot_be_are_one_line(words, line):
    with pytest.raises(UsageError, match=line):
        from_flags(*words)


def test_every_field_of_a_run_has_a_flag_and_none_changes_the_machine():
    assert {"n_layer", "batch_size", "engine", "threads", "allocator"} <= FIELDS.keys()
    assert not {"governor", "turbo", "frequency_ghz", "samples", "jit_state"} & FIELDS.keys()


def test_it_is_said_with_its_parameters_flops_and_memory():
    fields, counts, memory = report.lines(from_flags("--n-layer", "8", "--threads", "1"))
    assert "n_layer 8" in fields and "threads 1" in fields and "compile" not in fields
    assert counts.startswith("6.45 million parameters; a step has 256 tokens and ")
    assert memory.startswith("memory, estimated: ") and "optimizer 49 MiB" in memory


def test_the_help_lists_what_each_flag_takes_and_what_the_baseline_has(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    parser = argparse.ArgumentParser()
    model_flags.add(parser)
    text = parser.format_help()
    for line in (
        r"--n-layer N\s+baseline: 4",
        r"--dropout X\s+baseline: 0.0",
        r"--window N\|none\s+baseline: none",
        r"--engine NAME\s+baseline: torch",
        r"--attention full\|local\|sliding\s+baseline: full",
        r"--tied, --no-tied\s+baseline: yes",
    ):
        assert re.search(line, text), line


@pytest.mark.parametrize("name", [name for name in FIELDS if "|" in values(name)])
def test_each_name_in_the_help_is_one_that_the_field_takes(name):
    names = [word for word in values(name).split("|") if word not in ("N", "X")]
    assert "NAME" not in names
    for word in names:
        try:
            Experiment().but(**{name: value_of(name, word)})
        except ExperimentError as error:  # with the baseline's other fields
            assert "one of" not in str(error)
