#include "reports/explain/memory_drawing.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/base/escape.h"
#include "compiler/plan/memory_plan.h"
#include "reports/page/markup.h"

namespace thtrain {
namespace {

// Pixels.
constexpr double kLeft = 92, kTop = 26, kPictureWidth = 980, kHeight = 380, kSmallTextLetter = 6.7;

struct Shown {
  size_t buffer;
  int64_t begin, end;  // bytes of the arena
  LiveRange live_range;
};

// The buffers that live in the arena; none where an offset is not known.
std::vector<Shown> shown_buffers(const Program& program) {
  std::vector<Shown> out;
  const std::vector<LiveRange> live_ranges = live_ranges_of(program);
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.kind != BufferKind::kTemporary || live_ranges[b].first < 0) continue;
    if (!buffer.arena_offset.is_known() || !buffer.elements.is_known()) return {};
    const int64_t begin = buffer.arena_offset.value();
    const int64_t bytes = buffer.elements.value() * static_cast<int64_t>(size_of(buffer.dtype));
    if (bytes > 0) out.push_back({b, begin, begin + bytes, live_ranges[b]});
  }
  return out;
}

// Where the bytes are drawn: every stretch between two ends of buffers gets its share of the height, and a least part.
std::map<int64_t, double> byte_positions(const std::vector<Shown>& buffers) {
  std::map<int64_t, double> out;
  for (const Shown& b : buffers) out[b.begin] = out[b.end] = 0;
  const double least = std::clamp(2 * kHeight / static_cast<double>(out.size()), 4.0, 17.0);
  const double all = static_cast<double>(out.rbegin()->first - out.begin()->first);
  double y = kTop;
  for (auto at = out.begin(); at != out.end(); ++at) {
    at->second = std::round(10 * y) / 10;  // what is printed, so that boxes meet and do not overlap
    if (auto next = std::next(at); next != out.end())
      y += least + kHeight / 2 * static_cast<double>(next->first - at->first) / all;
  }
  return out;
}

}  // namespace

std::string memory_drawing(const Program& program) {
  const std::vector<Shown> buffers = shown_buffers(program);
  if (buffers.empty()) return {};
  int steps = 0;
  for (const LiveRange& live_range : live_ranges_of(program)) steps = std::max(steps, live_range.last + 1);
  const double column = std::clamp(kPictureWidth / steps, 12.0, 90.0);
  const std::map<int64_t, double> positions = byte_positions(buffers);
  const double right = kLeft + column * steps, bottom = positions.rbegin()->second;
  std::string out = str(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"memory\" role=\"img\" aria-label=\"the memory plan\" width=\"",
      coordinate(right + 10), "\" height=\"", coordinate(bottom + 12), "\" viewBox=\"0 0 ", coordinate(right + 10), " ",
      coordinate(bottom + 12), "\">\n");
  const int every = column < 20 ? 5 : 1;
  for (int step = 0; step < steps; ++step) {
    const double x = kLeft + column * step;
    out += str("<path class=\"grid\" d=\"M", coordinate(x), " ", coordinate(kTop), "V", coordinate(bottom), "\"/>");
    if (step % every == 0)
      out += str("<text class=\"axis\" x=\"", coordinate(x + column / 2), "\" y=\"18\">", step, "</text>\n");
  }
  double last = -100;
  for (const auto& [byte, y] : positions) {
    if (y - last < 11) continue;
    last = y;
    out += str("<path class=\"grid\" d=\"M", coordinate(kLeft - 4), " ", coordinate(y), "H", coordinate(right),
               "\"/><text class=\"axis end\" x=\"", coordinate(kLeft - 8), "\" y=\"", coordinate(y + 4), "\">", byte,
               "</text>\n");
  }
  for (const Shown& b : buffers) {
    const Buffer& buffer = program.buffers[b.buffer];
    const std::string name = str(buffer.name.empty() ? "value" : escaped(buffer.name), "#", b.buffer);
    const std::string about = str(name, " ", bytes_text(static_cast<double>(b.end - b.begin)));
    const double x = kLeft + column * b.live_range.first, width = column * (b.live_range.last - b.live_range.first + 1);
    const double top = positions.at(b.begin), height = positions.at(b.end) - top;
    out += str("<g class=\"buffer b", b.buffer % 6, "\"><title>", markup_text(name), ": ", buffer.elements.text(), " ",
               name_of(buffer.dtype), ", bytes ", b.begin, " to ", b.end, ", steps ", b.live_range.first, " to ",
               b.live_range.last, "</title><rect x=\"", coordinate(x + 1), "\" y=\"", coordinate(top), "\" width=\"",
               coordinate(width - 2), "\" height=\"", coordinate(height), "\" rx=\"2\"/>");
    const std::string& label = kSmallTextLetter * static_cast<double>(about.size()) < width - 6 ? about : name;
    if (height >= 12 && kSmallTextLetter * static_cast<double>(label.size()) < width - 6)
      out += str("<text x=\"", coordinate(x + width / 2), "\" y=\"", coordinate(top + height / 2 + 4), "\">",
                 markup_text(label), "</text>");
    out += "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace thtrain
