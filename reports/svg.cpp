#include "reports/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler/base/str.h"
#include "compiler/base/utf8.h"
#include "reports/font.h"
#include "reports/page/markup.h"
#include "reports/polyline.h"
#include "reports/raster.h"

namespace thtrain {

namespace {

// Two decimals at most.
std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", std::clamp(value, -1e9, 1e9));
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

std::string hex(Colour c) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", c.red, c.green, c.blue);
  return text;
}

// XML has no control characters but these three, and no bytes that are not UTF-8.
std::string escaped(std::string_view text) {
  std::string out;
  for (char32_t c : code_points(text)) {
    if (c == U'&')
      out += "&amp;";
    else if (c == U'<')
      out += "&lt;";
    else if (c == U'>')
      out += "&gt;";
    else if (c == U'"')
      out += "&quot;";
    else if (c < 0x20 && c != U'\t' && c != U'\n' && c != U'\r')
      out += ' ';
    else if (c >= 0x20 && c < 0x7f)
      out += static_cast<char>(c);
    else
      out += str("&#", static_cast<uint32_t>(c == 0xfffe || c == 0xffff ? 0xfffd : c), ';');
  }
  return out;
}

std::string position(const Point& p) {
  return number(p.first) + ' ' + number(p.second);
}

class Writer {
 public:
  explicit Writer(const Canvas& canvas)
      : width_(canvas.width()), height_(canvas.height()), maker_(canvas.maker()), font_(Font::find()) {}

  void draw(const Canvas::Polyline& line);
  void draw(const Canvas::Filled& filled);
  void draw(const Canvas::Mark& mark);
  void draw(const Canvas::Placed& text);
  void draw(const Canvas::Image& image);
  std::string text() const;

 private:
  std::string clip(const std::optional<Box>& within);
  static std::string stroke(double thickness, Colour colour) {
    return str(" fill=\"none\" stroke=\"", hex(colour), "\" stroke-width=\"", number(thickness), '"');
  }

  int width_, height_;
  std::string maker_;
  std::shared_ptr<const Font> font_;
  std::vector<Box> clips_;
  std::string body_;
};

std::string Writer::clip(const std::optional<Box>& within) {
  if (!within) return "";
  auto found = std::find(clips_.begin(), clips_.end(), *within);
  if (found == clips_.end()) found = clips_.insert(clips_.end(), *within);
  return str(" clip-path=\"url(#clip", found - clips_.begin(), ")\"");
}

void Writer::draw(const Canvas::Polyline& line) {
  const LineStyle& style = line.style;
  const double beyond = style.thickness + 2;
  Box near{0, 0, static_cast<double>(width_), static_cast<double>(height_)};
  if (style.within)
    near = {std::max(near.left, style.within->left), std::max(near.top, style.within->top),
            std::min(near.right, style.within->right), std::min(near.bottom, style.within->bottom)};
  near = {near.left - beyond, near.top - beyond, near.right + beyond, near.bottom + beyond};
  for (const Points& part : clipped(line.points, near)) {
    if (part.size() == 1) {
      body_ += str("<circle cx=\"", number(part[0].first), "\" cy=\"", number(part[0].second), "\" r=\"",
                   number(style.thickness / 2), "\" fill=\"", hex(style.colour), '"', clip(style.within), "/>\n");
      continue;
    }
    const bool closes = line.is_closed && part.size() == line.points.size();
    body_ += "<path d=\"M";
    const Points seen = line.is_closed ? part : simplified(part, 0.06);
    for (size_t i = 0; i < seen.size(); ++i) body_ += (i == 0 ? "" : i == 1 ? " L" : " ") + position(seen[i]);
    body_ += str(closes ? " Z" : "", '"', stroke(style.thickness, style.colour));
    if (seen.size() > 2) body_ += " stroke-linejoin=\"round\"";
    if (!style.dash.empty()) {
      body_ += " stroke-dasharray=\"";
      for (size_t i = 0; i < style.dash.size(); ++i) body_ += (i > 0 ? " " : "") + number(style.dash[i]);
      body_ += '"';
    }
    body_ += clip(style.within) + "/>\n";
  }
}

void Writer::draw(const Canvas::Filled& filled) {
  // Viewers round the sides of such boxes each in its own way: bars vanish, or leave lines of the ground between them.
  const auto [left, right] = nearest_pixels(filled.box.left, filled.box.right, width_);
  const auto [top, bottom] = nearest_pixels(filled.box.top, filled.box.bottom, height_);
  if (left >= right || top >= bottom) return;
  body_ += str("<rect x=\"", left, "\" y=\"", top, "\" width=\"", right - left, "\" height=\"", bottom - top,
               "\" fill=\"", hex(filled.colour), "\" shape-rendering=\"crispEdges\"/>\n");
}

void Writer::draw(const Canvas::Mark& mark) {
  const MarkerStyle& style = mark.style;
  const std::string edge = stroke(style.thickness, style.colour);
  auto path = [&](const Points& points) {
    std::string out;
    for (size_t i = 0; i < points.size(); ++i)
      out += (i == 0 ? "M" : " ") + position({points[i].first + mark.x, points[i].second + mark.y});
    return out;
  };
  if (const std::vector<Points> lines = marker_lines(style.shape, style.size); !lines.empty()) {
    body_ += str("<path d=\"", path(lines[0]), ' ', path(lines[1]), '"', edge, "/>\n");
    return;
  }
  std::string look = str(" fill=\"", style.hollow ? "#ffffff" : hex(style.colour), '"');
  if (style.hollow) look += str(" stroke=\"", hex(style.colour), "\" stroke-width=\"", number(style.thickness), '"');
  if (style.shape == Marker::kDisc)
    body_ += str("<circle cx=\"", number(mark.x), "\" cy=\"", number(mark.y), "\" r=\"", number(style.size / 2), '"',
                 look, "/>\n");
  else
    body_ += str("<path d=\"", path(marker_corners(style.shape, style.size)), " Z\"", look, "/>\n");
}

void Writer::draw(const Canvas::Placed& text) {
  const TextStyle& style = text.style;
  body_ += str("<text x=\"", number(text.x), "\" y=\"", number(text.y), "\" font-size=\"", number(style.size), '"');
  if (style.bold) body_ += " font-weight=\"bold\"";
  if (font_ && !text.text.empty())
    body_ += str(" textLength=\"", number(font_->width(text.text, style.size, style.bold)), '"');
  if (!(style.colour == Colour{})) body_ += str(" fill=\"", hex(style.colour), '"');
  if (style.upward) body_ += str(" transform=\"rotate(-90 ", position({text.x, text.y}), ")\"");
  body_ += str('>', escaped(text.text), "</text>\n");
}

void Writer::draw(const Canvas::Image& image) {
  body_ +=
      str("<image x=\"", number(image.box.left), "\" y=\"", number(image.box.top), "\" width=\"",
          number(image.box.width()), "\" height=\"", number(image.box.height()),
          "\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" xlink:href=\"data:image/png;base64,",
          base64(encode_png(image.pixels)), "\"/>\n");
}

std::string Writer::text() const {
  std::string out =
      str("<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"", width_,
          "\" height=\"", height_, "\" viewBox=\"0 0 ", width_, ' ', height_, "\" font-family=\"");
  if (font_ && font_->family() != "DejaVu Sans") out += str('\'', escaped(font_->family()), "', ");
  out += "'DejaVu Sans', Verdana, sans-serif\">\n";
  if (!maker_.empty()) out += svg_maker(maker_) + '\n';
  for (size_t i = 0; i < clips_.size(); ++i)
    out +=
        str("<clipPath id=\"clip", i, "\"><rect x=\"", number(clips_[i].left), "\" y=\"", number(clips_[i].top),
            "\" width=\"", number(clips_[i].width()), "\" height=\"", number(clips_[i].height()), "\"/></clipPath>\n");
  out += str("<rect width=\"", width_, "\" height=\"", height_, "\" fill=\"#ffffff\"/>\n");
  return out + body_ + "</svg>\n";
}

}  // namespace

std::string svg_maker(std::string_view maker) {
  return str("<desc>", maker, "</desc>");
}

std::string svg_of(const Canvas& canvas) {
  Writer writer(canvas);
  for (const Canvas::Shape& shape : canvas.shapes()) std::visit([&](const auto& one) { writer.draw(one); }, shape);
  return writer.text();
}

}  // namespace thtrain
