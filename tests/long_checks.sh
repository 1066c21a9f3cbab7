# shellcheck shell=sh
# ./run_tests --long [PART...]: the checks that take too long for every change, one after the other, in the order below;
# without a PART all of them. Each writes build/long/<part>.log; what it found is told at the end. Of two cores of a
# Zen 3, hours at most:
#
#   tidy      0.3  clang-tidy (.clang-tidy) over the sources of every room
#   asan      3    all tests under the address and undefined-behaviour sanitizers, generated code too
#   tsan      1    tests of code with threads under the thread sanitizer: libraries, runtime, readers of data, trainers
#   fuzz      0.5  libFuzzer over the parsers, a minute for each
#   coverage  1.5  the lines that the programs of tests execute, by room
#   cubins    0.2  NVRTC compiles the kernels of all ops' cases for four architectures, and what the schedules' kernels
#                  need there is compared; nothing where it is missing
#   devices   2    on the emulated device all labs with their own layers, those of data that a clone does not have where
#                  THTRAIN_DATA names its folder, 100 kills and 2,000 random programs
#   ranks     0.5  100 kills of ranks, and all labs that can be trained in shards by 1, 2 and 4 processes; nothing where
#                  MPI is missing (the time is an estimate)
#   bare      1    a checkout on Debian 12 and Debian 13, with nothing but what ./thtrain installs: the commands of the
#                  pages for newcomers, the figures that these pages print, and the times (tests/docs/page_commands.py)
#
# run_tests reads this file: `root`, run_ctest and the functions of cmake/bootstrap.sh are there.

long_parts="tidy asan tsan fuzz coverage cubins devices ranks bare"
tsan_groups="compiler_libraries compiler_host compiler_runtime compiler_tuning datasets trainers"
fuzzers="toml npy npz idx csv libsvm matrix_market sparse_npz cache_entry program_image function_file tuning
  tuning_import"

# built <preset> "<package>..." [option of cmake --build...]: with these packages beyond those of the tests.
built() {
  built_preset=$1
  lock_builds
  # shellcheck disable=SC2086,SC2154  # lists of cmake/bootstrap.sh
  install_packages $build_packages $test_packages $2
  shift 2
  build_preset "$built_preset" "$@"
  unlock_builds
}

long_tidy() {
  # Configuring writes what clang-tidy reads: the commands, the groups of sources and the generated headers.
  built tidy "clang clang-tidy" --target help
  # Clang 14 lacks std::source_location: with the stand-in that the fuzzers have.
  cd "$root" && run-clang-tidy -quiet -p build/tidy -j "$jobs" \
    -extra-arg-before=-isystem"$root/tests/fuzz/parsers/shim" "^$root/(?!build/tidy/generated/|docs/)"
}

long_asan() {
  built asan ""
  UBSAN_OPTIONS=print_stacktrace=1 run_ctest asan
}

long_tsan() {
  # shellcheck disable=SC2046  # a list
  built tsan "" --target $(printf 'test_%s ' $tsan_groups)
  TSAN_OPTIONS=suppressions=$root/tests/tsan_suppressions.txt run_ctest tsan -L "^($(echo $tsan_groups | tr ' ' '|'))\$"
}

long_fuzz() {
  # shellcheck disable=SC2046  # a list
  built fuzz "clang libclang-rt-dev" --target $(printf 'fuzz_%s ' $fuzzers)
  run_ctest fuzz
}

# Programs of tests as a whole: each process that ends adds what it has counted to a file for each source, which takes
# longer than most tests do.
coverage_programs() (
  cd "$root/build/coverage/tests" || exit 1
  THTRAIN_CACHE_DIR=$(mktemp -d "$root/build/long/cache.XXXXXX") || exit 1
  trap 'rm -rf "$THTRAIN_CACHE_DIR"' EXIT
  export THTRAIN_CACHE_DIR
  # shellcheck disable=SC2016  # a command of another shell
  printf '%s\n' ../bin/test_* | xargs -P "$jobs" -n 1 sh -c '"$0" --gtest_brief=1 || { echo "failed: $0"; exit 1; }'
)

long_coverage() {
  built coverage gcovr
  coverage_programs
  code=$?
  # gcov counts some branches as taken less than never, at which gcovr would end.
  (cd "$root" && gcovr --gcov-ignore-parse-errors -r . build/coverage -e tests -e build -e docs --csv) |
    awk -F, 'NR > 1 {
      split($1, folder, "/")
      room = folder[1] == "compiler" && folder[3] != "" ? folder[1] "/" folder[2] : folder[1]
      lines[room] += $2; executed[room] += $3; all += $2; all_executed += $3
    }
    END {
      for (room in lines) tell(room, executed[room], lines[room])
      tell("all", all_executed, all)
    }
    function tell(what, executed, lines) {
      printf "covered %-20s %5.1f %% of %6d lines\n", what, 100 * executed / lines, lines
    }'
  return $code
}

long_cubins() {
  built tests "" --target test_compiler_cuda
  THTRAIN_CUBINS="75 80 90 100" run_ctest tests -R 'CaseKernels|Resources'
}

# Longer than ctest lets a test run.
long_devices() (
  built tests "" --target test_models test_cli test_fuzz
  THTRAIN_CACHE_DIR=$(mktemp -d "$root/build/long/cache.XXXXXX") || exit 1
  trap 'rm -rf "$THTRAIN_CACHE_DIR"' EXIT
  export THTRAIN_CACHE_DIR THTRAIN_FUZZ_CASES=2000 THTRAIN_DEVICE_LABS=whole THTRAIN_KILLS=50
  code=0
  cd "$root" || exit 1
  for run in models:*DeviceLabs.*:LogisticMnistOnADevice.* cli:DeviceKills.* fuzz:RandomDeviceProgramsInDebugMode.* \
    fuzz:*RandomDevicePrograms.*; do
    "build/tests/bin/test_${run%%:*}" --gtest_filter="${run#*:}" || code=1
  done
  exit $code
)

long_ranks() {
  built tests "" --target test_cli
  cd "$root" && THTRAIN_RANK_KILLS=100 THTRAIN_RANK_LABS=all build/tests/bin/test_cli --gtest_filter='*ManyRanks*'
}

# Where no root file system can be made, it says why, and runs a fresh checkout on this machine.
long_bare() {
  install_packages git python3 debootstrap
  python3 -B "$root/tests/docs/page_commands.py" --bare
}

# What the log of a part says that it found.
findings_of() {
  case $1 in
    tidy) echo "$(sed 's/\x1b\[[0-9;]*m//g' "$2" | grep -E ': (error|warning): ' | sort -u | wc -l) findings" ;;
    devices | ranks) grep -E '^\[  (PASSED|FAILED) ' "$2" ;;
    bare) grep -E '^no root file|figures compared' "$2" ;;
    *)
      grep -E '^thtrain: the build failed|^[0-9]+% tests passed|^failed: |^covered|^SUMMARY: ' "$2" |
        sort | uniq -c | sed 's/^ *1 //'
      ;;
  esac
}

long_checks() {
  # shellcheck disable=SC2086  # a list
  [ $# -gt 0 ] || set -- $long_parts
  for part; do
    case " $long_parts " in
      *" $part "*) ;;
      *) stop "there is no long check $part: $long_parts" ;;
    esac
  done
  mkdir -p "$root/build/long"
  summary=$root/build/long/summary
  : >"$summary"
  failed=0
  for part; do
    log=$root/build/long/$part.log
    say "$part: at work (its log: $log)"
    began=$(now)
    result=passed
    ("long_$part") >"$log" 2>&1 || {
      result=FAILED
      failed=1
      tail -n 20 "$log" >&2
    }
    {
      echo "$part: $result, $((($(now) - began) / 60)) min"
      findings_of "$part" "$log" | sed 's/^/  /'
    } >>"$summary"
  done
  cat "$summary"
  return $failed
}
