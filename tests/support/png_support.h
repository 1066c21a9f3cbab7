// Writing small PNG pictures.
#pragma once

#include <png.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace thtrain {

/// The bytes of a PNG file: `pixels` row by row, one, three (red, green, blue) or four (and alpha) each.
inline std::string png_bytes(int width, int height, const std::vector<uint8_t>& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  const size_t channels = pixels.size() / static_cast<size_t>(width * height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t bytes = 0;
  if (png_image_write_to_memory(&image, nullptr, &bytes, 0, pixels.data(), 0, nullptr) == 0)
    throw std::runtime_error(image.message);
  std::string out(bytes, '\0');
  if (png_image_write_to_memory(&image, out.data(), &bytes, 0, pixels.data(), 0, nullptr) == 0)
    throw std::runtime_error(image.message);
  out.resize(bytes);
  return out;
}

/// A PNG file as it is stored: `color_type` is libpng's, `rows` the bytes of its rows, 16 bits with the high one first.
struct StoredPng {
  int width, height, bit_depth, color_type;
  std::vector<uint8_t> rows;
  std::vector<png_color> palette = {};
  std::vector<uint8_t> palette_alpha = {};
  std::optional<uint16_t> transparent_grey = {};
  double gamma = 0;  // 0: no gAMA
  bool interlaced = false;
};

inline std::string png_bytes(const StoredPng& p) {
  auto check = [](png_structp, png_const_charp said) { throw std::runtime_error(said); };
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, check, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string out;
  png_set_write_fn(
      png, &out,
      [](png_structp to, png_bytep bytes, size_t count) {
        static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<const char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(p.width), static_cast<png_uint_32>(p.height), p.bit_depth,
               p.color_type, p.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!p.palette.empty()) png_set_PLTE(png, info, p.palette.data(), static_cast<int>(p.palette.size()));
  if (!p.palette_alpha.empty())
    png_set_tRNS(png, info, p.palette_alpha.data(), static_cast<int>(p.palette_alpha.size()), nullptr);
  png_color_16 grey{};
  grey.gray = p.transparent_grey.value_or(0);
  if (p.transparent_grey) png_set_tRNS(png, info, nullptr, 0, &grey);
  if (p.gamma > 0) png_set_gAMA(png, info, p.gamma);
  std::vector<uint8_t> stored = p.rows;
  std::vector<png_bytep> rows;
  for (int y = 0; y < p.height; ++y)
    rows.push_back(stored.data() + static_cast<size_t>(y) * (stored.size() / static_cast<size_t>(p.height)));
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

}  // namespace thtrain
