"""What the watch of a run saw, in plain lines."""

from __future__ import annotations

from cputrain.record.notices import Drift, Memory, Notice, Usual
from cputrain.report import words

GIB = 1 << 30


def line(notice: Notice) -> str:
    """One line on what was seen; none of a usual step time that was steady."""
    match notice:
        case Memory():
            return memory(notice)
        case Usual(is_steady=True):
            return ""
        case Usual():
            return (
                f"step {words.whole(notice.step)}: step times are not steady; later ones are held "
                f"against their median, {words.seconds(notice.step_s)}"
            )
        case Drift():
            return drift(notice)


def memory(notice: Memory) -> str:
    """Memory in use, and what may come of it where it is high."""
    share = words.percent(notice.used_bytes / notice.limit_bytes) if notice.limit_bytes else "all"
    use = f"{notice.used_bytes / GIB:.1f} of {notice.limit_bytes / GIB:.1f} GiB ({share})"
    text = f"memory: {use} of {notice.limited_by} in use"
    if not notice.is_high:
        return text
    return (
        f"step {words.whole(notice.step)}: {text}; where it runs out the kernel ends a process, "
        "and what was saved stays"
    )


def drift(notice: Drift) -> str:
    """Steps that take another time, and why; or that they no longer do."""
    first = words.whole(notice.first)
    took = f"{words.ratio(notice.ratio)} the usual {words.seconds(notice.usual_s)}"
    if notice.last is not None:
        last = words.whole(notice.last)
        return f"steps take their usual time again; {first} to {last} took {took}"
    if notice.ratio < 1:
        return f"from step {first}: steps take {took}, which is usual now; before: {cause(notice)}"
    return f"from step {first}: steps take {took}: {cause(notice)}"


def cause(notice: Drift) -> str:
    """Why the slower steps were slow."""
    share = words.percent(min(1.0, notice.shares.get(notice.cause, 0.0)))
    match notice.cause:
        case "quota":
            return f"throttled, a CPU quota held it back for {share} of the time"
        case "neighbour":
            return f"a neighbour, others had its CPUs for {share} of the time"
        case "host":
            return f"a neighbour on this host, steal took {share} of the time"
        case "sibling":
            return (
                "a neighbour, others use the other hardware threads of its cores, which explains "
                f"{share} of the time"
            )
        case "place":
            return f"a hypervisor has {_moved(notice)}"
        case "heat":
            return f"throttled, a CPU is too hot{_clocks(notice)}"
        case "clock":
            return f"the clock{_clocks(notice)}"
        case "not known":
            return _not_known(notice)


def _clocks(notice: Drift) -> str:
    if notice.clock_ghz is None or notice.usual_clock_ghz is None:
        return ""
    usual = words.number(notice.usual_clock_ghz, 2)
    return f", {words.number(notice.clock_ghz, 2)} GHz where {usual} were usual"


def _moved(notice: Drift) -> str:
    if notice.is_one_core:
        return "put two of its CPUs on one core"
    assert notice.round_trip_ns is not None and notice.usual_round_trip_ns is not None
    trips = f"{notice.round_trip_ns:.0f} ns where {notice.usual_round_trip_ns:.0f} were usual"
    return f"moved its CPUs, a round trip between two of them takes {trips}"


def _not_known(notice: Drift) -> str:
    """What each cause explains of it, and what cannot be read here."""
    lost = words.percent(1 - min(notice.ratio, 1 / notice.ratio))
    each = [f"{name} {words.percent(share)}" for name, share in notice.shares.items()]
    text = f"cause not known; of the {lost} lost: {', '.join(each) or 'nothing could be read'}"
    return f"{text}; not readable here: {', '.join(notice.unread)}" if notice.unread else text
