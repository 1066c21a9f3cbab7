"""bench/gpu_check.sh packs the programs of this build, and what is packed runs in another folder with an empty
environment, on the emulated device: its tables have their rows. Arguments: the tree, the folder of the programs."""
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

TREE, BIN = sys.argv[1:3]
SCRIPT = os.path.join(TREE, "bench", "gpu_check.sh")


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


class GpuCheck(unittest.TestCase):
    def rows(self, text, head):
        """The cells of a table's rows."""
        lines = text.splitlines()
        self.assertIn(head, lines, text)
        out = []
        for line in lines[lines.index(head) + 2:]:
            if not line.startswith("|"):
                break
            out.append([cell.strip() for cell in line.strip("|").split("|")])
        return out

    def test_what_is_packed_runs_elsewhere(self):
        with tempfile.TemporaryDirectory() as folder:
            pack, there = os.path.join(folder, "pack.tar.xz"), os.path.join(folder, "there")
            packed = run(["sh", SCRIPT, "--pack", pack, BIN], env={**os.environ, "GPU_CHECK_XZ": "-1"})
            self.assertEqual(packed.returncode, 0, packed.stderr)
            self.assertLess(os.path.getsize(pack), 50_000_000)
            os.mkdir(there)
            with tarfile.open(pack) as files:
                files.extractall(there)
            done = run(["sh", "gpu_check.sh", "--run", "emulated"], cwd=there, env={"PATH": "/usr/bin:/bin"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            out = done.stdout
            head = "| float32 | us | rate | of the copy | by | kernels | graphs | nodes | on the host | off by |"
            speed = self.rows(out, head)
            self.assertEqual(len(speed), 25, out)
            self.assertTrue(all(float(row[1]) > 0 for row in speed), out)
            tests = {row[0]: row[1:3] for row in self.rows(out, "| tests | passed | failed | s |")}
            self.assertEqual({name: failed for name, (_, failed) in tests.items()}, {"products": "", "programs": ""})
            self.assertTrue(all(int(passed) > 0 for passed, _ in tests.values()), out)
            labs = self.rows(out, "| lab | cpu | emulated |")
            self.assertEqual([row[0] for row in labs], ["logistic_digits"], out)
            self.assertRegex(labs[0][1], r"^error \d+\.\d+ %$")
            self.assertEqual(labs[0][1], labs[0][2], out)
            self.assertTrue(re.search(r"\ndone in \d+ s\n$", out), out)

    def test_mistakes_are_said(self):
        for words, said in [(["--pack"], "gpu_check: --pack needs a file\n"),
                            (["--run"], "gpu_check: --run is for the folder that a pack was unpacked to\n"),
                            (["--pack", "/dev/null", "/nowhere"],
                             "gpu_check: /nowhere has no program thtrain\n")]:
            ended = run(["sh", SCRIPT, *words])
            self.assertEqual((ended.returncode, ended.stderr), (2, said))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
