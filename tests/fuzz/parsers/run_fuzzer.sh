#!/bin/sh
# run_fuzzer.sh PROGRAM CORPUS [SECONDS]: writes the seeds of a fuzzer into its corpus and lets it search. What it finds
# is in CORPUS.finding-*, and the exit status is not 0.
set -eu
program=$1 corpus=$2 seconds=${3:-60}
mkdir -p "$corpus"
THTRAIN_FUZZ_SEEDS=$corpus "$program"
# Inputs of 4 KiB reach all of these formats. Nothing that small may ask for more than 256 MiB, or take ten seconds.
exec "$program" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 \
  -print_final_stats=1 -artifact_prefix="$corpus.finding-" "$corpus"
