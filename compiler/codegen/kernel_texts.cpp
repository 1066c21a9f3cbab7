#include "compiler/codegen/kernel_texts.h"

#include "compiler/base/str.h"
#include "compiler/kernel/printer.h"
#include "compiler/kernel/verify.h"

namespace thtrain {

size_t KernelTexts::number_of(const kernel::Function& given, bool reads_failure) {
  auto [known, is_new] = numbers_.try_emplace({&given, reads_failure}, 0);
  if (!is_new) return known->second;
  kernel::Function behind_checks;
  if (reads_failure) {
    behind_checks = given;
    behind_checks.reads_failure = true;
  }
  const kernel::Function& function = reads_failure ? behind_checks : given;
  kernel::verify(function, target_);
  // With helpers of its own: they are part of the kernel's text, whatever program it is in.
  kernel::Helpers helpers;
  kernel::FunctionText text = kernel::print_function(function, dialect_, helpers);
  auto [at, fresh] = kernels_.try_emplace(text.comment + text.after_name, text_.kernels.size());
  if (fresh) {
    KernelText kernel{str("k", text_.kernels.size(), "_", function.name),
                      function.name,
                      std::move(text.comment),
                      std::move(text.after_name),
                      {}};
    for (const std::string& helper : helpers.definitions()) kernel.helpers.push_back(index_of_helper(helper));
    text_.kernels.push_back(std::move(kernel));
  }
  return known->second = at->second;
}

uint32_t KernelTexts::index_of_helper(const std::string& definition) {
  auto [at, fresh] = helpers_.try_emplace(definition, static_cast<uint32_t>(text_.helpers.size()));
  if (fresh) text_.helpers.push_back(definition);
  return at->second;
}

}  // namespace thtrain
