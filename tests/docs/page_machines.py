"""Where page_commands.py runs a page's commands: with the programs of a build, or in a checkout of its own, which
./thtrain builds, on this machine or in a root file system of a Debian release."""

import os
import resource
import shutil
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROXIES = ("http_proxy", "https_proxy", "no_proxy")

# Instead of ./thtrain: the same programs, of another build.
STAND_IN = """#!/bin/sh
[ "${1:-}" = lesson ] || exec %(bin)s/thtrain "$@"
number=$2
shift 2
case $number in [1-9]) number=0$number ;; esac
exec %(bin)s/lesson_"$number"_* "$@"
"""


class Ended:
    """How a command ended: its exit code, what it wrote, and its seconds: on the clock, and of all processors."""

    def __init__(self, process, seconds, cpu_seconds):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.seconds, self.cpu_seconds = seconds, cpu_seconds


class Machine:
    """Commands run in `folder`, with an empty home: the caches are empty, and no data sets are there."""

    def __init__(self, folder, home):
        self.folder, self.home = folder, home
        os.makedirs(home, exist_ok=True)

    def environment(self):
        kept = {name: os.environ[name] for name in ("PATH", *PROXIES) if name in os.environ}
        return {**kept, "HOME": self.home, "LANG": "C.UTF-8"}

    def command_line(self, command):
        return ["sh", "-c", command]

    def run(self, command):
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.run(self.command_line(command), cwd=self.folder, env=self.environment(), text=True,
                                 stdin=subprocess.DEVNULL, capture_output=True, errors="replace", check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Ended(process, time.monotonic() - began,
                     after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def built(place, programs):
    """With the programs of the folder `programs`: ./thtrain is a stand-in that calls them."""
    folder = os.path.join(place, "thtrain")
    os.mkdir(folder)
    for name in ("configs", "docs"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    launcher = os.path.join(folder, "thtrain")
    with open(launcher, "w", encoding="utf-8") as file:
        file.write(STAND_IN % {"bin": programs})
    os.chmod(launcher, 0o755)
    return Machine(folder, os.path.join(place, "home"))


def checked_out(folder):
    """Copies what git tracks, as it is now, into the new folder."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout
    for name in names.decode().split("\0"):
        source, target = os.path.join(ROOT, name), os.path.join(folder, name)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)


def fresh(place):
    """A fresh checkout on this machine."""
    folder = os.path.join(place, "thtrain")
    checked_out(folder)
    return Machine(folder, os.path.join(place, "home"))


class BareRoot(Machine):
    """A fresh checkout in a root file system with the smallest Debian of a release; ./thtrain installs the rest."""

    def __init__(self, root):
        self.root = root
        super().__init__(os.path.join(root, "root/thtrain"), os.path.join(root, "root"))

    def environment(self):
        return {**super().environment(), "HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

    def command_line(self, command):
        # Mounted for this command alone: nothing stays mounted when it ends.
        inside = ('mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
                  'exec chroot "$0" sh -c "cd /root/thtrain && $1"')
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", inside, self.root, command]


def bare_root(place, release):
    """(a BareRoot, None), or (None, why there can be none)."""
    if os.getuid() != 0:
        return None, "it takes root"
    for tool in ("debootstrap", "unshare", "chroot"):
        if not shutil.which(tool):
            return None, f"{tool} is not installed"
    root = os.path.join(place, release)
    made = subprocess.run(["debootstrap", "--variant=minbase", release, root], text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode != 0:
        return None, "debootstrap failed: " + (made.stdout.strip().splitlines() or ["it wrote nothing"])[-1]
    # Names of hosts are found as on this machine.
    shutil.copy("/etc/resolv.conf", os.path.join(root, "etc/resolv.conf"))
    machine = BareRoot(root)
    checked_out(machine.folder)
    tried = machine.run("true")
    return (machine, None) if tried.code == 0 else (None, "chroot failed: " + tried.err.strip())
