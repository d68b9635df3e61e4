"""Whether two engines' gradients are the same."""

import numpy as np


def gradients_agree(gradients, expected, most=1e-4):
    """To `most` of each tensor's largest entry; later gradients are of weights that differ."""
    assert gradients.keys() == expected.keys()
    for name, gradient in expected.items():
        largest = max(np.abs(gradient).max(), 1e-8)
        assert np.abs(gradients[name] - gradient).max() <= most * largest, name
