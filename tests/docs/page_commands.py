"""Every command of README.md, docs/labs.md, the worksheet and the tutorial's page, in the order of a reader, and the
figures that the pages print: they are compared with what the commands print. The commands of the tests are left out.

  page_commands.py PROGRAMS            with the programs of this folder of a build
  page_commands.py PROGRAMS --short    the same, but trainings take two epochs, and their figures are left out
  page_commands.py --bare [RELEASE...] in a fresh checkout that ./thtrain builds, in a root file system of each of these
                                       releases of Debian, with nothing but what ./thtrain installs; where there can be
                                       none, on this machine with an empty home. The times are printed.
"""

import array
import csv
import os
import random
import re
import struct
import sys
import tempfile

import page_figures
import page_machines
from page_machines import ROOT

PAGES = ("README.md", "docs/tutorial/README.md", "docs/labs.md", "docs/worksheet.md", "docs/worksheet_answers.md")
RELEASES = ("bookworm", "trixie")
# What README.md says of a machine without MNIST: the command fails, and says how to get it.
FAILS = {"./thtrain check configs/labs/mlp_mnist.toml": "hint:     get it, once:"}


def commands_of(page):
    """(heading, command) of the page's blocks of `sh` without comments, and of what else is quoted as a command."""
    heading, block, found = page, None, []
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("```"):
                block = None if block is not None else line[3:]
            elif block is None:
                heading = line.lstrip("# ").split(":")[0].split(" (")[0] if line.startswith("#") else heading
                found += [(heading, quoted) for quoted in re.findall(r"`(\./\w+ [^`]*)`", line)]
            elif block == "sh":
                command = line.split("  #")[0].strip()
                found += [(heading, command)] if command and not command.startswith("#") else []
    return [(heading, command) for heading, command in found if not command.startswith("./run_tests")]


def write_npy(path, code, dtype, shape, values):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        array.array(code, values).tofile(file)


def write_ones_own_arrays(folder):
    """The files of README.md's experiment of one's own arrays: ten clusters in 20 dimensions. Returns new.npy's."""
    draw = random.Random(1)
    centers = [[draw.gauss(0, 1) for _ in range(20)] for _ in range(10)]
    labels = [draw.randrange(10) for _ in range(620)]
    rows = [[draw.gauss(center, 0.5) for center in centers[label]] for label in labels]
    for name, part in (("x", rows[:600]), ("new", rows[600:])):
        write_npy(f"{folder}/{name}.npy", "f", "<f4", (len(part), 20), [value for row in part for value in row])
    write_npy(f"{folder}/y.npy", "q", "<i8", (600,), labels[:600])
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        experiment = re.search(r"^# mine\.toml.*?(?=^```)", file.read(), re.S | re.M).group()
    with open(f"{folder}/mine.toml", "w", encoding="utf-8") as file:
        file.write(experiment)
    return labels[600:]


class Reader:
    """Runs the commands, and notes what is not as the pages say."""

    def __init__(self, machine, is_short):
        self.machine, self.is_short = machine, is_short
        self.wrong, self.compared, self.times = [], set(), {}
        self.new_labels = write_ones_own_arrays(machine.folder)

    def path(self, name):
        return os.path.join(self.machine.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def mistake(self, command, what):
        self.wrong.append(f"{command}\n  {what}")
        print(f"WRONG: {command}\n  {what}", flush=True)

    def expect_done(self, command, ended):
        """It ends with 0, and the files that it names are there."""
        said = FAILS.get(command)
        if said is not None:
            if ended.code == 0 or said not in ended.err:
                self.mistake(command, f"it should fail and say {said!r}, but ended with {ended.code}:\n{ended.err}")
            return
        if ended.code != 0 or re.search(r"^error", ended.err, re.M):
            self.mistake(command, f"ended with {ended.code}:\n{ended.out[-2000:]}{ended.err[-2000:]}")
            return
        words = command.split()
        for option, name in zip(words, words[1:]):
            files = {"--run-dir": (f"{name}/run.json", f"{name}/best.npz"), "--html": (name,), "--output": (name,),
                     ">": (name,)}.get(option, ())
            for file in files:
                if not os.path.exists(self.path(file)) or os.path.getsize(self.path(file)) == 0:
                    self.mistake(command, f"it wrote no {file}")
        if (ended.out == "") != (">" in words):
            self.mistake(command, f"standard output: {ended.out!r}")

    def expect_figures(self, command, ended):
        """Those that any page prints of this command; once."""
        for figure in page_figures.FIGURES:
            if figure.command != command or figure in self.compared or (self.is_short and figure.is_trained):
                continue
            self.compared.add(figure)
            screen = self.read(figure.file) if figure.file else ended.out
            with open(os.path.join(ROOT, figure.page), encoding="utf-8") as file:
                what = page_figures.compare(figure, file.read(), screen)
            if what:
                self.mistake(command, f"{figure.page}: {what}")

    def expect_predictions(self):
        """README.md's predicted.csv has a row for each of new.npy, and most are right."""
        rows = list(csv.DictReader(self.read("predicted.csv").splitlines()))
        right = sum(int(row["class"]) == label for row, label in zip(rows, self.new_labels))
        if len(rows) != len(self.new_labels) or right < len(rows) / 2:
            self.mistake("predicted.csv", f"{len(rows)} rows, of which {right} are right")

    def run_page(self, page):
        for heading, command in commands_of(page):
            asked = command
            if self.is_short and command.startswith("./thtrain train "):
                asked += " trainer.epochs=2"
            ended = self.machine.run(asked)
            self.expect_done(command, ended)
            self.expect_figures(command, ended)
            seconds = self.times.setdefault((page, heading), [0, 0, 0])
            for i, value in enumerate((1, ended.seconds, ended.cpu_seconds)):
                seconds[i] += value
            print(f"{ended.seconds:8.1f} s {ended.cpu_seconds:8.1f} s of processors  {asked}", flush=True)

    def run_all(self):
        for page in PAGES:
            self.run_page(page)
        self.expect_predictions()
        for figure in page_figures.FIGURES:
            if not self.is_short and figure not in self.compared:
                self.mistake(figure.command, f"no page has this command, whose figures {figure.page} prints")
        print("\n  commands   seconds   of processors")
        for (page, heading), (commands, seconds, cpu_seconds) in self.times.items():
            print(f"  {commands:8} {seconds:9.1f} {cpu_seconds:15.1f}  {page}: {heading}")
        print(f"{len(self.compared)} figures compared, {len(self.wrong)} mistakes\n", flush=True)
        return not self.wrong


def run_bare(place, release):
    machine, why = page_machines.bare_root(place, release)
    if machine is None:
        print(f"no root file system of {release}: {why}. Instead: a fresh checkout on this machine with an empty home, "
              "where packages may be installed that a bare one lacks", flush=True)
        machine = page_machines.fresh(os.path.join(place, "here"))
    else:
        print(f"{release}, with nothing but what ./thtrain installs", flush=True)
    return Reader(machine, is_short=False).run_all()


def main(arguments):
    if arguments and arguments[0] == "--bare":
        results = []
        for release in arguments[1:] or RELEASES:
            with tempfile.TemporaryDirectory() as place:
                results.append(run_bare(place, release))
        return 0 if all(results) else 1
    with tempfile.TemporaryDirectory() as place:
        machine = page_machines.built(place, os.path.abspath(arguments[0]))
        return 0 if Reader(machine, is_short="--short" in arguments).run_all() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
