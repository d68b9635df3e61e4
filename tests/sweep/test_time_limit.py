import re

import pytest

from cputrain.errors import UsageError
from cputrain.sweep import time_limit


def test_a_match_that_backtracks_ends_with_the_message():
    with (
        pytest.raises(UsageError, match="takes too long"),
        time_limit.within(0.2, "takes too long"),
    ):
        re.search(r"(\w+)+!", "time_train_steps" * 8)


def test_what_ends_in_time_is_left_alone():
    with time_limit.within(60, "takes too long"):
        assert re.search(r"(\w+)+!", "time!")
