#!/bin/sh
# Does successive halving find what a whole grid finds? Of each seed: the best validation error of a grid of 64 runs of
# mlp_digits, that of the same grid with --halving 4, and the epochs that both trained.
#
#   bench/halving_check.sh THTRAIN [SEEDS] [FOLDER]       bench/halving_check.sh build/release/bin/thtrain
#
# The 10 seeds that it takes unless told are 25,440 epochs of small networks.
set -eu
program=$(readlink -f "$1")
config=$(readlink -f "$(dirname "$0")/../configs/labs/mlp_digits.toml")
seeds=${2:-10}
folder=${3:-$(mktemp -d)}
mkdir -p "$folder"
grid="trainer.learning_rate=0.003,0.007,0.015,0.03,0.07,0.15,0.3,0.7
  model.layers.0.units=16,32,64,128 trainer.momentum=0,0.9"
printf '%4s  %9s  %9s  %11s  %14s\n' seed grid halving difference epochs
for seed in $(seq "$seeds"); do
  for kind in grid halving; do
    options=
    [ $kind = grid ] || options="--halving 4"
    # shellcheck disable=SC2086
    "$program" sweep "$config" $grid seed="$seed" output.plots=false $options --threads 1 \
      --run-dir "$folder/$kind-$seed" --quiet > "$folder/$kind-$seed.log"
  done
  # The name of a run holds commas; behind it: rate, units, momentum, metric, best, best_epoch, test, epochs.
  awk -v seed="$seed" -F '"[^"]*"|,' '
    FNR > 1 { value = $7 + 0; epochs = $10
              if (FILENAME ~ /grid-[0-9]+\/sweep/) { if (!g || value < g) g = value; ge += epochs }
              else { if (!h || value < h) h = value; he += epochs } }
    END { printf "%4d  %7.2f %%  %7.2f %%  %4.2f points  %d of %d\n", seed, g, h, h - g, he, ge }' \
    "$folder/grid-$seed/sweep.csv" "$folder/halving-$seed/sweep.csv"
done
