#include "reports/polyline.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thtrain {

namespace {

bool is_finite(const Point& p) {
  return std::isfinite(p.first) && std::isfinite(p.second);
}

// The part of a line in a box, by Liang and Barsky (1984); false where there is none.
bool clip_line(Point& a, Point& b, const Box& box) {
  const double dx = b.first - a.first, dy = b.second - a.second;
  double from = 0, to = 1;
  auto cut = [&](double towards, double room) {  // where at * towards > room, it is outside
    if (towards == 0) return room >= 0;
    (towards < 0 ? from : to) = towards < 0 ? std::max(from, room / towards) : std::min(to, room / towards);
    return from <= to;
  };
  if (!cut(-dx, a.first - box.left) || !cut(dx, box.right - a.first) || !cut(-dy, a.second - box.top) ||
      !cut(dy, box.bottom - a.second))
    return false;
  const Point start = a;
  if (to < 1) b = {start.first + to * dx, start.second + to * dy};
  if (from > 0) a = {start.first + from * dx, start.second + from * dy};
  return true;
}

double squared_distance(const Point& p, const Point& a, const Point& b) {
  const double dx = b.first - a.first, dy = b.second - a.second, px = p.first - a.first, py = p.second - a.second;
  const double length = dx * dx + dy * dy;
  const double along = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
  const double x = px - along * dx, y = py - along * dy;
  return x * x + y * y;
}

}  // namespace

std::vector<Points> clipped(const Points& line, const Box& box) {
  constexpr double kFar = 1e9;  // no square overflows
  auto near = [&](const Point& p) {
    return Point(std::clamp(p.first, -kFar, kFar), std::clamp(p.second, -kFar, kFar));
  };
  auto is_inside = [&](const Point& p) {
    return p.first >= box.left && p.first <= box.right && p.second >= box.top && p.second <= box.bottom;
  };
  std::vector<Points> out;
  bool goes_on = false;  // the last point of the last part is the point before
  for (size_t i = 0; i < line.size(); ++i) {
    if (!is_finite(line[i])) {
      goes_on = false;
      continue;
    }
    const Point to = near(line[i]);
    if (i == 0 || !is_finite(line[i - 1])) {
      goes_on = is_inside(to);
      if (goes_on) out.push_back({to});
      continue;
    }
    Point a = near(line[i - 1]), b = to;
    if (!clip_line(a, b, box)) {
      goes_on = false;
      continue;
    }
    if (!goes_on) out.push_back({a});
    out.back().push_back(b);
    goes_on = is_inside(to);
  }
  return out;
}

Points simplified(const Points& line, double distance) {
  if (line.size() < 3) return line;
  std::vector<char> is_kept(line.size(), 0);
  is_kept.front() = is_kept.back() = 1;
  std::vector<std::pair<size_t, size_t>> open = {{0, line.size() - 1}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    double most = distance * distance;
    size_t at = first;
    for (size_t i = first + 1; i < last; ++i)
      if (double d = squared_distance(line[i], line[first], line[last]); d > most) most = d, at = i;
    if (at == first) continue;
    is_kept[at] = 1;
    open.emplace_back(first, at);
    open.emplace_back(at, last);
  }
  Points out;
  for (size_t i = 0; i < line.size(); ++i)
    if (is_kept[i]) out.push_back(line[i]);
  return out;
}

std::vector<Points> dashed(const Points& line, const std::vector<double>& dash) {
  double period = 0;
  for (double length : dash) period += length;
  if (dash.size() < 2 || dash.size() % 2 == 1 || !(period > 0.5) || line.size() < 2) return {line};
  std::vector<Points> out;
  size_t part = 0;
  double left = dash[0];  // of this part
  out.push_back({line[0]});
  for (size_t i = 1; i < line.size(); ++i) {
    Point at = line[i - 1];
    const Point to = line[i];
    double length = std::hypot(to.first - at.first, to.second - at.second);
    while (length > left) {
      const double share = left / length;
      at = {at.first + share * (to.first - at.first), at.second + share * (to.second - at.second)};
      length -= left;
      if (part % 2 == 0) out.back().push_back(at);
      part = (part + 1) % dash.size();
      left = dash[part];
      if (part % 2 == 0) out.push_back({at});
    }
    left -= length;
    if (part % 2 == 0) out.back().push_back(to);
  }
  if (out.back().size() == 1) out.pop_back();
  return out;
}

// Areas are about the same; a disc's is pi / 4.
Points marker_corners(Marker shape, double size) {
  const double h = size / 2;
  switch (shape) {
    case Marker::kDisc: {
      Points out;
      for (int i = 0; i < 32; ++i) {
        const double angle = 2 * std::numbers::pi * i / 32;
        out.emplace_back(h * std::cos(angle), h * std::sin(angle));
      }
      return out;
    }
    case Marker::kSquare:
      return {{-0.9 * h, -0.9 * h}, {0.9 * h, -0.9 * h}, {0.9 * h, 0.9 * h}, {-0.9 * h, 0.9 * h}};
    case Marker::kDiamond:
      return {{0, -1.25 * h}, {1.25 * h, 0}, {0, 1.25 * h}, {-1.25 * h, 0}};
    case Marker::kTriangle:
      return {{0, -1.2 * h}, {1.15 * h, 0.85 * h}, {-1.15 * h, 0.85 * h}};
    case Marker::kTriangleDown:
      return {{-1.15 * h, -0.85 * h}, {1.15 * h, -0.85 * h}, {0, 1.2 * h}};
    case Marker::kStar: {
      Points out;
      for (int i = 0; i < 10; ++i) {
        const double angle = std::numbers::pi * i / 5, radius = i % 2 == 0 ? 1.6 * h : 0.65 * h;
        out.emplace_back(radius * std::sin(angle), -radius * std::cos(angle));
      }
      return out;
    }
    case Marker::kCross:
    case Marker::kPlus:
      return {};
  }
  return {};
}

std::vector<Points> marker_lines(Marker shape, double size) {
  const double h = size / 2;
  if (shape == Marker::kCross) return {{{-h, -h}, {h, h}}, {{-h, h}, {h, -h}}};
  if (shape == Marker::kPlus) return {{{-1.2 * h, 0}, {1.2 * h, 0}}, {{0, -1.2 * h}, {0, 1.2 * h}}};
  return {};
}

}  // namespace thtrain
