"""The pages of `thtrain report` and `thtrain explain --html` in a real browser, Chromium without a window: THTRAIN is
the program. Without the browser the test fails, unless THTRAIN_NO_BROWSER=1 says that there is none (77: skipped)."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

THTRAIN = os.path.abspath(sys.argv.pop(1))
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EXPERIMENT = """
[data]
source = "digits"
n_train = 200
n_valid = 40
n_test = 40

[[model.layers]]
name = "hidden"
type = "dense"
units = 20

[[model.layers]]
type = "softmax"

[loss]
l2 = 1e-4

[output]
filters = "hidden"

[trainer]
batch_size = 20
epochs = 3
"""
TABLE = """
[data]
source = "csv"
train = "t.csv"
valid = "t.csv"
test = "t.csv"

[[model.layers]]
type = "softmax"

[trainer]
batch_size = 20
epochs = 2
"""
ODD = "<script>document.title = 'run'</script>"

# Before all scripts of the page: what goes wrong is noted. Behind them: the test's own lines, which answer in `said`.
BEFORE = "<script>window.wrong = []; window.onerror = (text) => { window.wrong.push(text); };</script>"
BEHIND = """<script>
setTimeout(() => {
  let said = {};
  try { %s } catch (error) { window.wrong.push(String(error)); }
  const out = document.createElement("pre");
  out.id = "said";
  out.textContent = JSON.stringify({said, wrong: window.wrong, title: document.title,
    width: document.documentElement.scrollWidth, inner: document.documentElement.clientWidth});
  document.body.append(out);
}, 300);
</script>"""
LINKS = """
said.links = [...document.querySelectorAll("a[href]")].map(link => {
  const target = document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
  link.click();
  const top = target ? target.getBoundingClientRect().top : null;
  return [link.getAttribute("href"), Boolean(target), top === null ? null : innerHeight > top];
});
"""


def run(folder, *words):
    subprocess.run([THTRAIN, *words], cwd=folder, check=True, stdout=subprocess.PIPE, timeout=100)


class PagesInBrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = cls.folder.name
        cls.write("e.toml", EXPERIMENT)
        cls.write("t.toml", TABLE)
        cls.write("t.csv", "width,height,kind\n" + "".join(f"{i % 7}.5,{i % 5},{ODD if i % 2 else 'a&b'}\n"
                                                           for i in range(60)))
        run(cls.path, "train", "e.toml", "--run-dir", "run", "--profile", "--quiet")
        run(cls.path, "train", "t.toml", "--run-dir", "odd<b>", "--quiet")
        run(cls.path, "sweep", "e.toml", "trainer.learning_rate=0.1,0.001", "seed=1,2", "trainer.epochs=1",
            "--run-dir", "sweep", "--quiet")
        run(cls.path, "report", "run", "--output", "one.html")
        run(cls.path, "report", "run", "odd<b>", "sweep", "--output", "all.html")
        run(cls.path, "explain", "e.toml", "--html", "explain.html")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, text):
        with open(os.path.join(cls.path, name), "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def read(cls, name):
        with open(os.path.join(cls.path, name), encoding="utf-8") as file:
            return file.read()

    def look(self, name, script, width=1400):
        """What `script` says of the page, which must have no error in a script."""
        page = self.read(name).replace("<head>", "<head>" + BEFORE).replace("</body>", BEHIND % script + "</body>")
        self.write("looked.html", page)
        ended = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
             "--virtual-time-budget=4000", f"--window-size={width},900", f"--user-data-dir={self.path}/browser",
             "file://" + os.path.join(self.path, "looked.html")],
            capture_output=True, text=True, timeout=100, check=True)
        found = re.search(r'<pre id="said">(.*?)</pre>', ended.stdout, re.S)
        self.assertIsNotNone(found, ended.stderr)
        answer = json.loads(html.unescape(found[1]))
        self.assertEqual(answer["wrong"], [], name)
        self.assertEqual([line for line in ended.stderr.split("\n") if "CONSOLE" in line], [], name)
        self.assertLessEqual(answer["width"], answer["inner"], f"{name} is wider than {width} pixels")
        self.assertNotEqual(answer["title"], "run")
        return answer["said"]

    def test_every_link_works_and_no_page_is_wider_than_its_window(self):
        for name, least in (("one.html", 2), ("all.html", 8), ("explain.html", 25)):
            ElementTree.fromstring(self.read(name))  # every element is closed, every text escaped
            for width in (1400, 390):
                links = self.look(name, LINKS, width)["links"]
                self.assertGreaterEqual(len(links), least, name)
                for link, is_there, is_seen in links:
                    self.assertTrue(is_there and is_seen, f"{name}, {width} pixels: {link}")

    def test_a_curve_is_read_off_with_the_mouse_and_with_keys(self):
        said = self.look("one.html", """
          const svg = document.querySelector(".chart > svg"), at = svg.getBoundingClientRect();
          svg.dispatchEvent(new PointerEvent("pointermove", {clientX: at.left + at.width / 2, clientY: at.top + 80}));
          const tip = document.querySelector(".chart .tip"), area = tip.getBoundingClientRect();
          said.mouse = tip.textContent;
          said.inside = area.left >= at.left && at.right >= area.right && area.top >= at.top - 10;
          svg.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
          said.keys = document.querySelector(".chart .tip").textContent;
          const buttons = () => [...document.querySelectorAll(".bar button")];
          said.buttons = buttons().map(button => button.textContent);
          buttons().find(button => button.textContent === "loss").click();
          buttons().find(button => button.textContent === "logarithmic").click();
          said.pressed = buttons().filter(button => button.ariaPressed === "true").map(button => button.textContent);
          said.ticks = [...document.querySelectorAll(".chart > svg .tick")].map(tick => tick.textContent);
          said.curves = document.querySelectorAll(".chart path.curve").length;""")
        lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        self.assertTrue(said["mouse"].startswith("epoch 2"), said)
        self.assertTrue(said["inside"], said)
        self.assertTrue(said["keys"].startswith("epoch 3"), said)
        self.assertIn(f"validation{lines[1]['valid_error']:g}", said["mouse"])
        self.assertIn(f"training{lines[2]['train_error']:g}", said["keys"])
        self.assertEqual(said["buttons"], ["error (%)", "loss", "learning rate", "logarithmic"])
        self.assertEqual(said["pressed"], ["loss", "logarithmic"])
        self.assertEqual(said["curves"], 2)
        self.assertGreater(len(said["ticks"]), 4)

    def test_runs_are_hidden_and_lines_of_a_sweep_tell_their_values(self):
        said = self.look("all.html", """
          for (const button of [...document.querySelectorAll(".bar button")])  // of many runs they are off at first
            if (["training", "test"].includes(button.textContent)) button.click();
          said.before = document.querySelectorAll(".chart path.curve").length;
          document.querySelector(".legend button").click();
          said.after = document.querySelectorAll(".chart path.curve").length;
          said.lines = [...document.querySelectorAll(".parallel")].map(box => box.querySelectorAll("path.line").length);
          const box = document.querySelectorAll(".parallel")[1], line = box.querySelector("path.wide");
          line.dispatchEvent(new PointerEvent("pointermove", {clientX: 300, clientY: 300}));
          said.tip = box.querySelector(".tip").textContent;
          said.lit = box.querySelectorAll("path.lit").length;
          line.dispatchEvent(new PointerEvent("pointerleave"));
          said.hidden = box.querySelector(".tip").hidden;""")
        self.assertEqual(said["before"] - said["after"], 3)  # training, validation and test
        self.assertEqual(said["lines"], [2, 4])
        self.assertRegex(said["tip"], r"learning_rate=.*seed=.*learning_rate0\.\d+seed\dvalidation error\d")
        self.assertEqual((said["lit"], said["hidden"]), (1, True))

    def test_an_axis_of_one_value_has_one_tick(self):
        run(self.path, "train", "e.toml", "--run-dir", "same", "--quiet", "output.plot_scale=log")
        run(self.path, "report", "run", "same", "--output", "same.html")
        said = self.look("same.html", """
          said.ticks = [...document.querySelectorAll(".parallel .tick")].map(tick => tick.textContent);""")
        best = min(json.loads(line)["valid_error"] for line in self.read("run/metrics.jsonl").splitlines())
        self.assertEqual(said["ticks"], ["auto", "log", f"{best:g}"])

    def test_boxes_keep_their_places_from_step_to_step(self):
        said = self.look("explain.html", """
          const figure = document.querySelector("#pass-canonicalize figure"), view = figure.querySelector(".view");
          const press = name => figure.querySelector(`button[value="${name}"]`).click();
          const positions = () => Object.fromEntries([...figure.querySelectorAll("g.node")]
            .filter(node => node.getBoundingClientRect().width > 0)
            .map(node => [node.dataset.i, node.querySelector("text.op").getAttribute("x") + " " +
              node.querySelector("rect").getAttribute("y")]));
          const marked = name => figure.querySelectorAll(`g.node.${name}:not(.past)`).length;
          press("+");
          view.scrollTop = 120;
          const zoom = figure.querySelector("svg.graph").getAttribute("width");
          press("before");
          said.texts = [figure.querySelector("output").textContent];
          said.before = [Object.keys(positions()).length, marked("come"), marked("gone")];
          said.moved = 0;
          said.steps = [];
          for (let last = positions(); !figure.querySelector(`button[value="on"]`).disabled;) {
            press("on");
            const now = positions();
            for (const [box, x] of Object.entries(now)) if (last[box] !== undefined && last[box] !== x) said.moved += 1;
            last = now;
            said.steps.push(marked("come") + marked("gone"));
          }
          said.texts.push(figure.querySelector("output").textContent);
          press("after");
          said.texts.push(figure.querySelector("output").textContent);
          said.after = [marked("come") > 0, marked("gone")];
          said.kept = [view.scrollTop, zoom === figure.querySelector("svg.graph").getAttribute("width")];""")
        self.assertEqual(said["moved"], 0)
        self.assertGreater(said["before"][0], 50)
        self.assertEqual(said["before"][1], 0)
        self.assertGreater(said["before"][2], 3)
        self.assertGreater(len(said["steps"]), 5)
        self.assertTrue(all(count > 0 for count in said["steps"]), said)
        self.assertEqual(said["after"], [True, 0])
        self.assertEqual(said["kept"], [120, True])
        self.assertEqual(said["texts"][0], "before the pass: dashed red is what it removes")
        self.assertRegex(said["texts"][1], r"^step (\d+) of \1: ")
        self.assertEqual(said["texts"][2], "after the pass: green is what it has added")

    def test_a_box_tells_its_value_on_the_first_minibatch(self):
        said = self.look("explain.html", """
          const figure = document.querySelector("#graph figure"), told = figure.querySelector(".told");
          const node = name => [...figure.querySelectorAll("g.node")].find(
            one => one.querySelector(".op").textContent === name);
          const point = name => node(name).dispatchEvent(new PointerEvent("pointerenter"));
          point("log_softmax");
          said.value = told.textContent;
          said.cells = told.querySelectorAll("td").length;
          said.lit = figure.querySelectorAll(".edge.lit").length;
          node("log_softmax").dispatchEvent(new MouseEvent("click", {bubbles: true}));
          point("train_y");
          said.kept = told.textContent === said.value;
          node("log_softmax").dispatchEvent(new MouseEvent("click", {bubbles: true}));
          point("train_y");
          said.other = told.textContent;
          said.left = figure.querySelector("g.node rect").getBoundingClientRect().left;
          said.letters = parseFloat(getComputedStyle(figure.querySelector("text.about")).fontSize) *
            figure.querySelector("svg.graph").getBoundingClientRect().width /
            figure.querySelector("svg.graph").viewBox.baseVal.width;""")
        self.assertIn("float32[20, 10]: from ", said["value"])
        self.assertIn("the first 64 of 200 elements", said["value"])
        self.assertEqual(said["cells"], 64)
        self.assertGreater(said["lit"], 1)
        self.assertTrue(said["kept"])
        self.assertIn("int64[200]", said["other"])
        self.assertGreaterEqual(said["letters"], 9)

    def test_filters_of_each_epoch_are_seen_by_a_slider(self):
        said = self.look("one.html", """
          const series = document.querySelector(".series"), input = series.querySelector("input");
          const seen = () => series.querySelector("output").textContent +
            [...series.querySelectorAll(".frame")].filter(frame => frame.offsetWidth > 0).length;
          said.last = seen();
          input.value = 0;
          input.dispatchEvent(new Event("input"));
          said.first = seen();""")
        self.assertEqual(said, {"last": "epoch 31", "first": "epoch 11"})

    def test_what_was_chosen_is_kept_when_the_page_reads_itself_again(self):
        said = self.look("one.html", """
          const pressed = () => [...document.querySelectorAll(".bar button")]
            .filter(button => button.ariaPressed === "true").map(button => button.textContent);
          if (sessionStorage.getItem("again") === null) {
            sessionStorage.setItem("again", "1");
            [...document.querySelectorAll(".bar button")].find(button => button.textContent === "loss").click();
            location.reload();
          } else {
            sessionStorage.removeItem("again");
          }
          said.pressed = pressed();""")
        self.assertEqual(said["pressed"], ["loss"])


if __name__ == "__main__":
    if os.environ.get("THTRAIN_NO_BROWSER") == "1":
        print("skipped: THTRAIN_NO_BROWSER=1")
        sys.exit(77)
    if not BROWSER:
        sys.exit("no browser: install the package chromium, or set THTRAIN_NO_BROWSER=1")
    unittest.main()
