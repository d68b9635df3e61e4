"""What asv reads off a suite's method, to show it."""

from cputrain.run import suite


class Lengths(suite.Suite):
    """Tokens in a row."""

    values = (1, 2)

    def vary(self, base, value):
        return base.but(batch_size=value)


class Longer(Lengths):
    """More of them."""


def test_each_suite_has_words_of_its_own_and_the_measuring_is_shared():
    for kind, description in ((Lengths, "Tokens in a row."), (Longer, "More of them.")):
        method = kind().time_train_steps
        assert method.pretty_name == kind.__name__
        assert method.pretty_source.splitlines()[0] == description
        assert method.__code__ is suite.Suite.time_train_steps.__code__
        assert method.__name__ == "time_train_steps" and "." not in method.__qualname__
