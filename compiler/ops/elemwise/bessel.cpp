// Modified Bessel functions of the first kind.
#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/record_parts.h"
#include "compiler/ops/elemwise/series.h"

namespace thtrain {
namespace {

const Series kI0Near{
    0,
    8,
    {-0x1.45cb72134d0efp-30, 0x1.33362977da589p-28, -0x1.095d0ee259a0fp-27, 0x1.c33c49ed0dbc5p-26,
     -0x1.e8f1aa095cd03p-24, 0x1.8ab0cd0db916ap-22, -0x1.24261d26d0826p-20, 0x1.b16f3ef89dc93p-19,
     -0x1.366f54c213419p-17, 0x1.a6d32be1ae42dp-16, -0x1.12c356acb216ep-14, 0x1.5496bf2fd4a74p-13,
     -0x1.91807fa4d8274p-12, 0x1.c0f4b0cdb7ca3p-11, -0x1.daf9aa1897dd3p-10, 0x1.da1a9f9b65960p-9,
     -0x1.bd258f50f2bbbp-8,  0x1.87e867bbf0eb2p-7,  -0x1.427b098c73974p-6,  0x1.ee6f564cd103cp-6,
     -0x1.602411e311459p-5,  0x1.d11e10f610496p-5,  -0x1.1cd73a8e68ccdp-4,  0x1.44b6196a77ed5p-4,
     -0x1.5c028fe647b97p-4,  0x1.65c235bfeaa82p-4,  -0x1.6cb8d0c91587ap-4,  0x1.8322d1d8a3bbbp-4,
     -0x1.cedda0048620cp-4,  0x1.a7f09f8eedf5ap-3},
    {0x1.6d903a454cb34p-12, -0x1.beaf68c0b30abp-11, 0x1.b0b2486ed8f3fp-12, -0x1.8bc84a5e46d8ep-11, 0x1.113cce027d817p-8,
     -0x1.06bdd86034cc6p-7, 0x1.7a9a86f0970b5p-7, -0x1.34f57a93dce51p-6, 0x1.f16dbde679195p-6, -0x1.62dc34ba93bfap-5,
     0x1.d0b5bf0183da0p-5, -0x1.1c85899ada344p-4, 0x1.44be38f2f9da7p-4, -0x1.5c0ce77d716bep-4, 0x1.65c191bae5a6bp-4,
     -0x1.6cb838da127f3p-4, 0x1.8322d6dacf5fap-4, -0x1.cedda291f7cd4p-4, 0x1.a7f09f8bb432ep-3}};
const Series kI1Near{
    0,
    8,
    {-0x1.a21dbdbdd0288p-34, 0x1.99f2a0c3c4014p-32, -0x1.900f247d3c0a1p-31, 0x1.65c830072c746p-29,
     -0x1.81ab86ff6c562p-27, 0x1.46ac85139924fp-25, -0x1.01919a9b8d686p-23, 0x1.93a8b3a01bb0bp-22,
     -0x1.3185873978224p-20, 0x1.ba19833b81b33p-19, -0x1.32695b322d6d0p-17, 0x1.96932d5f66fc6p-16,
     -0x1.01a443791d1abp-14, 0x1.37430c5bd419dp-13, -0x1.65bf648a39793p-12, 0x1.8656c15e753d1p-11,
     -0x1.936826ab64aacp-10, 0x1.89f8a695c14a5p-9,  -0x1.6ab6a385fff90p-8,  0x1.3a0c1a00727d6p-7,
     -0x1.fe3d9c01c0f92p-7,  0x1.84125b0d2e47fp-6,  -0x1.13d5f358a4538p-5,  0x1.6df95e8bdfc56p-5,
     -0x1.c4daa51341cecp-5,  0x1.0530f817ffa4bp-4,  -0x1.1881379ffb5c0p-4,  0x1.16c390ddb08ecp-4,
     -0x1.f4bb071a7752bp-5,  0x1.6e14eb8e5d319p-5},
    {0x1.8ea34b43fdf6cp-15, -0x1.0361b28ea67e6p-13, 0x1.887417355898cp-14, -0x1.a8f0524fed610p-13,
     0x1.a9eef2d2ab0c2p-11, -0x1.bd46bc1f6af98p-10, 0x1.837308bad3f21p-9, -0x1.63b105178f18dp-8, 0x1.3ac78a0611987p-7,
     -0x1.ffa6400d418f7p-7, 0x1.83f8e2047a7bfp-6, -0x1.13c0d3a1bad20p-5, 0x1.6dfb59b7278cbp-5, -0x1.c4dd50cc91455p-5,
     0x1.0530e41c8b1f4p-4, -0x1.18812406ee27bp-4, 0x1.16c39179c6ba7p-4, -0x1.f4bb07c2e6e78p-5, 0x1.6e14eb8ccb580p-5}};
const Series kI0Far{0,
                    1,
                    {-0x1.0adb754ca8b1dp-34, -0x1.646da6611912bp-36, 0x1.f741903e631b4p-32,  0x1.4ffe43b34b0cap-33,
                     -0x1.bd05a336c6a58p-30, -0x1.3a3b59d669595p-31, 0x1.f3ff264907758p-29,  0x1.a1d63d6d8235fp-30,
                     -0x1.99204d1a8bb30p-28, -0x1.e1db3b1fc3ea4p-29, 0x1.fe9e1dd494c83p-28,  0x1.03813921d363bp-27,
                     -0x1.7369bf37c026dp-28, -0x1.ccba1604bc157p-27, -0x1.cfb20ddb53edep-28, 0x1.0393c5c549066p-27,
                     0x1.7232c4c122295p-26,  0x1.51ce71adfb8dcp-25,  0x1.7d0f1670e44e2p-24,  0x1.3f49a7d62b2a7p-22,
                     0x1.8e513a708989ep-20,  0x1.75e5ee7193c9bp-17,  0x1.1daa72b5e2bd7p-13,  0x1.b87969bb93b86p-9,
                     0x1.9bd428ad249a5p-2},
                    {0x1.d2c64a9225b87p-24, 0x1.8569280d6d56dp-22, 0x1.8c3de69f228d9p-20, 0x1.74dca07f9612fp-17,
                     0x1.1dab087f9e7f9p-13, 0x1.b87989a83110dp-9, 0x1.9bd428acb326bp-2}};
const Series kI1Far{0,
                    1,
                    {0x1.1556db352e8eap-34,  0x1.45b8aea87b94bp-36,  -0x1.059e6bcc892fep-31, -0x1.341e6ffaf59f6p-33,
                     0x1.cf243016f9c30p-30,  0x1.23214d692a95ep-31,  -0x1.04c48e6f24f30p-28, -0x1.8b794674af086p-30,
                     0x1.acff7707fcc47p-28,  0x1.d6e5e5ac6b3a2p-29,  -0x1.0f0aac74a7f0dp-27, -0x1.069735b018307p-27,
                     0x1.9a8f6afc3dd3dp-28,  0x1.e236784650fb0p-27,  0x1.cec9f53b94527p-28,  -0x1.21936a1ea1c23p-27,
                     -0x1.918f9f9793789p-26, -0x1.727a1058f659fp-25, -0x1.ad8d53e613985p-24, -0x1.76137f7ae6917p-22,
                     -0x1.ec8e106de0a2fp-20, -0x1.f89c230615615p-17, -0x1.cbc54df1e92e0p-13, -0x1.3f796198ee62dp-7,
                     0x1.8ebe783a84030p-2},
                    {-0x1.0790b9ad53528p-23, -0x1.c415394bb46c1p-22, -0x1.ea1483034ae8fp-20, -0x1.f77314fc4b622p-17,
                     -0x1.cbc609131f651p-13, -0x1.3f796a9156c80p-7, 0x1.8ebe783b189bcp-2}};

// e^-|x| I_n(x): the power series in x^2 / 4, or from 30 on the asymptotic one.
long double scaled_bessel(int order, long double x) {
  const long double size = std::abs(x), sign = order == 1 && x < 0 ? -1 : 1;
  if (std::isinf(x)) return 0 * sign;
  long double sum = 0, term = 1;
  if (size < 30) {
    if (order == 1) term = size / 2;
    for (int k = 1; k < 200; ++k) {
      sum += term;
      term *= size * size / 4 / (static_cast<long double>(k) * static_cast<long double>(k + order));
    }
    return sign * sum * std::exp(-size);
  }
  for (int k = 1; k < 40; ++k) {
    sum += term;
    term *= -(4.0L * order - static_cast<long double>((2 * k - 1) * (2 * k - 1))) / (8 * k * size);
  }
  return sign * sum / std::sqrt(2 * std::numbers::pi_v<long double> * size);
}

Term bessel_code(const Term& x, const Series& near, const Series& far) {
  const Term size = kernel::fabs(x), eight = kernel::constant(x.dtype(), 8);
  return select(size < eight, value_of(near, size), value_of(far, eight / size) / kernel::sqrt(size));
}

}  // namespace

const Op& i0e_op() {
  static const ScalarOp record{
      .name = "i0e",
      .doc =
          "e^-|x| I_0(x), the modified Bessel function of the first kind of order 0, of real numbers.\n"
          "Gradient: d/dx = i1e(x) - sign(x) y.\n"
          "Edge cases: of infinities: 0.\n"
          "Example: i0e([0, 1]) = [1, 0.46576]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return static_cast<decltype(x)>(scaled_bessel(0, x)); }),
      .code = code1<kFloats>([](const Term& x) { return bessel_code(x, kI0Near, kI0Far); }),
      .gradient = [](const ScalarGradientArgs& g) { return Exprs{g.dout() * (i1e(g.x()) - sign(g.x()) * g.out())}; },
      .low = 0.2,
      .high = 12,
      .edge_cases = {1e-10, 0.5, 8, -8, 30, 700, 1e10},
      .ulps = 8,
      .spread = spread_same};
  static const Op& op = define_elementwise(record);
  return op;
}

const Op& i1e_op() {
  static const ScalarOp record{
      .name = "i1e",
      .doc =
          "e^-|x| I_1(x), the modified Bessel function of the first kind of order 1, of real numbers.\n"
          "Gradient: d/dx = i0e(x) - y (sign(x) + 1/x), 1/2 at 0.\n"
          "Edge cases: of infinities: 0.\n"
          "Example: i1e([0, 1]) = [0, 0.20791]",
      .signature = floats_to_same(kFloats),
      .reference = reference1<kFloats>([](auto x) { return static_cast<decltype(x)>(scaled_bessel(1, x)); }),
      .code = code1<kFloats>([](const Term& x) {
        const Term size = kernel::fabs(x);
        const Term is_near = size < kernel::constant(x.dtype(), 8);
        return select(is_near, x, copy_sign(kernel::constant(x.dtype(), 1), x)) * bessel_code(x, kI1Near, kI1Far);
      }),
      .gradient =
          [](const ScalarGradientArgs& g) {
            const Expr ratio = where(eq(g.x(), 0), 0.5, g.out() / where(eq(g.x(), 0), 1.0, g.x()));
            return Exprs{g.dout() * (i0e(g.x()) - sign(g.x()) * g.out() - ratio)};
          },
      .low = 0.2,
      .high = 12,
      .edge_cases = {1e-10, 0.5, 8, -8, 30, 700, 1e10},
      .ulps = 8,
      .spread = spread_same};
  static const Op& op = define_elementwise(record);
  return op;
}

Expr i0e(const Operand& x) {
  return unary(i0e_op(), x);
}
Expr i1e(const Operand& x) {
  return unary(i1e_op(), x);
}

}  // namespace thtrain
