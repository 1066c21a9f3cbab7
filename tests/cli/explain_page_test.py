"""The page of `thtrain explain --html`, read by a strict parser: THTRAIN is the program."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

THTRAIN = sys.argv.pop(1)
HTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
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

[trainer]
batch_size = 20
epochs = 1
"""


class ExplainPageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        with open(os.path.join(cls.temporary.name, "e.toml"), "w", encoding="utf-8") as file:
            file.write(EXPERIMENT)
        cls.first, cls.second = cls.page("1.html"), cls.page("2.html")
        cls.root = ElementTree.fromstring(cls.first)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def page(cls, name):
        subprocess.run([THTRAIN, "explain", "e.toml", "--html", name], cwd=cls.temporary.name, check=True,
                       stdout=subprocess.PIPE)
        with open(os.path.join(cls.temporary.name, name), encoding="utf-8") as file:
            return file.read()

    def test_two_runs_differ_in_times_only(self):
        def without_times(page):
            return re.sub(r'<td class="number">\d+\.\d{3}</td>', "", page)
        self.assertEqual(without_times(self.first), without_times(self.second))

    def test_is_small(self):
        self.assertLess(len(self.first.encode()), 2_000_000)

    def test_links_lead_somewhere(self):
        names = [e.get("id") for e in self.root.iter() if e.get("id")]
        self.assertEqual(len(names), len(set(names)))
        links = [e.get("href") for e in self.root.iter() if e.get("href")]
        self.assertGreater(len(links), 20)
        for link in links:
            self.assertIn(link.lstrip("#"), names)
        for label in self.root.iter(HTML + "label"):
            self.assertIn(label.get("for"), names)

    def test_fetches_nothing(self):
        for element in self.root.iter():
            for name, value in element.attrib.items():
                self.assertNotIn("//", value)
                self.assertNotIn(name, ("src", "srcset", "action"))

    def test_boxes_of_a_picture_do_not_overlap(self):
        pictures = [svg for svg in self.root.iter(SVG + "svg") if svg.get("class") in ("graph", "memory")]
        self.assertGreater(len(pictures), 6)
        for svg in pictures:
            left, top, width, height = map(float, svg.get("viewBox").split())
            # What a box is from step to step has one position.
            sides = ("x", "y", "width", "height")
            boxes = [(group.get("data-i") or str(number), *(float(rect.get(side)) for side in sides))
                     for number, group in enumerate(svg.iter(SVG + "g")) for rect in group.iter(SVG + "rect")]
            self.assertGreater(len(boxes), 3)
            for i, (name, x, y, w, h) in enumerate(boxes):
                self.assertTrue(left <= x and x + w <= left + width and top <= y and y + h <= top + height)
                for other, u, v, a, b in boxes[:i]:
                    self.assertTrue(name == other or x + w <= u or u + a <= x or y + h <= v or v + b <= y)


if __name__ == "__main__":
    unittest.main()
