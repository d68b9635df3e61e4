"""Rows of many machines and releases, in three layouts of Parquet; what two questions take of each.

`python -m tests.live.year_of_rows FOLDER 1000 10` makes, of the example's rows with other names and
times, a file for each machine and release, a file for each release, and one file (a folder that is
there is taken as it is); then it asks
each layout: how a setting's effect differs by release; which machines a release slowed down. Every
question is asked in a process of its own, whose time and memory are printed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import polars

ROWS = Path("example/result/results.parquet")
EFFECT = """
out = rows.filter((polars.col("suite") == "Precision") & (polars.col("value") == "bf16-torch"))
out = out.group_by("release").agg(polars.col("effect").median(), polars.len()).collect()
"""
SLOWED = """
keys = ["machine", "suite", "value"]
both = [rows.filter(polars.col("release") == r).select(*keys, "step_s") for r in ("00", "01")]
out = both[0].join(both[1], on=keys).group_by("machine").agg(
    (polars.col("step_s_right") / polars.col("step_s")).log().mean().exp().alias("ratio")
).sort("ratio").collect()
"""
ASK = """
import resource, sys, time
import polars
start = time.monotonic()
rows = polars.scan_parquet(sys.argv[1] + "/**/*.parquet", hive_partitioning=False)
{question}
used = resource.getrusage(resource.RUSAGE_SELF)
most = open("/proc/self/status").read().split("VmHWM:")[1].split()[0]  # its own, not its parent's
print(f"{{len(out)}} rows: {{time.monotonic() - start:.2f}} s, "
      f"CPU {{used.ru_utime + used.ru_stime:.2f}} s, {{int(most) >> 10}} MB")
"""


def rows_of(measured: polars.DataFrame, machine: int, release: int) -> polars.DataFrame:
    """The example's rows as another machine's, with times that no compression makes small."""
    chance = polars.Series(range(len(measured))).hash(machine * 1000 + release) / 2**64
    factor = 0.5 + (machine % 97) / 50 + (chance - 0.5) * 0.05
    others = [c for c, kind in measured.schema.items() if kind == polars.Float64]
    return measured.with_columns(
        *(polars.col(name) * factor for name in others),
        polars.lit(f"machine-{machine:04}").alias("machine"),
        polars.lit(f"{release:02}").alias("release"),
    )


def make(root: Path, machines: int, releases: int) -> None:
    """Write the three layouts."""
    measured = polars.read_parquet(ROWS)
    for release in range(releases):
        each = [rows_of(measured, machine, release) for machine in range(machines)]
        for machine, rows in enumerate(each):
            folder = root / "by-machine" / f"{release:02}" / f"machine-{machine:04}"
            folder.mkdir(parents=True)
            rows.write_parquet(folder / "results.parquet")
        (root / "by-release").mkdir(exist_ok=True)
        whole = polars.concat(each).sort("suite", "value")
        whole.write_parquet(root / "by-release" / f"{release:02}.parquet")
    (root / "one").mkdir()
    polars.scan_parquet(root / "by-release").sink_parquet(root / "one" / "all.parquet")


def ask(root: Path) -> None:
    """Print what each layout has, and what each question takes of it."""
    for layout in ("by-machine", "by-release", "one"):
        files = list((root / layout).rglob("*.parquet"))
        size = sum(path.stat().st_size for path in files)
        print(f"{layout}: {len(files)} files, {size / 1e6:.0f} MB")
        for name, question in (("effect", EFFECT), ("slowed", SLOWED)):
            command = [sys.executable, "-c", ASK.format(question=question), str(root / layout)]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            print(f"  {name}: {said}", end="")


def main() -> None:
    """Make, and ask."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("machines", type=int, nargs="?", default=1000)
    parser.add_argument("releases", type=int, nargs="?", default=10)
    args = parser.parse_args()
    if not args.root.exists():
        make(args.root, args.machines, args.releases)
    ask(args.root)


if __name__ == "__main__":
    main()
