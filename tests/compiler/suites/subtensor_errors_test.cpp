// After PyTensor's tests/tensor/test_subtensor.py and test_inc_subtensor.py: what is refused there is refused here.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::subtensor_errors_suite {
namespace {

using G = Given&;

TEST(SubtensorSuite, GoldenErrors) {
  expect_suite_errors("subtensor", "errors",
                      {
                          {"TestSubtensor.test_err_invalid", [](G g) { return All{g(number(1))[0]}; }},
                          {"TestSubtensor.test_err_bounds", [](G g) { return All{g(count({3}))[7]}; }},
                          {"TestSubtensor.test_err_invalid_2",
                           [](G g) {
                             return All{g(count({3}))[{0, 0}]};
                           }},
                          {"TestSubtensor.test_err_bounds0[0,-3]",
                           [](G g) {
                             return All{g.known(count({2, 3}))[{-3, 0}]};
                           }},
                          {"TestSubtensor.test_err_bounds0[0,2]",
                           [](G g) {
                             return All{g(count({2, 3}))[{2, 0}]};
                           }},
                          {"TestSubtensor.test_err_bounds1[0,3]",
                           [](G g) {
                             return All{g.known(count({2, 3}))[{0, 3}]};
                           }},
                          {"TestSubtensor.test_err_bounds1[0,-4]",
                           [](G g) {
                             return All{g(count({2, 3}))[{0, -4}]};
                           }},
                          {"TestSubtensor.test_err_invalid_list",
                           [](G g) {
                             return All{take(g(number(5)), g(integers({0, 0})))};
                           }},
                          {"TestSubtensor.test_err_bound_list[[0,4]]",
                           [](G g) {
                             return All{g(count({2, 3}))[g(integers({0, 4}))]};
                           }},
                          {"TestSubtensor.test_err_bound_list[[0,-3]]",
                           [](G g) {
                             return All{g(count({2, 3}))[g(integers({0, -3}))]};
                           }},
                          {"TestSubtensor.test_err_bound_list[[-10]]",
                           [](G g) {
                             return All{g(count({2, 3}))[g(integers({-10}))]};
                           }},
                          {"TestSubtensor.test_err_bound_list[inc,[0,4]]",
                           [](G g) {
                             return All{inc_subtensor(g(count({2, 3}))[g(integers({0, 4}))], 1.0)};
                           }},
                          {"TestSubtensor.test_err_bound_list[inc,[0,-3]]",
                           [](G g) {
                             return All{inc_subtensor(g(count({2, 3}))[g(integers({0, -3}))], 1.0)};
                           }},
                          {"TestSubtensor.test_err_bound_list[inc,[-10]]",
                           [](G g) {
                             return All{inc_subtensor(g(count({2, 3}))[g(integers({-10}))], 1.0)};
                           }},
                          {"TestSubtensor.test_adv_sub1_broadcast",
                           [](G g) {
                             return All{g(count({1, 3}))[g(integers({0, 1}))]};
                           }},
                          {"TestSubtensor.test_wrong_exception_regression[start:stop]",
                           [](G g) { return All{g(count({3}))[Slice{.start = g(number(1)), .stop = g(number(2))}]}; }},
                          {"TestSubtensor.test_wrong_exception_regression[start:]",
                           [](G g) { return All{g(count({3}))[Slice{.start = g(number(1))}]}; }},
                          {"TestSubtensor.test_wrong_exception_regression[:stop]",
                           [](G g) { return All{g(count({3}))[Slice{.stop = g(number(1))}]}; }},
                          {"TestSubtensor.test_boolean[long]",
                           [](G g) {
                             return All{g(count({2, 3}))[g(bools({3}, "101"))]};
                           }},
                          {"TestSubtensor.test_boolean[long,inc]",
                           [](G g) {
                             return All{inc_subtensor(g(count({2, 3}))[g(bools({3}, "101"))], 1)};
                           }},
                          {"TestSubtensor.test_boolean[wide]",
                           [](G g) {
                             return All{g(count({2, 3}))[g(bools({2, 4}, "11111111"))]};
                           }},
                          {"TestSubtensor.test_boolean[short]",
                           [](G g) {
                             return All{g(count({2, 3}))[make_constant(bools({1}, "1"))]};
                           }},
                          {"TestSubtensor.test_boolean[three]",
                           [](G g) {
                             return All{g(count({2, 3}))[g(bools({1, 2, 3}, "111111"))]};
                           }},
                          {"TestIncSubtensor1.test_cant_adv_idx_into_scalar",
                           [](G g) { return All{g(Tensor(int64_t{5}))[g(integers({0}))]}; }},
                          {"TestIncSubtensor1.test_assigning_matrix_to_vector_selection",
                           [](G g) {
                             return All{inc_subtensor(g(spread({3}))[g(integers({1, 2}))], g(spread({2, 2})))};
                           }},
                          {"TestIncSubtensor.test_wrong_dims[set]",
                           [](G g) {
                             return All{set_subtensor(g(spread({2, 3}))[0], g(spread({3, 3})))};
                           }},
                          {"TestIncSubtensor.test_wrong_dims[inc]",
                           [](G g) {
                             return All{inc_subtensor(g(spread({2, 3}))[0], g(spread({3, 3})))};
                           }},
                          {"TestIncSubtensor.test_wrong_broadcast[set,2]",
                           [](G g) {
                             return All{set_subtensor(g(spread({3, 1}))[0], g(spread({2})))};
                           }},
                          {"TestIncSubtensor.test_wrong_broadcast[set,3]",
                           [](G g) {
                             return All{set_subtensor(g(spread({3, 1}))[0], g(spread({3})))};
                           }},
                          {"TestIncSubtensor.test_wrong_broadcast[set,0]",
                           [](G g) {
                             return All{set_subtensor(g(spread({3, 1}))[0], g(spread({0})))};
                           }},
                          {"TestIncSubtensor.test_wrong_broadcast[inc,2]",
                           [](G g) {
                             return All{inc_subtensor(g(spread({3, 1}))[0], g.known(spread({2})))};
                           }},
                          {"TestIncSubtensor.test_wrong_broadcast[inc,3]",
                           [](G g) {
                             return All{inc_subtensor(g(spread({3, 1}))[0], g.known(spread({3})))};
                           }},
                          {"TestIncSubtensor.test_wrong_broadcast[inc,0]",
                           [](G g) {
                             return All{inc_subtensor(g(spread({3, 1}))[0], g.known(spread({0})))};
                           }},
                          {"TestSubtensor.test_err_invalid_2list_dtype",
                           [](G g) {
                             return All{g(count({3, 3}))[make_constant(Tensor::vector({0.0, 0.0}))]};
                           }},
                      });
}

}  // namespace
}  // namespace thtrain::subtensor_errors_suite
