#!/bin/sh
# Tries a GPU: the tests of programs on devices, some labs, and `thtrain bench device`.
#
#   bench/gpu_check.sh --pack FILE.tar.xz [BIN]   on a machine with packages: builds, and packs the programs and what
#                                                 they need. BIN: a folder with programs that are built already
#   sh gpu_check.sh --run [DEVICE]                on the machine with the GPU, in the folder that FILE was unpacked
#                                                 to, for less than nine minutes; prints tables in Markdown
#
# That machine needs no network and no packages, but: a driver of CUDA 12.4 to 13; NVRTC, or nvcc on PATH; g++ 12 or
# clang++ 16 or later, by which programs are compiled; glibc as new as the packing machine's. DEVICE is cuda without it.
# With `emulated` a part of the tests and small cases run, to try this script.
set -eu

programs="thtrain test_compiler_ops test_compiler_runtime test_fuzz"
limit=520 # seconds of --run

stop() {
  printf 'gpu_check: %s\n' "$1" >&2
  exit 2
}

# ---- --pack

# The libraries that a program needs, and OpenBLAS, which is opened by name; not those that come with a compiler.
libraries_of() {
  { ldd "$@"; ldconfig -p; } | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u |
    grep -E '/lib(png16|z|freetype|brotli[a-z]*|mpfr|gmp|openblas|gfortran|quadmath)\.so' | grep -v '/atlas/' || true
}

pack() {
  file=$1
  root=$(dirname "$(dirname "$(readlink -f -- "$0")")")
  bin=${2:-$root/build/tests/bin}
  if [ $# -lt 2 ]; then
    # shellcheck source=cmake/bootstrap.sh
    . "$root/cmake/bootstrap.sh"
    lock_builds
    # shellcheck disable=SC2086,SC2154  # lists
    install_packages $build_packages $test_packages
    # shellcheck disable=SC2046,SC2086
    build_preset tests --target thtrain_cli $(printf '%s\n' $programs | grep '^test_')
    unlock_builds
  fi
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  mkdir "$folder/bin" "$folder/lib" "$folder/configs"
  for program in $programs; do
    [ -x "$bin/$program" ] || stop "$bin has no program $program"
    strip -o "$folder/bin/$program" "$bin/$program"
  done
  # The first of several of one name is that which the linker takes.
  # shellcheck disable=SC2086  # a list
  for library in $(cd "$folder/bin" && libraries_of $programs); do
    [ -e "$folder/lib/${library##*/}" ] || cp -L "$library" "$folder/lib/"
  done
  cp -r "$root/configs/labs" "$folder/configs/"
  cp -r "$root/bench/peers" "$folder/"
  cp "$root/bench/gpu_check.sh" "$folder/"
  tar -C "$folder" -c . | xz -T0 "${GPU_CHECK_XZ:--6}" >"$file"
  bytes=$(wc -c <"$file")
  echo "packed $file: $((bytes / 1000000)) MB"
  [ "$bytes" -lt 50000000 ] || stop "$file has $bytes bytes; at most 50 MB are asked for"
}

# ---- --run

now() { date +%s; }
left() { echo $((began + limit - $(now))); }

# within SECONDS COMMAND...: for that long, and no longer than what is left.
within() {
  seconds=$1
  shift
  [ "$seconds" -lt "$(left)" ] || seconds=$(left)
  [ "$seconds" -gt 0 ] || return 124
  timeout "$seconds" "$@"
}

# tests NAME PROGRAM FILTER: in the background; its row goes to $work/NAME.row.
tests() {
  {
    start=$(now)
    code=0
    within 400 "$here/bin/$2" --gtest_filter="$3" --gtest_brief=1 >"$work/$1.log" 2>&1 || code=$?
    passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$work/$1.log")
    failed=$(sed -n 's/^\[  FAILED  \] \([^ ,]*\)[ ,].*(.* ms)$/\1/p' "$work/$1.log" | tr '\n' ' ')
    [ "$code" != 124 ] || failed="${failed}not done in time"
    [ "$code" = 0 ] || [ -n "$failed" ] || failed="ended by $code"
    echo "| $1 | ${passed:-0} | $failed | $(($(now) - start)) |" >"$work/$1.row"
  } &
}

# lab NAME OVERRIDES...: the last line of figures by the processor and by the device.
lab() {
  name=$1
  shift
  for by in cpu "$device"; do
    rm -rf "$work/run"
    within 60 "$here/bin/thtrain" train "configs/labs/$name.toml" "compiler.device=$by" output.plots=false "$@" \
      --run-dir "$work/run" --quiet >"$work/$by.lab" 2>&1 ||
      echo "failed: $(head -n 1 "$work/$by.lab")" >>"$work/$by.lab"
  done
  figure() { sed -n 's/^best validation \(.*\) (epoch.*/\1/p; s/^failed: //p' "$work/$1.lab" | tail -n 1; }
  echo "| $name | $(figure cpu) | $(figure "$device") |"
}

run() {
  device=${1:-cuda}
  began=$(now)
  here=$(dirname "$(readlink -f -- "$0")")
  [ -x "$here/bin/thtrain" ] || stop "--run is for the folder that a pack was unpacked to"
  "${CXX:-c++}" --version >/dev/null 2>&1 || g++ --version >/dev/null 2>&1 || clang++ --version >/dev/null 2>&1 ||
    stop "there is no C++ compiler: g++ 12 or clang++ 16 or later compiles what calls the kernels"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$here"
  export THTRAIN_CACHE_DIR="$work/cache" THTRAIN_TEST_ROOT="$here" THTRAIN_TEST_DEVICE="$device"
  export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  # Where NVRTC of PyPI is, if it is.
  [ -n "${VIRTUAL_ENV:-}" ] || VIRTUAL_ENV=$(python3 -c 'import sys; print(sys.prefix)' 2>/dev/null) || VIRTUAL_ENV=
  export VIRTUAL_ENV
  quick=
  [ "$device" != emulated ] || quick=--quick

  echo "## Libraries"
  echo
  within 60 "$here/bin/thtrain" info | sed -n '/^CUDA/,$p' | sed 's/^/    /'
  echo
  echo "## Speed"
  echo
  # shellcheck disable=SC2086  # nothing or one option
  within 150 "$here/bin/thtrain" bench device "$device" $quick --only thtrain 2>&1 || echo "failed"
  echo
  echo "## Tests"
  echo
  echo "| tests | passed | failed | s |"
  echo "| --- | --- | --- | --- |"
  if [ -n "$quick" ]; then
    tests products test_compiler_ops 'DeviceTransposes.*'
    tests programs test_compiler_runtime 'Cuda.KernelsThatDifferInANumberAreOne:DeviceProgram.AVariable*'
  else
    tests ops test_compiler_ops '*CudaCases*plain'
    tests optimized test_compiler_ops '*CudaCases*optimized'
    tests results test_compiler_ops 'Device*-*Mutants*' # those are of the emulated device
    tests programs test_compiler_runtime 'Cuda.*:DeviceProgram.*:DeviceGraphs.*:*OtherTargets*cuda'
    for part in 0 1 2 3; do tests "random-$part" test_fuzz "*RandomDevicePrograms.*/$part"; done
    tests debug test_fuzz 'RandomDeviceProgramsInDebugMode.*'
  fi
  wait
  cat "$work"/*.row
  echo
  echo "## Labs: best on validation, by the processor and by the device"
  echo
  echo "| lab | cpu | $device |"
  echo "| --- | --- | --- |"
  lab logistic_digits trainer.epochs=1 data.n_train=100 data.n_valid=100 data.n_test=100
  if [ -z "$quick" ]; then
    lab mlp_digits trainer.epochs=5
    lab lenet_digits trainer.epochs=1
    lab rnn_reber trainer.epochs=1
    lab rbm_digits trainer.epochs=1
    lab dae_digits trainer.epochs=1
  fi
  if [ -z "$quick" ] && [ "$(left)" -gt 30 ]; then
    echo
    echo "## Speed, with other libraries, as far as the time goes"
    echo
    within "$(left)" "$here/bin/thtrain" bench device "$device" --peers "$here/peers" 2>&1 || echo "not all"
  fi
  echo
  echo "done in $(($(now) - began)) s"
  for log in "$work"/*.log; do
    if grep -q '^\[  PASSED  \]' "$log" && ! grep -q FAILED "$log"; then continue; fi
    echo "---- the end of ${log##*/}:" >&2
    tail -n 40 "$log" >&2
  done
}

case ${1:-} in
  --pack) [ $# -ge 2 ] || stop "--pack needs a file"; shift; pack "$@" ;;
  --run) shift; run "$@" ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
