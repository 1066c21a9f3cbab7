"""./thtrain and ./run_tests on a small tree, with stand-ins for cmake, ctest and apt-get that note their calls."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
TOOLS = ("awk cat chmod date env find flock grep mkdir mktemp mv nproc readlink rm sed sh sleep sort tail touch tr "
         "uniq wc").split()

STAND_INS = {
    # `--preset` configures, `--build` makes a program that prints its arguments, under the name of its target.
    "cmake": """echo "cmake $*" >> "$CALLS"
case $1 in
  --preset) mkdir -p "build/$2" && touch "build/$2/build.ninja" ;;
  --build)
    sleep "${BUILD_SECONDS:-0}"
    [ -z "${BUILD_FAILS:-}" ] || { echo 'a.cpp:1: error: expected'; exit 2; }
    mkdir -p "$2/bin"
    name=thtrain
    [ "$5" != --target ] || name=$6
    printf '#!/bin/sh\\nprintf "<%%s>" "$@"\\n' > "$2/bin/$name"
    chmod +x "$2/bin/$name" ;;
esac""",
    "ctest": 'echo "ctest $* cache=$THTRAIN_CACHE_DIR data=${THTRAIN_DATA:-}" >> "$CALLS"; exit "${CTEST_CODE:-0}"',
    "dpkg-query": 'shift 3; for p; do case " $MISSING " in *" $p "*) ;; *) printf "%s:installed " "$p" ;; esac; done',
    "apt-get": 'echo "apt-get $*" >> "$CALLS"; exit "${APT_CODE:-0}"',
    "sudo": 'echo "sudo" >> "$CALLS"; exec "$@"',
    "id": 'echo "${FAKE_UID:-0}"',
}


class LauncherTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.temporary)
        self.root = os.path.join(self.temporary, "a checkout")
        self.calls = os.path.join(self.temporary, "calls")
        for folder in ("cmake", "compiler", "config", "nn", "datasets", "trainers", "cli", "tests"):
            os.makedirs(os.path.join(self.root, folder))
        for file in ("thtrain", "run_tests", "tests/long_checks.sh", "cmake/bootstrap.sh", "CMakeLists.txt",
                     "CMakePresets.json"):
            shutil.copy(os.path.join(CHECKOUT, file), os.path.join(self.root, file))
        self.source = os.path.join(self.root, "compiler", "a.cpp")
        open(self.source, "w").close()
        self.bin = os.path.join(self.temporary, "bin")
        os.mkdir(self.bin)
        for tool in TOOLS:
            os.symlink(shutil.which(tool), os.path.join(self.bin, tool))
        for name, text in STAND_INS.items():
            self.put(name, text)

    def put(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def system(self, name, version):
        """A file like /etc/os-release of this system."""
        path = os.path.join(self.temporary, f"{name} {version}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'PRETTY_NAME="{name.title()} {version}"\nID={name}\nVERSION_ID="{version}"\n')
        return path

    def start(self, *command, cwd=None, **environment):
        environment = {"PATH": self.bin, "CALLS": self.calls, "MISSING": "", "OS_RELEASE": self.system("debian", "12"),
                       **environment}
        return subprocess.Popen(command, cwd=cwd or self.temporary, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_it(self, *command, **options):
        """(exit code, standard output, standard error, calls of the stand-ins)"""
        open(self.calls, "w").close()
        process = self.start(*command, **options)
        out, err = process.communicate(timeout=60)
        with open(self.calls, encoding="utf-8") as file:
            return process.returncode, out, err, file.read().splitlines()

    def thtrain(self, *arguments, **options):
        return self.run_it(os.path.join(self.root, "thtrain"), *arguments, **options)

    def test_builds_once_and_passes_all_arguments(self):
        code, out, err, calls = self.thtrain("train", "a b", "")
        self.assertEqual((code, out), (0, "<train><a b><>"), err)
        self.assertEqual(calls[0], "cmake --preset release")
        self.assertIn("thtrain: built in", err)
        code, out, err, calls = self.thtrain("info")
        self.assertEqual((code, out, err, calls), (0, "<info>", "", []))

    def test_from_any_folder_and_through_a_link(self):
        link = os.path.join(self.temporary, "link")
        os.symlink("a checkout/thtrain", link)
        self.assertEqual(self.run_it(link, "x", cwd="/")[:2], (0, "<x>"))
        self.assertEqual(self.run_it("sh", "./link", "x")[:2], (0, "<x>"))

    def test_in_a_folder_that_is_gone(self):
        launcher = os.path.join(self.root, "thtrain")
        gone = 'cd "$1" && rm -r "$1" && shift && exec "$@"'

        def run_there(*command):
            folder = os.path.join(self.temporary, "gone")
            os.mkdir(folder)
            return self.run_it("sh", "-c", gone, "sh", folder, *command)

        hint = "  hint:     go to a folder that exists, and try again\n"
        for command in (launcher, os.path.join(self.root, "run_tests")):
            code, out, err, calls = run_there(command)
            self.assertEqual((code, out, calls), (2, "", []))
            self.assertIn("error: the working folder is gone, and thtrain must be built\n" + hint, err)
            code, out, err, calls = run_there("sh", "../a checkout/" + os.path.basename(command))
            self.assertEqual((code, out, calls), (2, "", []))
            self.assertIn("error: the working folder is gone\n" + hint, err)
        self.thtrain()
        self.assertEqual(run_there(launcher, "x")[:2], (0, "<x>"))

    def test_builds_again_where_a_source_is_newer_or_gone(self):
        self.thtrain()
        time.sleep(0.02)
        os.utime(self.source)
        self.assertEqual(len(self.thtrain()[3]), 1)
        self.assertEqual(self.thtrain()[3], [])
        time.sleep(0.02)
        os.remove(self.source)
        self.assertEqual(len(self.thtrain()[3]), 1)
        self.assertEqual(self.thtrain()[3], [])

    def test_looks_at_every_room_of_the_build(self):
        texts = [os.path.join(CHECKOUT, "CMakeLists.txt"), *glob.glob(os.path.join(CHECKOUT, "cmake", "*.cmake"))]
        rooms = {"cmake"}
        for path in texts:
            with open(path, encoding="utf-8") as file:
                rooms.update(re.findall(r"^thtrain_room\(\w+ +(\w+)", file.read(), re.M))
        self.assertLessEqual({"compiler", "config", "nn", "datasets", "reports", "trainers", "bench", "cli"}, rooms)
        for room in sorted(rooms):
            os.makedirs(os.path.join(self.root, room, "inner"), exist_ok=True)
        self.thtrain()
        for room in sorted(rooms):
            time.sleep(0.02)
            with open(os.path.join(self.root, room, "inner", "a.txt"), "w", encoding="utf-8"):
                pass
            self.assertEqual(len(self.thtrain()[3]), 1, room)
            self.assertEqual(self.thtrain()[3], [], room)

    def test_a_source_saved_during_the_build_is_built_next_time(self):
        process = self.start(os.path.join(self.root, "thtrain"), BUILD_SECONDS="1")
        time.sleep(0.5)
        os.utime(self.source)
        process.communicate()
        self.assertEqual(len(self.thtrain()[3]), 1)

    def test_two_at_once_build_once(self):
        launcher = os.path.join(self.root, "thtrain")
        both = [self.start(launcher, "x", BUILD_SECONDS="0.5") for _ in range(2)]
        for process in both:
            self.assertEqual(process.communicate(timeout=60)[0], "<x>")
        with open(self.calls, encoding="utf-8") as file:
            self.assertEqual(file.read().count("cmake --build"), 1)

    def test_a_moved_checkout_is_built_afresh(self):
        self.thtrain()
        cache = os.path.join(self.root, "build", "release", "CMakeCache.txt")
        with open(cache, "w", encoding="utf-8") as file:
            file.write("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
        os.utime(self.source)
        self.assertEqual(self.thtrain()[3][0], "cmake --preset release")

    def test_a_failed_build_shows_why_and_runs_nothing(self):
        self.thtrain()
        time.sleep(0.02)
        os.utime(self.source)
        code, out, err, _ = self.thtrain("x", BUILD_FAILS="1")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("a.cpp:1: error: expected", err)
        self.assertIn("the build failed", err)
        self.assertEqual(self.thtrain("x")[1], "<x>")

    def test_builds_a_lesson_once_and_runs_it(self):
        tutorial = os.path.join(self.root, "docs", "tutorial")
        os.makedirs(tutorial)
        for name in ("lesson_06_graph.cpp", "lesson_13_candidate_files.cpp", "my_product.cpp"):
            open(os.path.join(tutorial, name), "w").close()
        self.thtrain()
        time.sleep(0.02)
        code, out, err, calls = self.thtrain("lesson", "6", "a b")
        self.assertEqual((code, out), (0, "<a b>"), err)
        self.assertRegex(calls[0], "^cmake --build .*/build/release --parallel [0-9]+ --target lesson_06_graph$")
        self.assertEqual(self.thtrain("lesson", "06")[1:], ("<>", "", []))
        time.sleep(0.02)
        os.utime(os.path.join(tutorial, "lesson_06_graph.cpp"))
        self.assertEqual(len(self.thtrain("lesson", "6")[3]), 1)
        self.assertTrue(self.thtrain("lesson", "13")[1].endswith("/build/release/bin/my_product.so>"))
        for wrong in ([], ["7"], ["graph"], ["*"]):
            code, out, err, calls = self.thtrain("lesson", *wrong)
            self.assertEqual((code, out, calls), (2, "", []), wrong)
            self.assertEqual(err, "error: there is no such lesson\n  expected: the number of one of these:\n"
                                  "            lesson_06_graph\n            lesson_13_candidate_files\n")

    def test_installs_what_is_missing(self):
        code, out, err, calls = self.thtrain("x", MISSING="ninja-build zlib1g-dev libgtest-dev")
        self.assertEqual((code, out), (0, "<x>"))
        self.assertIn("thtrain: installing Debian packages: ninja-build zlib1g-dev\n", err)
        self.assertTrue(calls[0].startswith("apt-get ") and calls[0].endswith(" update"), calls)
        self.assertTrue(calls[1].endswith(" install --yes --no-install-recommends ninja-build zlib1g-dev"), calls)

    def test_installs_with_sudo_where_it_is_not_root(self):
        code, _, err, calls = self.thtrain(MISSING="g++", FAKE_UID="1000")
        self.assertEqual(code, 0, err)
        self.assertIn("installing Debian packages with sudo: g++", err)
        self.assertEqual(calls.count("sudo"), 2)

    def test_prints_the_command_where_it_cannot_install(self):
        command = "  apt-get update && apt-get install --yes --no-install-recommends g++ cmake\n"
        code, out, err, calls = self.thtrain(MISSING="g++ cmake", APT_CODE="100")
        self.assertEqual((code, out), (1, ""))
        self.assertIn(command, err)
        os.remove(os.path.join(self.bin, "sudo"))
        code, out, err, calls = self.thtrain(MISSING="g++ cmake", FAKE_UID="1000")
        self.assertEqual((code, out, calls), (1, "", []))
        self.assertIn(command, err)
        os.remove(os.path.join(self.bin, "apt-get"))
        code, out, err, calls = self.thtrain(MISSING="g++ cmake")
        self.assertEqual((code, out, calls), (1, "", []))
        self.assertIn(command, err)

    def test_says_what_is_needed_on_an_old_release(self):
        for name, version in (("debian", "11"), ("debian", "9"), ("ubuntu", "22.04"), ("ubuntu", "9.10")):
            code, out, err, calls = self.thtrain(MISSING="g++ cmake", OS_RELEASE=self.system(name, version))
            self.assertEqual((code, out, calls), (1, "", []), version)
            self.assertEqual(err, f"thtrain: {name.title()} {version} is too old: packages are installed on Debian 12, "
                                  f"Debian 13 and Ubuntu 24.04. Missing: g++ cmake. Needed: {self.needs()}\n")
        self.assertEqual(self.thtrain("x", OS_RELEASE=self.system("debian", "11"))[:2], (0, "<x>"))

    def test_installs_on_newer_releases_and_on_children_of_debian(self):
        for name, version in (("debian", "13"), ("debian", ""), ("ubuntu", "24.04"), ("linuxmint", "22")):
            code, _, err, calls = self.thtrain(MISSING="g++", OS_RELEASE=self.system(name, version))
            self.assertEqual(code, 0, err)
            self.assertTrue(calls[1].endswith(" g++"), calls)
            os.utime(self.source)
            time.sleep(0.02)

    def test_says_what_is_needed_where_there_is_no_dpkg(self):
        os.remove(os.path.join(self.bin, "dpkg-query"))
        code, out, err, calls = self.thtrain(OS_RELEASE=self.system("fedora", "41"))
        self.assertEqual((code, out, calls), (1, "", []))
        self.assertEqual(err, "thtrain: these programs are missing: g++ ninja. Packages are installed on Debian 12, "
                              f"Debian 13 and Ubuntu 24.04 only. Needed: {self.needs()}\n")
        for tool in ("clang++", "ninja"):
            self.put(tool, "")
        self.assertEqual(self.thtrain("x")[:2], (0, "<x>"))

    def needs(self):
        with open(os.path.join(self.root, "cmake/bootstrap.sh"), encoding="utf-8") as file:
            return re.search(r'^needs="(.*?)"', file.read(), re.S | re.M)[1].replace("\\\n", "")

    def test_run_tests_on_ubuntu_needs_no_browser(self):
        command = os.path.join(self.root, "run_tests")
        code, _, err, calls = self.run_it(command, MISSING="libgtest-dev chromium",
                                          OS_RELEASE=self.system("ubuntu", "24.04"))
        self.assertEqual(code, 0, err)
        self.assertTrue(calls[1].endswith(" libgtest-dev"), calls)

    def test_run_tests(self):
        os.makedirs(os.path.join(self.temporary, "shared", "data"))
        command = os.path.join(self.root, "run_tests")
        code, _, err, calls = self.run_it(command, "-R", "a name", MISSING="libgtest-dev", CTEST_CODE="8")
        self.assertEqual(code, 8, err)
        self.assertTrue(calls[1].endswith("libgtest-dev"), calls)
        self.assertEqual(calls[2], "cmake --preset tests")
        cache = calls[-1].split("cache=")[1].split(" data=")[0]
        self.assertRegex(calls[-1], "-j[0-9]+ --output-on-failure --no-tests=error -R a name cache=")
        self.assertTrue(calls[-1].endswith(os.path.join(os.path.realpath(self.temporary), "shared", "data")), calls)
        self.assertTrue(cache.startswith(os.path.join(os.path.realpath(self.root), "build", "tests", "cache.")), cache)
        self.assertFalse(os.path.exists(cache))
        self.assertTrue(self.run_it(command, THTRAIN_DATA="/mine")[3][-1].endswith(" data=/mine"))

    def long(self, *parts, **options):
        return self.run_it(os.path.join(self.root, "run_tests"), "--long", *parts, **options)

    def test_a_part_of_the_long_checks(self):
        code, out, err, calls = self.long("tsan")
        self.assertEqual((code, out), (0, "tsan: passed, 0 min\n"), err)
        self.assertRegex(err, r"^thtrain: tsan: at work \(its log: .*/build/long/tsan\.log\)\n$")
        self.assertEqual(calls[0], "cmake --preset tsan")
        self.assertIn(" --target test_compiler_libraries ", calls[1])
        self.assertIn("-L ^(compiler_libraries|", calls[2])
        self.assertEqual(glob.glob(os.path.join(self.root, "build/tsan/cache.*")), [])

    def test_long_checks_that_fail_do_not_keep_others_from_being_made(self):
        self.put("ctest", 'case $* in *build/asan*) echo "50% tests passed, 1 tests failed out of 2"; exit 8 ;; esac')
        code, out, err, calls = self.long("asan", "fuzz", MISSING="libclang-rt-dev")
        self.assertEqual((code, out), (1, "asan: FAILED, 0 min\n  50% tests passed, 1 tests failed out of 2\n"
                                          "fuzz: passed, 0 min\n"), err)
        self.assertIn("--target fuzz_toml fuzz_npy ", calls[-1])
        self.assertTrue(any(call.startswith("apt-get") and call.endswith(" libclang-rt-dev") for call in calls), calls)

    def test_a_long_check_that_there_is_not(self):
        code, out, err, calls = self.long("tidy", "asna")
        self.assertEqual((code, out, calls), (1, "", []))
        parts = "tidy asan tsan fuzz coverage cubins devices ranks bare"
        self.assertEqual(err, f"thtrain: there is no long check asna: {parts}\n")

    def test_run_tests_of_continuous_integration(self):
        code, _, err, calls = self.run_it(os.path.join(self.root, "run_tests"), "--ci", "-R", "a name")
        self.assertEqual(code, 0, err)
        self.assertEqual(calls[0], "cmake --preset tests -DTHTRAIN_WARNINGS=ERROR")
        self.assertRegex(calls[-1], "-j[0-9]+ --output-on-failure --no-tests=error -R a name cache=")


if __name__ == "__main__":
    unittest.main()
