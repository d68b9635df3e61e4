"""JAX computes on the CPU, and says so."""

import pytest
from settled import settled

from cputrain.engines import settings
from cputrain.engines.jax_.knobs.device import JaxDevice
from cputrain.knobs.inforce import NotInForce, require
from cputrain.record.process import Placement

JAX = settled(engine="jax")
ONE = Placement((0,), 1, 1, 1)


def test_jax_is_told_to_take_the_cpu_and_no_other_engine_is():
    assert settings.environment(JAX, ONE)["JAX_PLATFORMS"] == "cpu"
    assert "JAX_PLATFORMS" not in settings.environment(settled(), ONE)


def test_its_own_word_is_the_cpu():
    pytest.importorskip("jax")
    from cputrain.engines.jax_ import evidence

    require(JaxDevice().checks(JAX, ONE, evidence.readings()))


@pytest.mark.parametrize("platforms", [["gpu"], ["cpu", "cpu"], [], None])
def test_another_device_is_not_in_force(platforms):
    with pytest.raises(NotInForce, match="JAX's devices"):
        require(JaxDevice().checks(JAX, ONE, {"platforms": platforms}))
