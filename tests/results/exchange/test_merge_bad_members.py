"""Members that cannot be: each is refused with a line, and the others are taken."""

import base64
import json
import re

import pytest
from made_packs import EVIL, changed, lines_of, put

from cputrain.record.cell import SCHEMA
from cputrain.results.exchange import merged

pytestmark = pytest.mark.tools

CELL, PLACE = "output/SeqLen/128/run.json", "output/here/SeqLen/128/run.json"

RECORDS = [
    ('"step_s": [', '"step_s": [NaN, ', "not a run record|not JSON|number is not finite"),
    ('"step_s": [', '"step_s": [1e999, ', "number|out of range|not finite|run record"),
    ('"step_s": [', '"step_s": [-1.0, ', "Expected `float` > 0"),
    ('"step_s": [', '"step_s": [1e10, ', "Expected `float` <="),
    ('"peak_rss_bytes":', '"peak_rss_bytes": 99999999999999999999, "x":', "run record"),
    ('"machine":"here"', '"machine":"../../x"', "it is of another machine than its name says"),
    ('"values":[128]', '"values":["../../x"]', "it is of another cell than its name says"),
    ('"suite":"SeqLen"', '"suite":"Other"', "it is of another suite than its name says"),
    ('"suite":"SeqLen"', '"suite":"../x"', "Expected `str` matching regex"),
    (f'"schema":{SCHEMA}', '"schema":99', f"schema 99, and this version reads {SCHEMA}"),
    ("2026-11-21T11:00:00+00:00", "yesterday", "'yesterday', which is no time of a run"),
    ("2026-11-21T11:00:00+00:00", "9999-12-31T23:59:59+00:00", "no time of a run"),
    ('"first_loss":5.6', f'"reason":"{"x" * 30_000}"', "a text in it has 30000 letters"),
    ('"readings":null', f'"readings":{{"a":{"[" * 5000}{"]" * 5000}}}', "nested too deeply"),
    ('"readings":null', f'"readings":{{"a":{"[" * 50}{"]" * 50}}}', "nested too deeply"),
    ('"n_layer":4', '"n_layer":-4', "n_layer"),
    ('"n_params":3300000', '"n_params":0', r"Expected `int` >= 1 .*\.counts\.n_params"),
    ('"tokens_per_step":128', '"tokens_per_step":0', r"Expected `int` >= 1 .*tokens_per_step"),
]


@pytest.mark.parametrize(("old", "new", "why"), RECORDS)
def test_a_record_that_cannot_be_is_refused_and_the_others_are_taken(
    path, clone, tmp_path, old, new, why
):
    def change(text):
        text = re.sub(r'(?<=[\]"\d}]),\s*(?=")', ",", text)
        old_here = old if old in text else old.replace(": ", ":")
        assert old_here in text
        return text.replace(old_here, new)

    made = tmp_path / "x.gz"
    made.write_bytes(path.read_bytes())
    changed(made, CELL, change)
    (came,) = merged.merge(clone, [made])
    assert (came.machine, came.added) == ("here", 1)
    assert len(came.refused) == 1 and came.refused[0].startswith(f"{PLACE}: ")
    assert re.search(why, came.refused[0]) and "\n" not in came.refused[0]
    assert len(came.refused[0]) < 600


def asv_name(path):
    return next(m["name"] for m in lines_of(path)[1:] if re.match("asv/c", m["name"]))


ASV = [
    (lambda its: its | {"env_name": "../../x"}, "not asv's results"),
    (lambda its: its | {"env_name": "other"}, "another commit or environment"),
    (lambda its: its | {"params": its["params"] | {"machine": "x"}}, "of another machine"),
    (lambda its: its | {"params": its["params"] | {"../x": "y"}}, "not asv's results"),
    (lambda its: its | {"version": 1}, "not asv's results"),
    (lambda its: its | {"results": {"a": [float("inf")]}}, "not asv's results"),
    (lambda its: its | {"results": {"../a": [0.1]}}, "not asv's results"),
    (lambda its: its | {"result_columns": ["result", "__class__"]}, "with a column"),
]


@pytest.mark.parametrize(("change", "why"), ASV)
def test_results_of_asv_that_cannot_be_are_refused(path, clone, tmp_path, change, why):
    made = tmp_path / "x.gz"
    made.write_bytes(path.read_bytes())
    changed(made, asv_name(path), lambda text: json.dumps(change(json.loads(text))))
    (came,) = merged.merge(clone, [made])
    assert came.added == 2 and len(came.refused) == 1 and why in came.refused[0]
    assert [p.name for p in (clone / "result/asv/here").iterdir()] == ["machine.json"]


def test_asv_gets_no_markup_in_facts_and_no_profile_to_load(path, clone, tmp_path):
    made = tmp_path / "x.gz"
    made.write_bytes(path.read_bytes())
    name, profile = asv_name(path), base64.b64encode(b"profile").decode()

    def with_profile(text):
        its = json.loads(text)
        column = its["result_columns"].index("profile")
        for row in its["results"].values():
            row += [None] * (column - len(row)) + [profile]
        its["params"]["cpu"] = EVIL
        return json.dumps(its)

    changed(made, name, with_profile)
    changed(made, "asv/machine.json", lambda text: json.dumps(json.loads(text) | {"cpu": EVIL}))
    merged.merge(clone, [made])
    texts = [p.read_text() for p in (clone / "result/asv/here").iterdir()]
    assert len(texts) == 2 and not any(profile in text for text in texts)
    for text in texts:
        facts = json.loads(text)
        cpu = facts.get("cpu") or facts["params"]["cpu"]
        assert cpu.startswith("_img src=x") and not re.search(r"[<>&\x00-\x1f]", cpu)


def test_peaks_that_cannot_be_are_refused(path, clone, tmp_path):
    for rates in ({"2": -1.0}, {"../x": 1.0}, {"2": "a"}):
        head, *members = lines_of(path)
        text = json.dumps({"date": "x", "fp32_matmul_flops": rates})
        members.append({"name": "machine.json", "text": text})
        made = put(tmp_path / "x.gz", [head | {"members": len(members)}, *members])
        (came,) = merged.merge(clone, [made])
        assert "machine.json: not what was measured of a machine" in came.refused[0]
        assert not (clone / "result/here/machine.json").exists()
