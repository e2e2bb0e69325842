#include "training/gnn/program_writer.hpp"

namespace forerun {

std::int32_t ProgramWriter::tensor(const std::string& name, const torch::Tensor& values, bool half) {
  const torch::Tensor dense = values.detach().to(torch::kCPU, torch::kFloat).contiguous();
  const bool is_matrix = dense.dim() == 2;
  program_.tensors.push_back({name, static_cast<std::int32_t>(is_matrix ? dense.size(0) : 1),
                              static_cast<std::int32_t>(is_matrix ? dense.size(1) : dense.numel()), half});
  const std::vector<float> numbers(dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel());
  sections_.emplace_back(name, half ? pack_half(numbers) : pack_float(numbers));
  return static_cast<std::int32_t>(program_.tensors.size()) - 1;
}

std::int32_t ProgramWriter::step(StepKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> tensors) {
  program_.steps.push_back({kind, std::move(inputs), std::move(tensors)});
  return static_cast<std::int32_t>(program_.steps.size()) + 1;
}

std::int32_t ProgramWriter::linear(std::int32_t input, const StackedLinear& layer, const std::string& name,
                                   std::int64_t member) {
  return step(StepKind::Linear, {input},
              {tensor(name + ".weight", layer.weight_of(member)), tensor(name + ".bias", layer.bias_of(member))});
}

std::int32_t ProgramWriter::standardize(std::int32_t input, const torch::Tensor& mean, const torch::Tensor& deviation,
                                        const std::string& name) {
  const torch::Tensor scale = 1 / deviation;
  return step(StepKind::Affine, {input},
              {tensor(name + ".scale", scale, false), tensor(name + ".shift", -mean * scale, false)});
}

std::int32_t ProgramWriter::batch_norm(std::int32_t input, const torch::nn::BatchNorm1d& norm,
                                       const std::string& name) {
  const torch::Tensor scale = norm->weight / (norm->running_var + norm->options.eps()).sqrt();
  return step(
      StepKind::Affine, {input},
      {tensor(name + ".scale", scale, false), tensor(name + ".shift", norm->bias - norm->running_mean * scale, false)});
}

Result<BundleWriter> ProgramWriter::bundle(BundleManifest manifest) const {
  FORERUN_TRY([[maybe_unused]] const auto registers, check_program(program_));
  if (manifest.kind.empty()) manifest.kind = "gnn";
  manifest.parts["program"] = program_to_json(program_);
  BundleWriter writer(std::move(manifest));
  for (const auto& [name, bytes] : sections_) FORERUN_CHECK(writer.add_section(name, bytes));
  return writer;
}

void round_to_half(torch::nn::Module& module) {
  const torch::NoGradGuard guard;
  for (torch::Tensor& parameter : module.parameters()) parameter.copy_(parameter.to(torch::kHalf).to(torch::kFloat));
}

}  // namespace forerun
