#include "reports/legend.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

namespace {
constexpr double kSquareSide = 4;  // of a square
}

TakenArea::TakenArea(const Box& box)
    : box_(box),
      columns_(std::max<int64_t>(1, std::llround(std::ceil(box.width() / kSquareSide)))),
      rows_(std::max<int64_t>(1, std::llround(std::ceil(box.height() / kSquareSide)))),
      taken_(static_cast<size_t>(columns_ * rows_), 0) {}

void TakenArea::add(const Box& box) {
  auto square = [](double at, int64_t count) {
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(std::clamp(at / kSquareSide, -1.0, 1e6))), 0, count - 1);
  };
  if (box.right < box_.left || box.left > box_.right || box.bottom < box_.top || box.top > box_.bottom) return;
  for (int64_t y = square(box.top - box_.top, rows_); y <= square(box.bottom - box_.top, rows_); ++y)
    for (int64_t x = square(box.left - box_.left, columns_); x <= square(box.right - box_.left, columns_); ++x)
      taken_[static_cast<size_t>(y * columns_ + x)] = 1;
  sums_.clear();
}

// Around points of the line that are two pixels apart.
void TakenArea::add(const Points& line, double margin) {
  constexpr double kStep = 2;
  const double around = margin + kStep / 2;
  auto add_point = [&](const Point& p) {
    add(Box{p.first - around, p.second - around, p.first + around, p.second + around});
  };
  const Box near{box_.left - margin, box_.top - margin, box_.right + margin, box_.bottom + margin};
  for (const Points& whole : clipped(line, near)) {
    const Points part = simplified(whole, 0.5);
    add_point(part[0]);
    for (size_t i = 1; i < part.size(); ++i) {
      const Point a = part[i - 1], b = part[i];
      const double steps = std::ceil(std::hypot(b.first - a.first, b.second - a.second) / kStep);
      for (double k = 1; k <= steps; ++k)
        add_point({a.first + k / steps * (b.first - a.first), a.second + k / steps * (b.second - a.second)});
    }
  }
}

bool TakenArea::is_free(const Box& box) const {
  constexpr double kLittle = 1e-6;
  if (box.left < box_.left - kLittle || box.right > box_.right + kLittle || box.top < box_.top - kLittle ||
      box.bottom > box_.bottom + kLittle)
    return false;
  const int64_t stride = columns_ + 1;
  auto sum = [&](int64_t y, int64_t x) -> int& { return sums_[static_cast<size_t>(y * stride + x)]; };
  if (sums_.empty()) {
    sums_.assign(static_cast<size_t>(stride * (rows_ + 1)), 0);
    for (int64_t y = 0; y < rows_; ++y)
      for (int64_t x = 0; x < columns_; ++x)
        sum(y + 1, x + 1) = taken_[static_cast<size_t>(y * columns_ + x)] + sum(y, x + 1) + sum(y + 1, x) - sum(y, x);
  }
  auto square = [](double at, int64_t count) {
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(at / kSquareSide)), 0, count - 1);
  };
  const int64_t left = square(box.left - box_.left, columns_), right = square(box.right - box_.left, columns_) + 1;
  const int64_t top = square(box.top - box_.top, rows_), bottom = square(box.bottom - box_.top, rows_) + 1;
  return sum(bottom, right) - sum(top, right) - sum(bottom, left) + sum(top, left) == 0;
}

std::optional<Box> free_position(const TakenArea& taken, const Box& within, double width, double height) {
  const double right = within.right - width, bottom = within.bottom - height;
  if (right < within.left || bottom < within.top) return std::nullopt;
  auto at = [&](double left, double top) { return Box{left, top, left + width, top + height}; };
  auto free_at = [&](double left, double top) { return taken.is_free(at(left, top)); };
  for (auto [left, top] : {Point(right, within.top), {within.left, within.top}, {right, bottom}, {within.left, bottom}})
    if (free_at(left, top)) return at(left, top);
  constexpr int kSteps = 24;
  for (int ring = 0; ring <= kSteps / 2; ++ring)  // from the edges inwards
    for (int i = ring; i <= kSteps - ring; ++i)
      for (auto [x, y] : {std::pair(kSteps - ring, i), {i, ring}, {ring, i}, {i, kSteps - ring}}) {
        const double left = within.left + (right - within.left) * x / kSteps;
        const double top = within.top + (bottom - within.top) * y / kSteps;
        if (free_at(left, top)) return at(left, top);
      }
  return std::nullopt;
}

}  // namespace thtrain
