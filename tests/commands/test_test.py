"""Which files run where: each says so itself, and none is left out."""

import os
import subprocess
import sys

import pytest

from cputrain.paths import PROJECT

pytestmark = pytest.mark.tools

FILES = {
    "test_stack.py": "import pytest\nimport absent_from_the_tools\n",
    "test_tools.py": "import pytest\npytestmark = pytest.mark.tools\ndef test_it(): pass\n",
    "test_both.py": "import pytest\npytestmark = [pytest.mark.stack, pytest.mark.tools]\n"
    "def test_it(): pass\n",
}


def collected(folder, environment):
    """The files that pytest would import in an environment, and its exit status."""
    words = ["--co", "-q", "-p", "no:cacheprovider", "--environment", environment, str(folder)]
    words = [sys.executable, "-m", "pytest", *words]
    env = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'tests'}"}  # of conftest's imports
    run = subprocess.run(words, env=env, capture_output=True, text=True)
    return sorted(name for name in FILES if f"{name}" in run.stdout), run.returncode


def test_a_file_is_imported_where_its_libraries_are_and_nowhere_else(tmp_path):
    (tmp_path / "conftest.py").write_text((PROJECT / "tests" / "conftest.py").read_text())
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert collected(tmp_path, "tools") == (["test_both.py", "test_tools.py"], 0)
    names, status = collected(tmp_path, "stack")
    assert "test_tools.py" not in names and status != 0  # test_stack.py needs what is absent
