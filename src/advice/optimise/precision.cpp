// Number formats with fewer bits: tensor cores for products, fewer bytes for everything else.
#include <fmt/format.h>

#include "advice/optimise/proposal.hpp"

namespace forerun {
namespace {

struct Choice {
  Precision precision;
  int width;  // order by bytes moved, widest first
  bool for_training;
  const char* peak;  // arithmetic the device must have; "": any
  Risk risk;
};
constexpr Choice kChoices[] = {
    {Precision::Tf32, 31, true, "tf32_tensor", Risk::Numerics},
    {Precision::AmpBf16, 24, true, "bf16_tensor", Risk::Numerics},
    {Precision::Bf16, 16, true, "bf16_tensor", Risk::Numerics},
    {Precision::Fp16, 16, false, "fp16_tensor", Risk::Numerics},
    {Precision::Fp8, 8, false, "fp8_tensor", Risk::Calibration},
    {Precision::Int8, 8, false, "int8_tensor", Risk::Calibration},
    {Precision::Int4, 4, false, "", Risk::Calibration},
};

int width_of(Precision precision) {
  if (precision == Precision::Fp32 || precision == Precision::IeeeFp32) return 32;
  for (const Choice& choice : kChoices) {
    if (choice.precision == precision) return choice.width;
  }
  return 32;
}

double products_us(const Situation& situation) {
  double sum = 0;
  for (const KernelShare& kernel : situation.kernels) {
    const bool is_product = is_convolution(kernel.kernel_class) || is_matrix_product(kernel.kernel_class) ||
                            kernel.kernel_class == KernelClass::Attention ||
                            kernel.kernel_class == KernelClass::Experts;
    if (is_product) sum += kernel.terms.total();
  }
  return sum;
}

}  // namespace

void propose_precision(const Situation& situation, std::vector<Proposal>& proposals) {
  const int width = width_of(situation.workload.precision);
  const double products = situation.share(products_us(situation)), memory = situation.share(situation.time.memory);
  for (const Choice& choice : kChoices) {
    if (choice.width >= width || (situation.workload.training && !choice.for_training)) continue;
    if (*choice.peak != '\0' && !situation.device.peak_tflops.contains(choice.peak)) continue;
    const std::string_view name = name_of(choice.precision);
    proposals.push_back({"",
                         fmt::format("run in {} instead of {}", name, name_of(situation.workload.precision)),
                         fmt::format("{:.0f} % of the time is in matrix products and convolutions, {:.0f} % waits for "
                                     "memory; {} needs fewer bytes and faster arithmetic",
                                     products * 100, memory * 100, name),
                         {{"precision", std::string(name)}},
                         nullptr,
                         choice.risk});
  }
}

}  // namespace forerun
