// Pictures read back: the pixels of a PNG file, and the texts of an SVG file as Python's XML parser finds them.
#pragma once

#include <gtest/gtest.h>
#include <png.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "compiler/base/str.h"
#include "reports/canvas.h"

namespace thtrain {

struct Picture {
  uint32_t width, height;
  std::vector<uint8_t> pixels;
  Colour at(int x, int y) const {
    const uint8_t* p = &pixels[(static_cast<size_t>(y) * width + static_cast<size_t>(x)) * 3];
    return {p[0], p[1], p[2]};
  }
  bool is(int x, int y, Colour c) const { return at(x, y) == c; }
  /// Pixels of the whole picture that have exactly this colour.
  int count(Colour c) const {
    int out = 0;
    for (size_t i = 0; i < pixels.size(); i += 3) out += Colour{pixels[i], pixels[i + 1], pixels[i + 2]} == c;
    return out;
  }
  /// Pixels in the box that are not white.
  int drawn(const Box& box) const {
    int out = 0;
    for (int y = std::max(0, static_cast<int>(box.top)); y < std::min<double>(box.bottom, height); ++y)
      for (int x = std::max(0, static_cast<int>(box.left)); x < std::min<double>(box.right, width); ++x)
        out += !is(x, y, kWhite);
    return out;
  }
};

inline Picture read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  Picture out{image.width, image.height, std::vector<uint8_t>(PNG_IMAGE_SIZE(image))};
  EXPECT_NE(png_image_finish_read(&image, nullptr, out.pixels.data(), 0, nullptr), 0);
  return out;
}

/// What a Python program prints that has the parsed file as `root`, and `tag` for names without their namespace.
inline std::string of_svg(const std::string& path, const std::string& program) {
  const std::string command =
      str("python3 -c 'import sys, xml.etree.ElementTree as E\nroot = E.parse(sys.argv[1]).getroot()\n"
          "tag = lambda e: e.tag.split(\"}\")[1]\n",
          program, "' ", path, " 2>&1");
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> bytes;
  for (size_t count; pipe && (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    out.append(bytes.data(), count);
  EXPECT_EQ(::pclose(pipe), 0) << out;
  return out;
}

/// The texts, a line each.
inline std::string svg_texts(const std::string& path) {
  return of_svg(path, "for e in root.iter():\n  if tag(e) == \"text\": print(e.text)");
}

}  // namespace thtrain
