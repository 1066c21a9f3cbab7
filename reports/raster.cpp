#include "reports/raster.h"

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#include FT_STROKER_H
#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>

#include "compiler/base/file.h"
#include "compiler/base/utf8.h"
#include "reports/font.h"
#include "reports/polyline.h"

namespace thtrain {

std::pair<int64_t, int64_t> nearest_pixels(double low, double high, int64_t count) {
  const auto n = static_cast<double>(count);
  return {std::lround(std::clamp(low, 0.0, n)), std::lround(std::clamp(high, 0.0, n))};
}

namespace {

// Signed in FreeType before 2.13.3, unsigned since.
using Tag = std::remove_pointer_t<decltype(FT_Outline::tags)>;
using Index = std::remove_pointer_t<decltype(FT_Outline::contours)>;

FT_Pos fixed(double pixels) {
  return static_cast<FT_Pos>(std::lround(pixels * 64));
}

// It refers to all of these. `ends` are the last points of the contours.
FT_Outline outline_of(std::vector<FT_Vector>& points, std::vector<Tag>& tags, std::vector<Index>& ends) {
  return {
      static_cast<Index>(ends.size()), static_cast<Index>(points.size()), points.data(), tags.data(), ends.data(), 0};
}

class Painter {
 public:
  explicit Painter(const Canvas& canvas) : width_(canvas.width()), height_(canvas.height()) {
    out_ = {.width = width_, .height = height_, .channels = 3};
    out_.values.assign(static_cast<size_t>(out_.width * out_.height * 3), 255);
    TH_CHECK(FT_Init_FreeType(&library_) == 0, "FreeType cannot be used");
    TH_CHECK(FT_Stroker_New(library_, &stroker_) == 0, "FreeType's stroker cannot be used");
  }
  ~Painter() {
    FT_Stroker_Done(stroker_);
    FT_Done_FreeType(library_);
  }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  void draw(const Canvas::Polyline& line);
  void draw(const Canvas::Filled& filled);
  void draw(const Canvas::Mark& mark);
  void draw(const Canvas::Placed& text);
  void draw(const Canvas::Image& image);
  Pixels take() { return std::move(out_); }

 private:
  // Of an outline in 64ths of a pixel, y downwards; within pixels [left, right) x [top, bottom).
  struct Clip {
    int64_t left, top, right, bottom;
  };
  Clip whole() const { return {0, 0, width_, height_}; }
  Clip clip_of(const std::optional<Box>& within) const;
  void fill(FT_Outline& outline, Colour colour, const Clip& clip);
  void find_spans(FT_Outline& outline, const Clip& clip);
  void fill(const Points& corners, Colour colour, const Clip& clip);
  void stroke(const std::vector<Points>& lines, bool is_closed, double thickness, Colour colour, const Clip& clip);
  void end_stroke(Colour colour, const Clip& clip);
  void cover(int y, const FT_Span& span, Colour colour);

  int64_t width_, height_;
  Pixels out_;
  std::vector<std::pair<int, FT_Span>> spans_;  // of the outline that is being filled, with their rows
  FT_Library library_ = nullptr;
  FT_Stroker stroker_ = nullptr;
  std::shared_ptr<const Font> font_;
  std::map<std::tuple<char32_t, double, bool, bool>, GlyphOutline> glyphs_;
};

Painter::Clip Painter::clip_of(const std::optional<Box>& within) const {
  if (!within) return whole();
  const auto [left, right] = nearest_pixels(within->left, within->right, width_);
  const auto [top, bottom] = nearest_pixels(within->top, within->bottom, height_);
  return {left, top, right, bottom};
}

void Painter::cover(int y, const FT_Span& span, Colour colour) {
  const int wanted[] = {colour.red, colour.green, colour.blue};
  uint8_t* pixel = &out_.values[static_cast<size_t>((y * width_ + span.x) * 3)];
  const int part = span.coverage;
  for (int i = 0; i < span.len; ++i)
    for (int wanted_value : wanted) {
      // Towards the colour, to the nearest.
      const int way = (wanted_value - *pixel) * part;
      *pixel = static_cast<uint8_t>(*pixel + (way >= 0 ? way + 127 : way - 127) / 255);
      ++pixel;
    }
}

// FreeType has memory for so many cells of a row, where a long flat line has many: it is taken in narrower parts then.
void Painter::find_spans(FT_Outline& outline, const Clip& clip) {
  FT_Raster_Params how{};
  how.flags = FT_RASTER_FLAG_AA | FT_RASTER_FLAG_DIRECT | FT_RASTER_FLAG_CLIP;
  how.gray_spans = [](int y, int count, const FT_Span* spans, void* painter) {
    for (int i = 0; i < count; ++i) static_cast<Painter*>(painter)->spans_.emplace_back(y, spans[i]);
  };
  how.user = this;
  how.clip_box = {clip.left, clip.top, clip.right, clip.bottom};
  const size_t before = spans_.size();
  const FT_Error error = FT_Outline_Render(library_, &outline, &how);
  if (error == 0) return;
  TH_CHECK(error == FT_Err_Raster_Overflow && clip.right - clip.left > 1, "FreeType cannot draw an outline");
  spans_.resize(before);
  const int64_t middle = (clip.left + clip.right) / 2;
  find_spans(outline, {clip.left, clip.top, middle, clip.bottom});
  find_spans(outline, {middle, clip.top, clip.right, clip.bottom});
}

void Painter::fill(FT_Outline& outline, Colour colour, const Clip& clip) {
  if (outline.n_points == 0 || clip.left >= clip.right || clip.top >= clip.bottom) return;
  spans_.clear();
  find_spans(outline, clip);
  for (const auto& [y, span] : spans_) cover(y, span, colour);
}

void Painter::fill(const Points& corners, Colour colour, const Clip& clip) {
  std::vector<FT_Vector> points;
  for (const auto& [x, y] : corners) points.push_back({fixed(x), fixed(y)});
  std::vector<Tag> tags(points.size(), FT_CURVE_TAG_ON);
  std::vector<Index> ends = {static_cast<Index>(points.size() - 1)};
  FT_Outline outline = outline_of(points, tags, ends);
  fill(outline, colour, clip);
}

// Lines are drawn in parts: an outline of FreeType has 32767 points at most, and its rasterizer takes time with the
// square of the cells that one outline has in a row. A part begins with the last segment of the part before, so that
// the corner between them is round.
void Painter::stroke(const std::vector<Points>& lines, bool is_closed, double thickness, Colour colour,
                     const Clip& clip) {
  constexpr size_t kCorners = 100;
  FT_Stroker_Set(stroker_, std::max<FT_Fixed>(fixed(thickness / 2), 1), FT_STROKER_LINECAP_BUTT,
                 FT_STROKER_LINEJOIN_ROUND, 0);
  size_t corners = 0;
  std::vector<FT_Vector> points;
  for (const Points& line : lines) {
    points.clear();
    for (const auto& [x, y] : line)
      if (const FT_Vector at{fixed(x), fixed(y)}; points.empty() || at.x != points.back().x || at.y != points.back().y)
        points.push_back(at);
    // A part of one point alone has no length; the stroker would read a border that it has not begun.
    for (size_t first = 0; first + 1 < points.size(); first += kCorners) {
      if (first > 0) --first;
      const size_t last = std::min(first + kCorners, points.size() - 1);
      const bool closes = is_closed && last - first + 1 == points.size();
      FT_Stroker_BeginSubPath(stroker_, &points[first], !closes);
      for (size_t i = first + 1; i <= last; ++i) FT_Stroker_LineTo(stroker_, &points[i]);
      FT_Stroker_EndSubPath(stroker_);
      corners += last - first + 1;
      if (corners >= kCorners) {
        end_stroke(colour, clip);
        corners = 0;
      }
    }
  }
  end_stroke(colour, clip);
}

void Painter::end_stroke(Colour colour, const Clip& clip) {
  FT_UInt points = 0, contours = 0;
  TH_CHECK(FT_Stroker_GetCounts(stroker_, &points, &contours) == 0, "FreeType's stroker cannot draw a line");
  if (points > 0) {
    TH_CHECK(points <= SHRT_MAX, points, " points of an outline");
    FT_Outline outline;
    TH_CHECK(FT_Outline_New(library_, points, static_cast<FT_Int>(contours), &outline) == 0, "no memory for a line");
    outline.n_points = outline.n_contours = 0;
    FT_Stroker_Export(stroker_, &outline);
    fill(outline, colour, clip);
    outline.n_points = static_cast<short>(points);
    FT_Outline_Done(library_, &outline);
  }
  FT_Stroker_Rewind(stroker_);
}

void Painter::draw(const Canvas::Polyline& line) {
  const LineStyle& style = line.style;
  const double beyond = style.thickness + 2;  // ends that are cut off are not seen
  Box near{0, 0, static_cast<double>(width_), static_cast<double>(height_)};
  if (style.within)
    near = {std::max(near.left, style.within->left), std::max(near.top, style.within->top),
            std::min(near.right, style.within->right), std::min(near.bottom, style.within->bottom)};
  near = {near.left - beyond, near.top - beyond, near.right + beyond, near.bottom + beyond};
  const Clip clip = clip_of(style.within);
  std::vector<Points> parts = clipped(line.points, near), drawn;
  bool is_whole = parts.size() == 1 && parts[0].size() == line.points.size();
  for (Points& part : parts) {
    if (part.size() == 1) {
      Points dot = marker_corners(Marker::kDisc, style.thickness);
      for (Point& p : dot) p = {p.first + part[0].first, p.second + part[0].second};
      fill(dot, style.colour, clip);
      continue;
    }
    if (!line.is_closed) part = simplified(part, 0.06);
    for (Points& piece : dashed(part, style.dash)) drawn.push_back(std::move(piece));
  }
  if (line.is_closed && is_whole && style.dash.empty()) drawn[0].push_back(drawn[0][0]);
  stroke(drawn, line.is_closed && is_whole && style.dash.empty(), style.thickness, style.colour, clip);
}

void Painter::draw(const Canvas::Filled& filled) {
  const auto [left, right] = nearest_pixels(filled.box.left, filled.box.right, width_);
  const auto [top, bottom] = nearest_pixels(filled.box.top, filled.box.bottom, height_);
  for (int64_t y = top; y < bottom; ++y)
    for (int64_t x = left; x < right; ++x) {
      uint8_t* pixel = &out_.values[static_cast<size_t>((y * width_ + x) * 3)];
      pixel[0] = filled.colour.red, pixel[1] = filled.colour.green, pixel[2] = filled.colour.blue;
    }
}

void Painter::draw(const Canvas::Mark& mark) {
  const MarkerStyle& style = mark.style;
  auto placed = [&](Points points) {
    for (Point& p : points) p = {p.first + mark.x, p.second + mark.y};
    return points;
  };
  std::vector<Points> lines;
  for (const Points& line : marker_lines(style.shape, style.size)) lines.push_back(placed(line));
  if (!lines.empty()) return stroke(lines, false, style.thickness, style.colour, whole());
  Points corners = placed(marker_corners(style.shape, style.size));
  fill(corners, style.hollow ? kWhite : style.colour, whole());
  if (!style.hollow) return;
  corners.push_back(corners[0]);
  stroke({corners}, true, style.thickness, style.colour, whole());
}

void Painter::draw(const Canvas::Placed& text) {
  if (!font_) font_ = Font::find();
  if (!font_) throw UserError(Font::missing());
  const TextStyle& style = text.style;
  double along = 0;  // pixels along the text
  const double x0 = style.upward ? std::round(text.x) : text.x, y0 = style.upward ? text.y : std::round(text.y);
  for (char32_t letter : code_points(text.text)) {
    auto [glyph, is_new] = glyphs_.try_emplace({letter, style.size, style.bold, style.upward});
    if (is_new) glyph->second = font_->outline(letter, style.size, style.bold, !style.upward);
    std::vector<FT_Vector> points;
    for (const auto& [x, y] : glyph->second.points)
      points.push_back(style.upward ? FT_Vector{fixed(x0) - y, fixed(y0 - along) - x}
                                    : FT_Vector{fixed(x0 + along) + x, fixed(y0) - y});
    std::vector<Tag> tags(glyph->second.tags.begin(), glyph->second.tags.end());
    std::vector<Index> ends(glyph->second.ends.begin(), glyph->second.ends.end());
    FT_Outline outline = outline_of(points, tags, ends);
    fill(outline, style.colour, whole());
    along += font_->advance(letter, style.size, style.bold);
  }
}

void Painter::draw(const Canvas::Image& image) {
  const Pixels& from = image.pixels;
  const auto [left, right] = nearest_pixels(image.box.left, image.box.right, width_);
  const auto [top, bottom] = nearest_pixels(image.box.top, image.box.bottom, height_);
  auto source = [](int64_t at, double low, double length, int64_t count) {
    const double position = (static_cast<double>(at) + 0.5 - low) / length * static_cast<double>(count);
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(position)), 0, count - 1);
  };
  for (int64_t y = top; y < bottom; ++y) {
    const int64_t row = source(y, image.box.top, image.box.height(), from.height);
    for (int64_t x = left; x < right; ++x) {
      const int64_t column = source(x, image.box.left, image.box.width(), from.width);
      const uint8_t* seen = &from.values[static_cast<size_t>((row * from.width + column) * from.channels)];
      uint8_t* pixel = &out_.values[static_cast<size_t>((y * width_ + x) * 3)];
      for (int i = 0; i < 3; ++i) pixel[i] = seen[from.channels == 3 ? i : 0];
    }
  }
}

}  // namespace

Pixels raster_of(const Canvas& canvas) {
  Painter painter(canvas);
  for (const Canvas::Shape& shape : canvas.shapes()) std::visit([&](const auto& one) { painter.draw(one); }, shape);
  return painter.take();
}

std::string encode_png(const Pixels& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(pixels.width);
  image.height = static_cast<png_uint_32>(pixels.height);
  image.format = pixels.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  image.flags = PNG_IMAGE_FLAG_FAST;  // pictures of few colours: as small, in a tenth of the time
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string out(bytes, '\0');
  const bool is_done = png_image_write_to_memory(&image, out.data(), &bytes, 0, pixels.values.data(), 0, nullptr) != 0;
  TH_CHECK(is_done, "libpng: ", image.message);
  out.resize(bytes);
  return out;
}

static std::string big_endian(size_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
  return out;
}

// A chunk tEXt: its length, type, data and checksum.
std::string png_maker(std::string_view maker) {
  const std::string data = str("Software", '\0', maker), checked = "tEXt" + data;
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(data.size()) + checked + big_endian(sum);
}

void write_png(const std::string& path, const Pixels& pixels, std::string_view maker) {
  constexpr size_t kHead = 33;  // the signature, and the chunk IHDR
  std::string bytes = encode_png(pixels);
  if (!maker.empty()) bytes.insert(kHead, png_maker(maker));
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace thtrain
