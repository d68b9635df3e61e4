"""What a launcher tells a worker: read as it was written, or refused by the field's name."""

import json

import msgspec
import pytest
from settled import NO_MODEL, settled

from cputrain.record import requests
from cputrain.record.process import Placement
from cputrain.record.requests import FinishCommand, JobRequest, ProveCommand, SampleCommand

PLACEMENT = Placement((0, 1), 2, 2, 1, ((0,), (1,)))
REQUEST = JobRequest(
    **msgspec.structs.asdict(NO_MODEL),
    experiment=settled(seq_len=64, learning_rate=1.0).to_json(),
    placement=PLACEMENT,
    launched=12.5,
)


def line(**changes):
    return json.dumps(json.loads(requests.encode(REQUEST)) | changes)


def test_a_request_is_read_as_it_was_written():
    read = requests.decode_request(line())
    assert read == REQUEST
    assert read.placement.of_rank(1) == Placement((1,), 1, 1, 1)


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"sessions": 3}, "sessions"),
        ({"placement": {"cpus": [0]}}, "physical_cores"),
        ({"offline": "yes"}, "offline"),
        ({"launched": None}, "launched"),
    ],
)
def test_a_broken_request_is_refused_by_its_field(changes, named):
    with pytest.raises(msgspec.DecodeError, match=named):
        requests.decode_request(line(**changes))


@pytest.mark.parametrize(
    "command", [SampleCommand(), SampleCommand(beside=True), ProveCommand(), FinishCommand()]
)
def test_a_command_is_read_as_it_was_written(command):
    assert requests.decode_command(requests.encode(command)) == command


@pytest.mark.parametrize(
    "text", ['{"do": "stop"}', '{"do": "prove", "beside": true}', '{"beside": true}', "[]", "{"]
)
def test_a_broken_command_is_refused(text):
    with pytest.raises(msgspec.DecodeError):
        requests.decode_command(text)
