#!/bin/bash
# The exchange that `thtrain bench scale` predicts, against SimGrid's simulation of the messages that ranks send
# (trainers/ranks/ranks.cpp, compiled by SimGrid's smpicxx): a network of full bisection with the stated latency and
# bandwidth; computing takes no time.
#
#   bench/scale_check/simgrid.sh [RANKS...]   LATENCY=2 BANDWIDTH=10 SIZES="65536 1048576" (microseconds, GB/s, bytes)
#
# Needs libsimgrid-dev. Without numbers of ranks: 64 and 1024.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
latency=${LATENCY:-2}
bandwidth=${BANDWIDTH:-10}
sizes=${SIZES:-65536 1048576}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

smpicxx -std=c++20 -O1 -I"$root" "$root/bench/scale_check/exchange.cpp" "$root/trainers/ranks/ranks.cpp" \
  "$root"/compiler/base/{error,origin,escape,utf8,str}.cpp -o "$folder/exchange" 2> "$folder/errors" || {
  cat "$folder/errors" >&2
  exit 1
}

printf '| ranks | bytes | simulated, us | predicted, us | difference, %% |\n| --- | --- | --- | --- | --- |\n'
for ranks in ${*:-64 1024}; do
  # Each way has two links.
  cat > "$folder/platform.xml" <<XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-$((ranks - 1))" speed="1Gf" bw="${bandwidth}GBps"
           lat="$(awk "BEGIN { print $latency / 2 }")us"/>
</platform>
XML
  seq 0 $((ranks - 1)) | sed 's/^/n/' > "$folder/hosts"
  smpirun -np "$ranks" -hostfile "$folder/hosts" -platform "$folder/platform.xml" \
    --cfg=smpi/simulate-computation:no --cfg=network/model:CM02 --cfg=network/TCP-gamma:0 \
    --cfg=network/crosstraffic:0 --cfg=network/bandwidth-factor:1 --cfg=network/latency-factor:1 \
    --cfg=network/weight-S:0 --cfg=smpi/display-timing:no --log=root.thres:critical "$folder/exchange" $sizes \
    2> "$folder/log" > "$folder/times" || {
    cat "$folder/log" >&2
    exit 1
  }
  while read -r bytes seconds; do
    awk -v ranks="$ranks" -v bytes="$bytes" -v seconds="$seconds" -v latency="$latency" -v rate="$bandwidth" 'BEGIN {
      predicted = 0; left = bytes
      for (d = 1; d < ranks; d *= 2) { left /= 2; predicted += 2 * (latency + left / (rate * 1000)) }
      printf "| %d | %d | %.1f | %.1f | %.1f |\n", ranks, bytes, 1e6 * seconds, predicted,
             100 * (predicted / (1e6 * seconds) - 1)
    }'
  done < "$folder/times"
done
