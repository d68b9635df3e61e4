"""What tells who ran something, and where, is taken out of records."""

import json
from pathlib import Path

import pytest

from cputrain.results.anonymous import CLONE, HOME, Anonymous, telling

pytestmark = pytest.mark.tools

TORCH = ".asv/env/ab/lib/python3.11/site-packages/torch/lib/libgomp.so.1"


def without(value, known=()):
    text = json.dumps(value)
    return json.loads(Anonymous.of([text], known).text(text))


@pytest.mark.parametrize(
    "clone", ["/home/ada/cputrain", "/srv/a b/c", "/tmp/x", "/home/ada/a.b/main", "/cputrain"]
)
def test_the_folder_of_the_project_is_one_that_nobody_has(clone):
    value = {"library": f"{clone}/{TORCH}", "found": [f"preload of {clone}/{TORCH}"]}
    anonymous = without(value)
    assert anonymous == {"library": f"{CLONE}/{TORCH}", "found": [f"preload of {CLONE}/{TORCH}"]}
    assert telling(json.dumps(anonymous)) == []


def test_a_folder_of_the_project_that_is_known_is_taken_out_where_no_environment_tells_it():
    value = {"model": "/data/mine/output/here/S/1/model.safetensors", "other": "/data/mine2/x"}
    anonymous = without(value, [Path("/data/mine")])
    assert anonymous == {
        "model": f"{CLONE}/output/here/S/1/model.safetensors",
        "other": "/data/mine2/x",
    }


def test_folders_within_each_other_are_each_taken_out():
    value = [f"/home/ada/{TORCH}", f"/home/ada/more/{TORCH}"]
    assert without(value) == [f"{CLONE}/{TORCH}"] * 2


def test_homes_are_taken_out():
    value = ["/home/ada/lib/libtcmalloc.so", "at /root/x and /Users/ada/y:/home/bob", "~/root/z"]
    assert without(value) == [
        f"{HOME}/lib/libtcmalloc.so",
        f"at {HOME}/x and {HOME}/y:{HOME}",
        "~/root/z",
    ]


def test_hosts_are_numbered_in_places_and_in_what_is_said_of_them():
    places = [{"host": "ada-laptop", "boot": "1"}, {"host": "node7", "boot": "2"}]
    value = {"places": places, "label": "4 processes on 2 machines (ada-laptop, node7)"}
    anonymous = without(value)
    assert [place["host"] for place in anonymous["places"]] == ["host-1", "host-2"]
    assert anonymous["label"] == "4 processes on 2 machines (host-1, host-2)"


def test_what_every_system_has_stays_and_so_do_words():
    value = {
        "a": "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0",
        "b": "/sys/class/powercap: no energy counter (RAPL) here",
        "c": "CXX_COMPILER=/opt/rh/gcc-toolset-13/root/usr/bin/c++",
        "d": "GFLOP/s, and/or, 3/4, result/README.md, the host decides, 1 of 2 machines (so far)",
    }
    assert without(value) == value
    assert telling(json.dumps(value)) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"/srv/ada/libjemalloc.so"', ["/srv/ada"]),
        ('"preload of /home/ada/x"', ["/home/ada"]),
        ('"/tmp/x"', ["/tmp/x"]),
        ('"/opt/mine/lib.so"', ["/opt/mine"]),
        ('"LD_PRELOAD=/mnt/a/b.so"', ["/mnt/a"]),
        ('{"host": "ada-laptop"}', ["ada-laptop"]),
        ('{"host":"host-2"}', []),
        ('<a href="../../output/here/records.jsonl.gz">a</a></td>', []),
    ],
)
def test_what_still_tells_is_named(text, told):
    assert telling(text) == told
