"""machine.json: what was measured, merged."""

import json

import pytest

from cputrain.machine import measurements
from cputrain.machine.reading import MachineError


def test_measurements_are_merged(tmp_path):
    path = tmp_path / "machine" / "machine.json"
    assert measurements.read(path) == {}
    measurements.merge(path, {"date": "a", "fp32_matmul_flops": {"2": 2.0, "10": 9.0}})
    path.write_text(json.dumps({**measurements.read(path), "other": 7}))
    whole = measurements.merge(path, {"date": "b", "fp32_matmul_flops": {"1": 1.0, "2": 2.5}})
    assert whole == measurements.read(path)
    assert whole["fp32_matmul_flops"] == {"1": 1.0, "2": 2.5, "10": 9.0}
    assert list(whole["fp32_matmul_flops"]) == ["1", "2", "10"]
    assert (whole["date"], whole["other"]) == ("b", 7)


def test_the_better_of_two_readings_stays_until_torch_changes(tmp_path):
    path = tmp_path / "machine.json"
    measurements.merge(path, {"torch": "1", "fp32_matmul_flops": {"1": 5.0}})
    lower = measurements.merge(path, {"torch": "1", "fp32_matmul_flops": {"1": 3.0}})
    assert lower["fp32_matmul_flops"] == {"1": 5.0}
    other = measurements.merge(path, {"torch": "2", "fp32_matmul_flops": {"1": 3.0}})
    assert other["fp32_matmul_flops"] == {"1": 3.0}


def test_each_type_has_a_field_of_its_own_and_old_files_have_fp32_alone(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({"torch": "1", "fp32_matmul_flops": {"1": 5.0}}))
    assert measurements.read(path)["fp32_matmul_flops"] == {"1": 5.0}
    whole = measurements.merge(path, {"torch": "1", "int8_matmul_flops": {"1": 9.0}})
    assert whole["fp32_matmul_flops"] == {"1": 5.0}
    assert whole["int8_matmul_flops"] == {"1": 9.0}
    assert "bf16_matmul_flops" not in whole
    other = measurements.merge(path, {"torch": "2", "bf16_matmul_flops": {"1": 7.0}})
    assert other == {"torch": "2", "bf16_matmul_flops": {"1": 7.0}}


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"fp32_matmul_flops": 3}', '{"int8_matmul_flops": [1]}', '{"reasons": 1}'],
)
def test_a_damaged_file_is_one_line(tmp_path, content):
    path = tmp_path / "machine.json"
    path.write_text(content)
    with pytest.raises(MachineError, match="delete it") as caught:
        measurements.merge(path, {"fp32_matmul_flops": {"1": 1.0}})
    assert str(path) in str(caught.value)
    assert path.read_text() == content


def test_bandwidth_is_kept_like_the_peaks_and_a_reason_goes_when_it_is_there(tmp_path):
    path = tmp_path / "machine.json"
    reasons = {"bandwidth:8": "too little memory", "bf16:8": "no time"}
    measurements.merge(
        path, {"torch": "1", "bandwidth_bytes_per_s": {"1": 2e10}, "reasons": reasons}
    )
    assert measurements.read(path)["reasons"] == reasons
    rates = {"8": 9e10, "1": 1e10}
    whole = measurements.merge(path, {"torch": "1", "bandwidth_bytes_per_s": rates, "reasons": {}})
    assert whole["bandwidth_bytes_per_s"] == {"1": 2e10, "8": 9e10}
    assert whole["reasons"] == {"bf16:8": "no time"}
    whole = measurements.merge(path, {"torch": "1", "bf16_matmul_flops": {"8": 1e12}})
    assert "reasons" not in whole
    measurements.merge(path, {"torch": "1", "reasons": {"bandwidth:8": "too little memory now"}})
    assert measurements.read(path)["bandwidth_bytes_per_s"]["8"] == 9e10


def test_an_old_reason_does_not_outlive_a_reading(tmp_path):
    path = tmp_path / "machine.json"
    measurements.merge(path, {"clock_ghz": None, "clock_ghz_reason": "no code can be mapped"})
    assert measurements.merge(path, {"clock_ghz": 3.9}) == {"clock_ghz": 3.9}
