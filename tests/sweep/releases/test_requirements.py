"""What --stack asks for, and the files that environments are built from."""

import pytest

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.sweep.releases import chosen, requirements
from cputrain.sweep.releases.packages import Packages

pytestmark = pytest.mark.tools

TEXT = """# What is measured.
torch==2.13.0
numpy==2.4.6  # with OpenBLAS
intel-openmp==2026.2.0; platform_machine == "x86_64"
"""


def test_pins_are_found_by_name_and_replaced_where_they_stand():
    known = requirements.pins(TEXT)
    assert known == {"torch": "2.13.0", "numpy": "2.4.6", "intel-openmp": "2026.2.0"}
    text = requirements.replaced(TEXT, {"numpy": "2.4.5", "intel-openmp": "2025.1.0"})
    assert "\nnumpy==2.4.5  # with OpenBLAS\n" in text
    assert '\nintel-openmp==2025.1.0; platform_machine == "x86_64"\n' in text
    assert requirements.pins(text) == {**known, "numpy": "2.4.5", "intel-openmp": "2025.1.0"}
    assert requirements.replaced(TEXT, {}) == TEXT


def test_what_only_installs_the_project_is_loose_beside_another_release():
    text = f"{TEXT}setuptools==84.2.1\n"
    assert requirements.replaced(text, {}) == text
    assert "\nsetuptools>=77\n" in requirements.replaced(text, {"torch": "2.12.1"})
    versions = {"torch": "2.12.1", "setuptools": "80.0.0"}
    assert "\nsetuptools==80.0.0\n" in requirements.replaced(text, versions)


def test_comments_are_no_difference_and_versions_are():
    essence = requirements.essence(TEXT)
    assert requirements.essence("\n".join(essence)) == essence
    assert requirements.essence(TEXT.replace("2.4.6", "2.4.5")) != essence


@pytest.mark.parametrize(
    ("installed", "wanted", "is_it"),
    [
        ("2.13.0+cpu", "2.13.0", True),
        ("2.13.0+cpu", "2.13.0+cu128", False),
        ("2.13.0", "2.13", False),
        (None, "2.13.0", False),
    ],
)
def test_a_build_of_a_version_is_that_version(installed, wanted, is_it):
    assert requirements.is_version(installed, wanted) is is_it


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("numppy==2.4.5", "did you mean numpy"),
        ("django==5", "pins no django; there are"),
        ("numpy>=2", "write NAME==VERSION"),
        ("numpy", "write NAME==VERSION"),
        ("numpy==2.4.5;rm -rf", "write NAME==VERSION"),
    ],
)
def test_what_is_no_pin_of_ours_is_refused_in_one_line(words, named):
    with pytest.raises(UsageError, match=named) as caught:
        requirements.stack_versions(words, requirements.pins(TEXT))
    assert "\n" not in str(caught.value)


def test_sides_that_are_alone_or_the_same_are_refused():
    pins = requirements.pins((paths.PROJECT / "requirements.txt").read_text())
    with pytest.raises(UsageError, match="beside what"):
        Packages(["numpy==2.4.5"])
    with pytest.raises(UsageError, match="is the same as --stack here"):
        Packages(["here", f"numpy=={pins['numpy']}"])
    made = Packages(["here", "numpy==1.0 torch==1.0"])
    assert made.versions == [{}, {"numpy": "1.0", "torch": "1.0"}]


def test_the_engines_of_a_package_are_taken_and_all_where_it_is_nobodys():
    assert chosen.touched(["numpy"]) == ("numpy",)
    assert chosen.touched(["NumPy", "jax"]) == ("jax", "numpy")
    everyone = chosen.touched(["psutil"])
    assert {"torch", "jax", "numpy", "native"} <= {*everyone}
    assert chosen.touched(["numpy", "psutil"]) == everyone


def test_the_usual_cells_of_numpy_are_its_own_and_a_named_one_says_why_it_is_not_taken():
    cells, planned = Packages(["here", "numpy==1.0"]).choose(None)
    assert {cell.engine for cell in cells.cells} == {"numpy"} and cells.left_out == {}
    assert {cell.name for cell in cells.cells} == {"Framework/numpy", "FrameworkLarger/numpy"}
    assert sum(len(suite.cells) for suite in planned) >= 2
    with pytest.raises(UsageError, match="a first step is there once"):
        Packages(["here", "torch==1.0"]).choose([r"JitWarmup.*cold.*torch"])
