#!/bin/bash
# A step of the same network by one process with two threads, and by two processes with one thread each: thtrain
# without shards and with two of them, and PyTorch with DistributedDataParallel over gloo.
#
#   bench/scale_check/throughput.sh THTRAIN PYTHON [ROUNDS]     throughput.sh build/release/bin/thtrain python3
#
# They alternate; prints the milliseconds of a step, the median of the rounds. NETWORKS="784-300-10/50 ..." are layers
# and minibatches.
set -eu
program=$(readlink -f "$1")
python=$2
rounds=${3:-5}
networks=${NETWORKS:-784-300-10/50 784-1000-1000-10/200}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export THTRAIN_CACHE_DIR=$folder/cache
mpi="mpirun --allow-run-as-root --oversubscribe --bind-to none --mca btl_base_warn_component_unused 0"

write_experiment() { # layers batch
  local sizes=(${1//-/ })
  {
    printf '[data]\nsource = "digits"\n'
    for ((i = 1; i < ${#sizes[@]} - 1; i++)); do
      printf '[[model.layers]]\ntype = "dense"\nunits = %s\nactivation = "tanh"\n' "${sizes[i]}"
    done
    printf '[[model.layers]]\ntype = "softmax"\n'
    printf '[trainer]\nlearning_rate = 0.01\nmomentum = 0.9\nbatch_size = %s\nepochs = 1\n' "$2"
  } > "$folder/e.toml"
}

# The milliseconds of a step: "bench scale" of one process measures its shards and the optimizer, of several all.
of_shards() { # processes threads
  local launch=
  [ "$1" -gt 1 ] && launch="$mpi -n $1"
  OMP_NUM_THREADS=$2 $launch "$program" bench scale "$folder/e.toml" "trainer.shards=$1" --seconds 2 > "$folder/out"
  sed -nE 's/^measured with [0-9]+ processes: ([0-9.]+) ms.*/\1/p' "$folder/out"
}
whole() { # threads: without shards
  OMP_NUM_THREADS=$1 "$program" check "$folder/e.toml" --predict cpu --json > "$folder/out"
  sed -nE 's/.*"measured": ([0-9.e-]+).*/\1/p' "$folder/out" | awk '{ printf "%.4f\n", 1000 * $1 }'
}

median() { sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

printf '| network | thtrain 1x2 | thtrain 2x1 | PyTorch 1x2 | PyTorch DDP 2x1 |\n| --- | --- | --- | --- | --- |\n'
for network in $networks; do
  layers=${network%/*}
  batch=${network#*/}
  write_experiment "$layers" "$batch"
  for ((round = 0; round < rounds; round++)); do
    whole 2 >> "$folder/a"
    of_shards 2 1 >> "$folder/b"
    "$python" "$here/ddp.py" "$layers" "$batch" 500 1 2 >> "$folder/c"
    "$python" "$here/ddp.py" "$layers" "$batch" 500 2 1 >> "$folder/d"
  done
  printf '| %s | %s | %s | %s | %s |\n' "$network" "$(median < "$folder/a")" "$(median < "$folder/b")" \
    "$(median < "$folder/c")" "$(median < "$folder/d")"
  rm -f "$folder"/[abcd]
done
