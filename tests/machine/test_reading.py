"""A value, or a reason of one line."""

import pytest

from cputrain.machine import reading


def test_values(tree):
    tree.put({"/a": " 12 ", "/list": "0-2,5,8-8", "/zero": b"one\0"})
    assert reading.text(tree.root, "/zero") == "one"
    assert reading.number(tree.root, "/a") == 12
    assert reading.cpu_list(tree.root, "/list") == (0, 1, 2, 5, 8)


@pytest.mark.parametrize(
    ("numbers", "text"), [((5,), "5"), ((8, 0, 2, 1), "0-2,8"), ((1, 3), "1,3"), ((), "")]
)
def test_a_list_as_the_kernel_writes_it(numbers, text):
    assert reading.as_text(numbers) == text
    assert not text or reading.as_list(text) == tuple(sorted(numbers))


@pytest.mark.parametrize(
    "reader, content", [(reading.text, ""), (reading.number, "max"), (reading.cpu_list, "0-x")]
)
def test_what_cannot_be_read_is_a_reason(tree, reader, content):
    with pytest.raises(reading.Unknown, match=r"^/made: No such file"):
        reader(tree.root, "/made")
    tree.put({"/made": content})
    with pytest.raises(reading.Unknown, match=r"^/made: ") as caught:
        reader(tree.root, "/made")
    assert "\n" not in str(caught.value)


def test_a_file_that_may_not_be_read(tree):
    (tree.root / "folder").mkdir()
    with pytest.raises(reading.Unknown, match=r"^/folder: "):
        reading.text(tree.root, "/folder")


def test_cgroup_folders_where_none_is_mounted(tree):
    tree.put({"/proc/self/cgroup": "0::/job"})
    with pytest.raises(reading.Unknown):
        reading.cgroup_folders(tree.root, "cpu")
