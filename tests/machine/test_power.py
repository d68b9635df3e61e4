"""Where the power comes from, and the firmware's profile."""

import pytest

from cputrain.machine import power, reading

SUPPLY = "/sys/class/power_supply"
EMPTYING = {f"{SUPPLY}/BAT0/type": "Battery", f"{SUPPLY}/BAT0/status": "Discharging"}
PLUG = {f"{SUPPLY}/AC/type": "Mains"}


@pytest.mark.parametrize(
    ("files", "source"),
    [
        ({**PLUG, f"{SUPPLY}/AC/online": "1"}, "mains"),
        ({**EMPTYING, **PLUG, f"{SUPPLY}/AC/online": "0"}, "battery"),
        # A plug that gives less than is used: the battery empties beside it.
        ({**EMPTYING, f"{SUPPLY}/usb/type": "USB", f"{SUPPLY}/usb/online": "1"}, "mains"),
        (EMPTYING, "battery"),
        ({**EMPTYING, f"{SUPPLY}/BAT0/status": "Full"}, "mains"),
        ({**EMPTYING, f"{SUPPLY}/BAT0/scope": "Device"}, "mains"),  # a mouse's
    ],
)
def test_it_is_a_battery_s_where_one_empties_and_no_plug_is_online(tree, files, source):
    tree.put(files)
    assert power.source(tree.root) == source


def test_without_supplies_as_in_most_servers_it_is_mains(tree):
    with pytest.raises(reading.Unknown, match="power_supply: not there"):
        power.source(tree.root)
    (tree.root / power.SUPPLIES).mkdir(parents=True)
    assert power.source(tree.root) == "mains"


def test_the_firmware_s_profile(tree):
    with pytest.raises(reading.Unknown):
        power.profile(tree.root)
    tree.put({power.PROFILE: "low-power\n"})
    assert power.profile(tree.root) == "low-power"
