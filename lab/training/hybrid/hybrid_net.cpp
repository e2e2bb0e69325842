#include "training/hybrid/hybrid_net.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "predictors/hybrid/hybrid_text.hpp"
#include "training/hybrid/matrices.hpp"

namespace forerun {
namespace {

std::string bytes_of(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().to(torch::kFloat).contiguous();
  return {reinterpret_cast<const char*>(plain.data_ptr<float>()), std::size_t(plain.numel()) * sizeof(float)};
}

std::vector<const GraphTensors*> graphs_of(const std::vector<const HybridRow*>& rows) {
  std::vector<const GraphTensors*> graphs;
  for (const HybridRow* row : rows) graphs.push_back(&row->graph);
  return graphs;
}

}  // namespace

HybridNet::HybridNet(const LanguageModel& model, const HybridOptions& chosen) : base(model), options(chosen) {
  gin = register_module("gin", std::make_shared<GinEncoder>(options.gin));
  llama = register_module("llama", std::make_shared<LoraLlama>(model.decoder, options.rank));
  projection = register_module("projection", torch::nn::Linear(options.gin.width, model.decoder.shape.width));
  head = register_module("head", torch::nn::Linear(options.gin.width, 1));
}

torch::Tensor HybridNet::digits_loss(const HybridRow& row, const torch::Tensor& embedding) {
  const std::vector<TokenId> before = base.tokenizer.encode(hybrid_prefix(row.description)),
                             after = base.tokenizer.encode(kHybridSuffix);
  std::vector<TokenId> answer = base.tokenizer.encode(hybrid_answer(row.latency_ms));
  answer.push_back(base.tokenizer.end_of_text());
  const torch::Tensor rows =
      torch::cat({llama->embed(before), projection(embedding), llama->embed(after), llama->embed(answer)});
  const auto start = std::int64_t(before.size() + after.size());  // the row whose logits say the first digit
  const torch::Tensor logits = llama->forward(rows).narrow(0, start, std::int64_t(answer.size()));
  const std::vector<std::int64_t> wanted(answer.begin(), answer.end());
  return torch::nn::functional::cross_entropy(logits, torch::tensor(wanted, torch::kLong));
}

torch::Tensor HybridNet::loss(const std::vector<const HybridRow*>& rows) {
  const torch::Tensor embeddings = gin->forward(make_gin_batch(graphs_of(rows)));
  torch::Tensor sum = torch::zeros({});
  std::vector<float> logs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sum = sum + digits_loss(*rows[i], embeddings.narrow(0, std::int64_t(i), 1));
    logs.push_back(float(std::log(rows[i]->latency_ms)));
  }
  const torch::Tensor off = head(embeddings).squeeze(1) - torch::tensor(logs);
  return sum / double(rows.size()) + options.head_weight * off.pow(2).mean();
}

TrainedHybrid train_hybrid(const LanguageModel& base, const std::vector<HybridRow>& rows, const HybridOptions& options,
                           const std::function<void(const std::string&)>& progress) {
  torch::manual_seed(options.seed);
  TrainedHybrid trained;
  trained.net = std::make_shared<HybridNet>(base, options);
  HybridNet& net = *trained.net;
  std::vector<const HybridRow*> order;
  for (const HybridRow& row : rows) order.push_back(&row);
  std::mt19937_64 draw(options.seed);
  const auto next_batch = [&](std::size_t at) {
    const std::size_t end = std::min(order.size(), at + options.batch);
    return std::vector<const HybridRow*>(order.begin() + std::ptrdiff_t(at), order.begin() + std::ptrdiff_t(end));
  };

  torch::optim::Adam masked(net.gin->parameters(), torch::optim::AdamOptions(options.gnn_rate));
  for (int step = 0; step < options.masked_steps; ++step) {
    std::shuffle(order.begin(), order.end(), draw);
    masked.zero_grad();
    const torch::Tensor loss = net.gin->masked_loss(make_gin_batch(graphs_of(next_batch(0))));
    loss.backward();
    masked.step();
    (step == 0 ? trained.masked_before : trained.masked_after) = loss.item<double>();
  }

  std::vector<torch::optim::OptimizerParamGroup> groups;
  const auto add = [&](const std::vector<torch::Tensor>& parameters, double rate) {
    if (!parameters.empty())
      groups.emplace_back(parameters, std::make_unique<torch::optim::AdamOptions>(torch::optim::AdamOptions(rate)));
  };
  add(net.gin->parameters(), options.gnn_rate);
  add(net.projection->parameters(), options.gnn_rate);
  add(net.head->parameters(), options.gnn_rate);
  add(net.llama->parameters(), options.llm_rate);
  torch::optim::Adam all(groups, torch::optim::AdamOptions(options.gnn_rate));
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), draw);
    double sum = 0;
    for (std::size_t at = 0; at < order.size(); at += options.batch) {
      const std::vector<const HybridRow*> batch = next_batch(at);
      all.zero_grad();
      const torch::Tensor loss = net.loss(batch);
      loss.backward();
      all.step();
      sum += loss.item<double>() * double(batch.size()) / double(order.size());
    }
    (epoch == 0 ? trained.first : trained.last) = sum;
    progress(fmt::format("epoch {}: loss {:.3f}", epoch + 1, sum));
  }
  net.eval();
  return trained;
}

Result<std::string> make_hybrid_bundle(const HybridNet& net, const std::vector<HybridRow>& rows, double half_width) {
  const HybridOptions& options = net.options;
  nlohmann::json platforms = nlohmann::json::object();
  for (const HybridRow& row : rows) platforms[row.device] = row.description;
  BundleManifest manifest{.name = "hybrid", .kind = "hybrid", .metrics = {"latency_ms"}, .schema = hybrid_schema()};
  manifest.parts["architecture"] = nlohmann::json{{"features", options.gin.features}, {"width", options.gin.width},
                                                  {"layers", options.gin.layers},     {"rank", options.rank},
                                                  {"base_sha256", net.base.sha256},   {"half_width", half_width}}
                                       .dump();
  manifest.parts["platforms"] = platforms.dump();
  BundleWriter writer(std::move(manifest));
  for (std::size_t i = 0; i < net.gin->layers.size(); ++i) {
    const GinLayer& layer = *net.gin->layers[i];
    const std::string name = fmt::format("gin{}.", i);
    // The batch norm, as it stands after training, is part of the first product.
    const torch::Tensor scale = layer.norm->weight * torch::rsqrt(layer.norm->running_var + layer.norm->options.eps());
    const std::pair<const char*, torch::Tensor> parts[] = {
        {"first", (layer.first->weight * scale.unsqueeze(1)).t()},
        {"first_bias", (layer.first->bias - layer.norm->running_mean) * scale + layer.norm->bias},
        {"second", layer.second->weight.t()},
        {"second_bias", layer.second->bias},
        {"bends", torch::cat({layer.eps, layer.bend_first->weight, layer.bend_second->weight})}};
    for (const auto& [part, tensor] : parts) FORERUN_CHECK(writer.add_section(name + part, bytes_of(tensor)));
  }
  FORERUN_CHECK(writer.add_section("projection", bytes_of(net.projection->weight.t())));
  FORERUN_CHECK(writer.add_section("projection_bias", bytes_of(net.projection->bias)));
  FORERUN_CHECK(writer.add_section("head", bytes_of(torch::cat({net.head->weight.flatten(), net.head->bias}))));
  const Lora lora = net.llama->lora();
  for (std::size_t i = 0; i < lora.size(); ++i) {
    for (std::size_t p = 0; p < kProjections; ++p) {
      for (const bool is_down : {true, false}) {
        const Matrix& matrix = is_down ? lora[i][p].down : lora[i][p].up;
        FORERUN_CHECK(
            writer.add_section(fmt::format("lora{}.{}.{}", i, kProjectionNames[p], is_down ? "down" : "up"),
                               {reinterpret_cast<const char*>(matrix.data()), std::size_t(matrix.size()) * 4}));
      }
    }
  }
  return writer.bytes();
}

}  // namespace forerun
