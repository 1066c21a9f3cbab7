"""Runs bench_mlp and its peers in turn, several times, and prints the table of docs/performance.md.

    compare_mlp.py PATH/TO/bench_mlp [--turns N]

One process each, alternating, so that a noisy neighbour hits all alike; medians over the turns, with the lowest and
highest median; ratios are taken turn by turn. Peers that are not installed are left out and named.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("bench_mlp")
parser.add_argument("--turns", type=int, default=5)
options = parser.parse_args()
here = os.path.dirname(os.path.abspath(__file__))

environment = dict(os.environ)
# Debian's OpenBLAS takes recent processors for old ones; this is what its user would set.
flags = open("/proc/cpuinfo").read()
if "GenuineIntel" in flags and "avx512f" in flags:
    environment.setdefault("OPENBLAS_CORETYPE", "SkylakeX")


def rate(command):
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        return None, (run.stderr.strip().splitlines() or ["failed"])[-1]
    return json.loads(run.stdout.strip().splitlines()[-1])["value"], None


peers = ["numpy", "numpy_blas", "torch_sgd", "torch_hand"]
missing = {}
print("| dtype | threads | thtrain | " + " | ".join(peers) + " |")
print("| --- | --- | --- | " + " | ".join("---" for _ in peers) + " |")
for dtype in ("float32", "float64"):
    for threads in (1, 2):
        arguments = ["--dtype", dtype, "--threads", str(threads), "--rounds", "7"]
        ours, ratios, values = [], {p: [] for p in peers}, {p: [] for p in peers}
        for _ in range(options.turns):
            value, trouble = rate([options.bench_mlp, *arguments])
            if value is None:
                sys.exit(f"bench_mlp: {trouble}")
            ours.append(value)
            for peer in peers:
                theirs, trouble = rate([sys.executable, os.path.join(here, "mlp.py"), peer, *arguments])
                if theirs is None:
                    missing[peer] = trouble
                else:
                    values[peer].append(theirs)
                    ratios[peer].append(value / theirs)
        cells = []
        for peer in peers:
            spread = ratios[peer]
            cells.append(f"{statistics.median(values[peer]):,.0f} ({statistics.median(spread):.2f}x, "
                         f"{min(spread):.2f}-{max(spread):.2f})" if spread else "-")
        own = f"{statistics.median(ours):,.0f} ({min(ours):,.0f}-{max(ours):,.0f})"
        print(f"| {dtype} | {threads} | {own} | " + " | ".join(cells) + " |", flush=True)
for peer, trouble in missing.items():
    print(f"{peer} did not run: {trouble}")
