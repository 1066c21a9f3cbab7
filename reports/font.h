// The font of the pictures, DejaVu Sans: widths of texts, and the outlines of its glyphs. A file of it is looked for
// when the first picture is drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {

/// An outline as FreeType has it: quadratic or cubic curves in 64ths of a pixel, y upwards from the base line.
struct GlyphOutline {
  std::vector<std::pair<int64_t, int64_t>> points = {};
  std::vector<char> tags = {};
  std::vector<int> ends = {};  // the last point of each contour
};

/// For people, where Canvas::write() could write SVG alone: why, and what to do.
std::string without_font();

/// May be used by several threads at a time.
class Font {
 public:
  /// The one that $THTRAIN_FONT names, a path; else DejaVuSans.ttf in the folders where systems have it. The bold one
  /// is NAME-Bold.ttf next to it, or made of it. Null where there is none that FreeType can read. $THTRAIN_FONT is read
  /// at each call, a file once.
  static std::shared_ptr<const Font> find();
  /// What find() has not found, and how to get it.
  static Message missing();

  ~Font();
  Font(const Font&) = delete;
  Font& operator=(const Font&) = delete;

  /// Its name, as SVG writes it: "DejaVu Sans".
  const std::string& family() const { return family_; }
  /// How far the next letter is, in pixels at that size (pixels of an em): the sum of a text's is its width.
  double advance(char32_t letter, double size, bool bold) const;
  double width(std::string_view text, double size, bool bold) const;
  /// `aligned`: horizontal edges are moved to whole pixels, for texts whose base line is on one.
  GlyphOutline outline(char32_t letter, double size, bool bold, bool aligned) const;

 private:
  struct Faces;
  explicit Font(const std::string& path);

  mutable std::mutex mutex_;  // of the faces, which FreeType changes as it reads them
  std::unique_ptr<Faces> faces_;
  std::string family_;
};

}  // namespace thtrain
