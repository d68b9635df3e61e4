"""Draws effects.svg from the tables of figures.md: `venv/bin/python docs/draw_effects.py`."""

import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
INTERVAL = r"\[([\d.]+), ([\d.]+)\]"
SETTING = rf"(?m)^\| ([^|]+) \| ([^|]+) \| ([\d.]+) \| {INTERVAL} \|$"
ENGINE = rf"\| ([^|]+) \| baseline \| 2 \| [^|]+ \| ([\d.]+) \| {INTERVAL} \|"

Bar = tuple[str, str, float, float]
"""Label, effect as the table has it, low and high end of its interval."""


def bars(text: str) -> tuple[list[Bar], list[Bar]]:
    """The settings' and the engines' effects."""
    settings = [
        (f"{name.replace('`', '')} / {base}", effect, float(low), float(high))
        for name, base, effect, low, high in re.findall(SETTING, text)
    ]
    engines = [
        (f"{name} / torch", ratio, float(low), float(high))
        for name, ratio, low, high in re.findall(ENGINE, text)
    ]
    return settings, sorted(engines, key=lambda bar: float(bar[1]))


def color(low: float, high: float) -> str:
    """Of a bar: faster, slower, or an interval that holds 1."""
    return "#0a7d4b" if high < 1 else "#b3402a" if low > 1 else "#777777"


def draw(axes: plt.Axes, rows: list[Bar], title: str) -> None:
    """One panel: a line from low to high for each row, a dot at the effect."""
    for place, (_, effect, low, high) in enumerate(rows):
        axes.plot([low, high], [place, place], color=color(low, high), linewidth=3)
        axes.plot([float(effect)], [place], "o", color=color(low, high), markersize=7)
        axes.annotate(f"{effect}x", (high, place), (6, 0), va="center", textcoords="offset points")
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.axvline(1, color="black", linewidth=1)
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")


def main() -> None:
    """Write the picture beside the page."""
    settings, engines = bars((HERE / "figures.md").read_text())
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "effects", "font.size": 10})
    heights = {"height_ratios": [len(settings), len(engines)]}
    figure, (upper, lower) = plt.subplots(2, figsize=(9, 7.5), sharex=True, gridspec_kw=heights)
    draw(upper, settings, "Settings, torch (21 November 2026)")
    draw(lower, engines, "Engines, baseline, 2 threads (22 November 2026)")
    lower.set_xscale("log")
    lower.set_xlim(0.25, 14)
    lower.set_xticks([0.25, 0.5, 1, 2, 4, 8], ["0.25x", "0.5x", "1x", "2x", "4x", "8x"])
    lower.minorticks_off()
    lower.set_xlabel("step time over the baseline's, 99 % interval (left is faster)")
    figure.tight_layout()
    figure.savefig(HERE / "effects.svg", metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
