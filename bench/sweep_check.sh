#!/bin/bash
# How much of the throughput of runs that are started by hand a sweep reaches: RUNS runs of an experiment, one thread
# each, as many at once as JOBS; by `thtrain sweep`, and by JOBS loops of the shell that each take every JOBS-th run.
#
#   bench/sweep_check.sh THTRAIN [CONFIG] [ROUNDS]       RUNS=12 JOBS=2 bench/sweep_check.sh build/release/bin/thtrain
#
# They alternate; prints the seconds of each round, and the ratio of the shortest ones (1 is as fast as by hand). With
# COLD=1 each begins with an empty cache of compiled code.
set -eu
program=$(readlink -f "$1")
config=$(readlink -f "${2:-$(dirname "$0")/../configs/labs/mlp_digits.toml}")
rounds=${3:-5}
runs=${RUNS:-12}
jobs=${JOBS:-2}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1 THTRAIN_CACHE_DIR=$folder/cache

by_sweep() {
  "$program" sweep "$config" --run-dir "$folder/sweep" --jobs "$jobs" --threads 1 "seed=1..$runs" > "$folder/log"
}
by_hand() {
  local job seed
  for ((job = 1; job <= jobs; job++)); do
    for ((seed = job; seed <= runs; seed += jobs)); do
      "$program" train "$config" --run-dir "$folder/hand/$seed" "seed=$seed" > "$folder/log-$seed"
    done &
  done
  wait
}
seconds_of() {
  local began ended
  rm -rf "$folder/sweep" "$folder/hand"
  [ -z "${COLD:-}" ] || rm -rf "$THTRAIN_CACHE_DIR"
  "$program" info > /dev/null # measures the machine where the cache is empty
  began=$(date +%s.%N)
  "$1"
  ended=$(date +%s.%N)
  awk "BEGIN { printf \"%.3f\", $ended - $began }"
}

"$program" train "$config" --run-dir "$folder/first" --quiet > /dev/null # compiled from now on
shortest_sweep='' shortest_hand=''
for ((round = 1; round <= rounds; round++)); do
  hand=$(seconds_of by_hand)
  sweep=$(seconds_of by_sweep)
  echo "round $round: by hand $hand s, sweep $sweep s"
  shortest_hand=$(printf '%s\n' "${shortest_hand:-$hand}" "$hand" | sort -g | head -1)
  shortest_sweep=$(printf '%s\n' "${shortest_sweep:-$sweep}" "$sweep" | sort -g | head -1)
done
awk "BEGIN { printf \"$runs runs, $jobs at once: by hand %.3f s, sweep %.3f s, throughput %.1f %%\n\", \
  $shortest_hand, $shortest_sweep, 100 * $shortest_hand / $shortest_sweep }"
