# shellcheck shell=sh disable=SC2154
# What ./thtrain and ./run_tests share: missing packages are installed, and a preset is built under a lock. The caller
# sets `root`, the folder of the checkout. All is said on standard error: standard output is the program's.

# The names are those of Debian 12, Debian 13 and Ubuntu 24.04: packages for building were not renamed when times got 64
# bits (as libpng16-16t64 was), and bring the libraries of their release.
build_packages="g++ cmake ninja-build libopenblas0-pthread libtomlplusplus-dev libcli11-dev"
build_packages="$build_packages libpng-dev zlib1g-dev libfreetype-dev fonts-dejavu-core libxxhash-dev"
# shellcheck disable=SC2034  # run_tests reads it
test_packages="libgtest-dev libmpfr-dev clang python3 python3-numpy clang-format chromium libopenmpi-dev openmpi-bin"
systems="Debian 12, Debian 13 and Ubuntu 24.04"
needs="a C++20 compiler (g++ 12 or clang++ 19, or newer), CMake 3.25, Ninja, zlib, libpng, FreeType, toml++ 3, CLI11, \
xxHash and their headers, and OpenBLAS as a shared library; a font such as DejaVu Sans is for the pictures"

say() { printf 'thtrain: %s\n' "$*" >&2; }
stop() {
  say "$*"
  exit 1
}
now() { date +%s; }

# Holds until unlock, or until this process and its children end. Compilers and CMake need a folder to work in.
lock_builds() {
  if ! /bin/pwd >/dev/null 2>&1; then
    printf 'error: the working folder is gone, and thtrain must be built\n' >&2
    printf '  hint:     go to a folder that exists, and try again\n' >&2
    exit 2
  fi
  mkdir -p "$root/build" || stop "cannot make the folder $root/build"
  exec 9<"$root/build"
  flock --nonblock 9 && return
  say "another build in $root/build is running; waiting for it"
  flock 9
}
unlock_builds() { exec 9<&-; }

# The line of /etc/os-release (or of the file $OS_RELEASE, in a test) with this key, without quotes.
os_release() { sed -n "s/^$1=\"*\([^\"]*\)\"*$/\1/p" "${OS_RELEASE:-/etc/os-release}" 2>/dev/null; }

# Another system than Debian and its children: libraries may well be there; configuring will tell.
check_other_system() {
  missing=
  command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1 || missing=" g++"
  for tool in cmake ninja; do command -v $tool >/dev/null 2>&1 || missing="$missing $tool"; done
  [ -n "$missing" ] || return 0
  stop "these programs are missing:$missing. Packages are installed on $systems only. Needed: $needs"
}

# install_packages <package>...: those that dpkg does not know as installed.
install_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    check_other_system
    return
  fi
  release="$(os_release ID) $(os_release VERSION_ID)"
  # Ubuntu has Chromium as a snap alone; the test that needs a browser says so.
  case $release in
    ubuntu*)
      for package; do
        shift
        [ "$package" = chromium ] || set -- "$@" "$package"
      done
      ;;
  esac
  # shellcheck disable=SC2016  # the braces are dpkg's
  installed=" $(dpkg-query -W -f '${Package}:${db:Status-Status} ' "$@" 2>/dev/null)"
  missing=
  for package; do
    case $installed in
      *" $package:installed "*) ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  case $release in
    debian\ [1-9] | debian\ 1[01] | ubuntu\ [1-9].* | ubuntu\ 1?.* | ubuntu\ 2[0-3].*)
      stop "$(os_release PRETTY_NAME) is too old: packages are installed on $systems. Missing:$missing. Needed: $needs"
      ;;
  esac

  by_hand="apt-get update && apt-get install --yes --no-install-recommends$missing"
  as_root=
  if ! command -v apt-get >/dev/null 2>&1; then
    say "these Debian packages are missing, and there is no apt-get to install them:$missing"
    printf '  %s\n' "$by_hand" >&2
    exit 1
  elif [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      say "these Debian packages are missing:$missing"
      say "run this as root, then start again:"
      printf '  %s\n' "$by_hand" >&2
      exit 1
    fi
    as_root=sudo
  fi

  say "installing Debian packages${as_root:+ with sudo}:$missing"
  started=$(now)
  log=$root/build/packages.log
  # shellcheck disable=SC2086  # missing is a list, and as_root may be nothing
  {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 update &&
      $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 \
        install --yes --no-install-recommends $missing
  } >"$log" 2>&1 </dev/null || {
    tail -n 15 "$log" >&2
    say "installing failed (all of it: $log). Run this as root, then start again:"
    printf '  %s\n' "$by_hand" >&2
    exit 1
  }
  say "installed in $(($(now) - started)) s"
}

# Reads ninja's output: its counts become one line that is written again and again on a terminal, and a line for each
# fifth elsewhere. What the compiler says is passed on.
show_progress() {
  next=20
  shown=
  while IFS= read -r line; do
    case $line in
      @*@*)
        line=${line#@}
        line=${line%%@*}
        done_files=${line%% *}
        line=${line#* }
        total=${line%% *}
        seconds=${line##* }
        if [ -t 2 ]; then
          printf '\r\033[Kthtrain: building, step %s of %s, %s s' "$done_files" "$total" "${seconds%.*}" >&2
          shown=1
        elif [ "$total" -ge 10 ] && [ "$done_files" -lt "$total" ] &&
          [ $((done_files * 100)) -ge $((next * total)) ]; then
          say "building, step $done_files of $total, ${seconds%.*} s"
          while [ $((done_files * 100)) -ge $((next * total)) ]; do next=$((next + 20)); done
        fi
        ;;
      "" | "-- "* | "ninja: no work to do.") ;;
      *)
        [ -z "$shown" ] || printf '\n' >&2
        shown=
        printf '%s\n' "$line" >&2
        ;;
    esac
  done
  [ -z "$shown" ] || printf '\r\033[K' >&2
}

# build_preset <preset> [option of cmake --build ...]: into build/<preset>, which a first build configures with
# $configure_options. `jobs` is then the number of processors. Ends this process with 1 where it fails.
build_preset() {
  preset=$1
  shift
  folder=$root/build/$preset
  started=$(now)
  # CMake refuses a folder that was configured elsewhere: the checkout was moved or copied.
  if [ -e "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    say "the checkout was moved; building afresh"
    rm -rf "$folder"
  fi
  if [ ! -e "$folder/build.ninja" ]; then
    say "building build/$preset (the first build takes a few minutes)"
    mkdir -p "$folder"
    (cd "$root" && cmake --preset "$preset" ${configure_options:-}) >"$folder/configure.log" 2>&1 </dev/null || {
      tail -n 30 "$folder/configure.log" >&2
      stop "configuring failed. Needed: $needs. On $systems these packages: $build_packages"
    }
  else
    say "bringing build/$preset up to date"
  fi
  # nproc would take OMP_NUM_THREADS, which is meant for the training, for the number of cores.
  jobs=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || echo 2)
  code_file=$folder/.code
  {
    NINJA_STATUS='@%f %t %e@' cmake --build "$folder" --parallel "$jobs" "$@" 2>&1 </dev/null
    echo $? >"$code_file"
  } | show_progress
  [ "$(cat "$code_file")" = 0 ] || stop "the build failed after $(($(now) - started)) s (cmake --build $folder)"
  say "built in $(($(now) - started)) s"
}
