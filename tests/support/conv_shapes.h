// The convolutions that every candidate is tested on, as the texts of keys (compiler/ops/conv/convolution.h) without
// their dtypes.
#pragma once

namespace thtrain {

/// Strides (more than taps, with and without dilations), paddings (more than a filter, less at one side), dilations,
/// groups, one position, one tap, filters as large as the image, one to three axes, rows longer than several vectors,
/// several slabs of patches, many images.
inline constexpr const char* kConvShapes[] = {
    "b2 i3x9x21 k5x3x4",
    "b1 i1x12x40 k6x5x5",
    "b2 i2x7x18 k3x3x3 p1:1x1:1",
    "b1 i2x5x6 k2x3x3 p0:2x3:1",
    "b2 i3x8x19 k4x3x2 s2x3",
    "b1 i3x9x19 k4x3x3 s2x2 p1:1x1:1",
    "b1 i2x8x29 k2x3x2 d2x3",
    "b1 i2x9x9 k2x2x3 s2x1 p1:2x2:2 d3x2",
    "b1 i2x7x33 k3x2x3 s1x4 p0:0x3:2 d1x2",
    "b2 i2x6x40 k4x3x4 s1x2 p1:0x2:3 d1x3",
    "b2 i4x5x6 k6x3x2 g2",
    "b1 i40x6x7 k36x3x3 g2",
    "b2 i5x6x17 k5x3x3 p1:1x1:1 g5",
    "b2 i5x4x6 k7x1x1",
    "b3 i4x5x6 k6x1x1 g2",
    "b3 i3x7x8 k4x1x1 s2x3",
    "b2 i3x4x5 k3x4x5",
    "b2 i3x9 k4x4 s2",
    "b1 i2x4x5x4 k3x2x3x2 p1:0x0:0x1:1",
    "b1 i4x6x9 k37x3x3",
    "b3 i37x4x5 k3x3x3 p2:2x2:2",
    "b1 i2x6x7 k3x3x3 p5:4x4:6",
    "b1 i1x1x1 k1x1x1",
    "b2 i3x5x4 k2x2x1 s1x2 p0:3x5:0",
    "b2 i40x3x17 k2x1x17 p0:0x16:16",
    "b1 i3x5x70 k2x2x9",
    "b2 i24x40x41 k2x5x5",
    "b1 i70x30x31 k34x3x3 p1:1x1:1",
    "b20 i2x6x5 k3x3x3",
    "b1 i60x12x26 k20x3x5 p2:2x4:4",
    "b2 i5x6x30 k6x1x1 p1:2x2:1",
    "b2 i6x9x14 k35x2x3 s3x2 p1:1x2:1",
    "b1 i48x60x60 k70x1x1",
};

}  // namespace thtrain
