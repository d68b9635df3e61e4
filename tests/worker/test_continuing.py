"""A model continues a text: what it is asked, what is drawn, and what comes of it as text."""

import numpy as np
import pytest
from settled import settled

from cputrain.data.batches import END
from cputrain.data.tokenizer_file import FILE, FromFile, of_bytes
from cputrain.errors import UsageError
from cputrain.model.initial import initial_weights
from cputrain.record.continued import ContinuationRequest, Prompt
from cputrain.worker import saved
from cputrain.worker.training import continuing

pytest.importorskip("tokenizers")


class Counting:
    """The likeliest token after n is n + 1, of ten; nothing comes after the ninth."""

    def __init__(self, length=4, sharp=4.0):
        self.length, self.sharp, self.seen = length, sharp, []

    def logits(self, ids):
        self.seen.append(ids)
        logits = np.zeros(300)
        logits[END if ids[-1] == 9 else ids[-1] + 1] = self.sharp
        return logits


def written(prompt_ids, tokens=20, temperature=0.0, seed=0, model=None, vocab=300):
    prompt = Prompt(text="", tokens=tokens, temperature=temperature, seed=seed)
    return continuing.write(model or Counting(), prompt_ids, prompt, vocab)


def test_the_likeliest_token_each_time_up_to_the_end_of_the_text():
    assert written([3]) == ([4, 5, 6, 7, 8, 9], True)
    assert written([3], tokens=2) == ([4, 5], False)


def test_of_what_is_longer_than_the_model_sees_it_sees_the_last_part():
    model = Counting(length=3)
    written([1, 2, 3, 4, 5], tokens=2, model=model)
    assert model.seen == [[3, 4, 5], [4, 5, 6]]


def test_a_temperature_draws_by_the_seed_and_low_ones_draw_the_likeliest():
    def drawn(seed, temperature=2.0):
        return written([0], 8, temperature, seed, Counting(sharp=3.0))

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)[0]) for seed in range(5)}) > 1
    assert drawn(1, temperature=0.01) == written([0], 8)


def test_draws_have_the_shares_of_the_softmax():
    class Two:
        length = 1

        def logits(self, ids):
            return np.log(np.array([0.75, 0.25]))

    ids, _ = written([0], 4000, 1.0, model=Two(), vocab=2)
    assert 0.72 < ids.count(0) / 4000 < 0.78
    sharper, _ = written([0], 4000, 0.5, model=Two(), vocab=2)
    assert 0.87 < sharper.count(0) / 4000 < 0.93  # 0.75^2 / (0.75^2 + 0.25^2) = 0.9


def test_ids_that_stand_for_no_text_are_never_drawn():
    ids, _ = written([200], 50, 50.0, vocab=220)
    assert max(ids) < 220


@pytest.fixture
def model(tmp_path):
    pytest.importorskip("torch")
    experiment = settled(n_layer=1, n_embd=32, n_head=2, seq_len=16)
    weights = initial_weights(experiment)
    weights["wte"] *= 10
    saved.save(tmp_path, experiment, weights, 10**9)
    (tmp_path / FILE).write_text(of_bytes())
    return tmp_path


def ask(folder, text, **changes):
    prompt = Prompt(text=text, **{"tokens": 30, "temperature": 1.0, **changes})
    request = ContinuationRequest(
        model=str(folder / saved.MODEL), tokenizer=str(folder / FILE), prompt=prompt
    )
    return continuing.continued(request)


def test_a_saved_model_writes_and_what_is_no_utf8_shows(model):
    answer = ask(model, "caf\u00e9 " * 9)
    assert answer.tokens == 30 or answer.is_ended
    assert "\N{REPLACEMENT CHARACTER}" in answer.text  # random bytes
    again = ask(model, "caf\u00e9 " * 9)
    assert again.text == answer.text
    assert ask(model, "caf\u00e9 " * 9, seed=1).text != answer.text


def test_an_empty_prompt_is_the_start_of_a_document(model):
    assert continuing.prompt_ids(FromFile(None), "") == [END]
    assert continuing.prompt_ids(FromFile(None), "ab") == [97, 98]
    assert ask(model, "").tokens >= 0


def test_a_file_that_is_no_model_says_so(model):
    (model / saved.MODEL).write_bytes(b"no")
    with pytest.raises(UsageError, match="no model of a run"):
        ask(model, "x")
