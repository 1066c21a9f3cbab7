"""What output.tensorboard writes, decoded by code of this file alone: THTRAIN is the program.

The checksums are those of RFC 3720, appendix B.4; the fields are numbered as tensorboard/compat/proto has them.
"""

import glob
import io
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

THTRAIN = sys.argv.pop(1)
EXPERIMENT = """
seed = 7

[data]
source = "digits"
n_train = 200
n_valid = 40
n_test = 40

[[model.layers]]
name = "hidden"
type = "dense"
units = 6

[[model.layers]]
type = "softmax"

[trainer]
batch_size = 20
epochs = 3
learning_rate = 0.05
schedule = {type = "exponential", decay = 0.5}

[compiler]
mode = "reference"
threads = 1

[output]
tensorboard = true
filters = "hidden"
"""


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The records of a file; the rest of a file that was cut is left out."""
    at, out = 0, []
    while at + 12 <= len(data):
        length, check = struct.unpack_from("<QI", data, at)
        assert check == masked(data[at:at + 8]), "checksum of a length"
        if at + 16 + length > len(data):
            break
        body = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(body), "checksum of a record"
        out.append(body)
        at += 16 + length
    return out


def fields(data):
    """{number: [values]}: integers, floats, and bytes."""
    def varint(at):
        value, shift = 0, 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    out, at = {}, 0
    while at < len(data):
        key, at = varint(at)
        kind = key & 7
        if kind == 0:
            value, at = varint(at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            raise ValueError("an unknown kind of field")
        out.setdefault(key >> 3, []).append(value)
    return out


def events(folder, purge=True):
    """[(step, tag, what, value)] of all files in the order of their names; a START drops its step and later ones."""
    out = []
    for path in sorted(glob.glob(os.path.join(folder, "events.out.tfevents.*"))):
        with open(path, "rb") as file:
            found = [fields(record) for record in records(file.read())]
        assert found[0][3] == [b"brain.Event:2"], found[0]
        for event in found:
            assert abs(event[1][0] - time.time()) < 600
            step = event.get(2, [0])[0]
            if 7 in event:
                assert fields(event[7][0]) == {1: [1]}
                if purge:
                    out = [entry for entry in out if entry[0] < step]
            for summary in event.get(5, []):
                for value in map(fields, fields(summary)[1]):
                    what = (set(value) & {2, 4, 5, 8}).pop()
                    out.append((step, value[1][0].decode(), {2: "scalar", 4: "image", 5: "histo", 8: "text"}[what],
                                value))
    return out


def scalars(folder, purge=True):
    out = {}
    for step, tag, what, value in events(folder, purge):
        if what == "scalar":
            out.setdefault(tag, []).append((step, value[2][0]))
    return out


def as_float(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def doubles(data):
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def array(path, name):
    """A float32 or float64 array of an .npz as a list."""
    with zipfile.ZipFile(path) as archive:
        data = io.BytesIO(archive.read(name + ".npy"))
    assert data.read(8) == b"\x93NUMPY\x01\x00"
    header = data.read(struct.unpack("<H", data.read(2))[0]).decode()
    rest = data.read()
    kind, size = ("f", 4) if "<f4" in header else ("d", 8)
    return list(struct.unpack(f"<{len(rest) // size}{kind}", rest))


class EventFileTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        with open(os.path.join(self.folder, "e.toml"), "w", encoding="utf-8") as file:
            file.write(EXPERIMENT)

    def thtrain(self, *arguments, code=0):
        done = subprocess.run([THTRAIN, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def lines(self, run):
        with open(self.path(run, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def expect_metrics(self, run):
        """Every value of metrics.jsonl is in the events once, at its line's number, and nothing else does."""
        wanted, found = {}, scalars(self.path(run))
        for step, line in enumerate(self.lines(run), 1):
            phase = line["phase"] + "/" if "phase" in line else ""
            for key, value in line.items():
                if key in ("phase", "epoch"):
                    continue
                part, _, name = key.partition("_")
                tag = f"{name}/{part}" if part in ("train", "valid", "test") else key
                wanted.setdefault(phase + tag, []).append((step, as_float(value)))
        self.assertEqual(sorted(wanted), sorted(found))
        for tag, values in wanted.items():
            self.assertEqual([step for step, _ in values], [step for step, _ in found[tag]], tag)
            for (_, ours), (_, theirs) in zip(values, found[tag]):
                self.assertAlmostEqual(ours, theirs, delta=1e-6 * max(1, abs(ours)), msg=tag)

    def test_checksums_of_rfc_3720(self):
        command = (bytes.fromhex("01c00000000000000000000000000000" "14000000000004000000001400000018"
                                 "28000000000000000200000000000000"))
        for data, crc in [(bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E),
                          (bytes(range(31, -1, -1)), 0x113FDB5C), (command, 0xD9963A56)]:
            self.assertEqual(crc32c(data), crc)

    def test_a_run(self):
        self.thtrain("train", "e.toml", "--run-dir", "run")
        self.expect_metrics("run")
        found = events(self.path("run"))
        # The rate is halved after each epoch.
        self.assertEqual([(s, v) for s, v in scalars(self.path("run"))["learning_rate"]],
                         [(1, as_float(0.05)), (2, as_float(0.025)), (3, as_float(0.0125))])
        # Histograms: of the last epoch, the weights of the last checkpoint.
        tags = ["hidden/W", "hidden/b", "softmax/W", "softmax/b"]
        histograms = {(step, tag): value for step, tag, what, value in found if what == "histo"}
        self.assertEqual(sorted(histograms), [(step, tag) for step in (1, 2, 3) for tag in tags])
        for tag in tags:
            weights, histo = array(self.path("run", "checkpoint.npz"), tag), fields(histograms[3, tag][5][0])
            self.assertEqual(histo[1], [min(weights)])
            self.assertEqual(histo[2], [max(weights)])
            self.assertEqual(histo[3], [len(weights)])
            self.assertAlmostEqual(histo[4][0], sum(weights), places=9)
            self.assertAlmostEqual(histo[5][0], sum(w * w for w in weights), places=9)
            limits, counts = doubles(histo[6][0]), doubles(histo[7][0])
            self.assertEqual((len(limits), len(counts)), (30, 30))
            self.assertEqual(limits, sorted(limits))
            self.assertEqual(limits[-1], max(weights))
            self.assertEqual(sum(counts), len(weights))
            for i in range(1, 29):
                self.assertEqual(counts[i], sum(limits[i - 1] <= w < limits[i] for w in weights), (tag, i))
        # The configuration, and the pictures byte by byte.
        texts = [(step, tag, value) for step, tag, what, value in found if what == "text"]
        self.assertEqual([(step, tag) for step, tag, _ in texts], [(1, "config")])
        tensor = fields(texts[0][2][8][0])
        with open(self.path("run", "config.toml"), "rb") as file:
            self.assertEqual(tensor[8], [b"```toml\n" + file.read() + b"```\n"])
        self.assertEqual(tensor[1], [7])
        self.assertEqual(fields(fields(texts[0][2][9][0])[1][0]), {1: [b"text"]})
        pictures = {tag: (step, fields(value[4][0])) for step, tag, what, value in found if what == "image"}
        files = [("plots/filters", "filters_at_epoch_0003.png")]
        if os.path.exists(self.path("run", "plots", "learning_curves.png")):  # not without a font
            files.append(("plots/learning_curves", "learning_curves.png"))
        self.assertEqual(sorted(pictures), sorted(tag for tag, _ in files))
        for tag, file in files:
            step, image = pictures[tag]
            with open(self.path("run", "plots", file), "rb") as opened:
                png = opened.read()
            self.assertEqual(step, 4)
            self.assertEqual(image[4], [png])
            width, height, _, kind = struct.unpack(">IIBB", png[16:26])
            self.assertEqual((image[1], image[2]), ([height], [width]))
            self.assertEqual(image[3], [{0: 1, 2: 3, 6: 4}[kind]])

    def test_resumed_and_extended(self):
        self.thtrain("train", "e.toml", "--run-dir", "run")
        self.thtrain("resume", "run")  # nothing is left to do
        self.expect_metrics("run")
        self.thtrain("resume", "run", "trainer.epochs=5")
        self.assertEqual(len(glob.glob(self.path("run", "events.*"))), 3)
        self.expect_metrics("run")
        found = events(self.path("run"))
        values = [(step, tag, what) for step, tag, what, _ in found]
        self.assertEqual(len(values), len(set(values)))
        self.assertEqual({step for step, _, what in values if what == "image"}, {6})
        texts = [(step, fields(value[8][0])[8][0]) for step, _, what, value in found if what == "text"]
        self.assertEqual([step for step, _ in texts], [1, 4])
        self.assertIn(b"\nepochs = 5\n", texts[1][1])

    def test_killed(self):
        with subprocess.Popen([THTRAIN, "train", "e.toml", "--run-dir", "run", "trainer.epochs=400",
                               "trainer.checkpoint_epochs=7", "output.filters=''", "trainer.schedule.decay=0.999"],
                              cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            deadline = time.time() + 60
            while time.time() < deadline and not (os.path.exists(self.path("run", "metrics.jsonl"))
                                                  and len(self.whole_lines()) >= 10):
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        killed = len(self.whole_lines())
        self.assertGreaterEqual(killed, 10)
        first = glob.glob(self.path("run", "events.*"))[0]
        with open(first, "ab") as file:
            file.write(b"\x20\0\0\0")  # a part of a record
        self.thtrain("resume", "run", f"trainer.epochs={killed + 5}")
        self.assertEqual(len(self.lines("run")), killed + 5)
        self.expect_metrics("run")
        every = scalars(self.path("run"), purge=False)["loss/train"]  # what was dropped was written twice
        self.assertGreater(len(every), killed + 5 if killed % 7 else killed + 4)

    def whole_lines(self):
        with open(self.path("run", "metrics.jsonl"), encoding="utf-8") as file:
            return [line for line in file if line.endswith("\n")]

    def test_phases(self):
        with open(self.path("e.toml"), "a", encoding="utf-8") as file:
            file.write('[[phase]]\nname = "head"\ntrained = ["softmax"]\n[phase.trainer]\nepochs = 2\n'
                       '[[phase]]\nname = "all"\n')
        self.thtrain("train", "e.toml", "--run-dir", "run")
        self.expect_metrics("run")
        found = scalars(self.path("run"))
        self.assertEqual([step for step, _ in found["head/loss/train"]], [1, 2])
        self.assertEqual([step for step, _ in found["all/loss/train"]], [3, 4, 5])

    def test_a_batch_method(self):
        self.thtrain("train", "e.toml", "--run-dir", "run",
                     "trainer={optimizer = 'lbfgs', epochs = 4, batch_size = 20}")
        self.expect_metrics("run")
        self.assertIn("evaluations", scalars(self.path("run")))

    def test_not_asked_for(self):
        self.thtrain("train", "e.toml", "--run-dir", "run", "output.tensorboard=false")
        self.assertEqual(glob.glob(self.path("run", "events.*")), [])


if __name__ == "__main__":
    unittest.main()
