#include "predictors/hybrid/hybrid_predictor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

#include "features/node_encoding.hpp"
#include "predictors/hybrid/hybrid_text.hpp"
#include "predictors/roofline/roofline_predictor.hpp"

namespace forerun {

struct HybridPredictor::Base {
  std::once_flag once;
  std::optional<Result<LanguageModel>> model;
};

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostWidth = 1 << 14, kMostLayers = 64;
constexpr std::int64_t kMostDigits = 20;

Matrix bent(Matrix x, float slope) { return (x.array() > 0).select(x.array(), slope * x.array()); }

// Reads sections of a known size.
class Sections {
 public:
  explicit Sections(const Bundle& bundle) : bundle_(bundle) {}
  [[nodiscard]] Result<Matrix> matrix(const std::string& name, std::int64_t rows, std::int64_t columns) const {
    FORERUN_TRY(const std::string_view bytes, bundle_.section(name));
    if (rows < 1 || columns < 1 || bytes.size() != std::size_t(rows * columns) * sizeof(float))
      return bad_input(fmt::format("{}: section '{}' is not of {} x {}", bundle_.file_name(), name, rows, columns));
    Matrix matrix(rows, columns);
    std::memcpy(matrix.data(), bytes.data(), bytes.size());
    if (!matrix.allFinite()) return bad_input(bundle_.file_name() + ": section '" + name + "' is not finite");
    return matrix;
  }

 private:
  const Bundle& bundle_;
};

// Layers until one has no matrices. The base decides the matrices' other sizes; they are checked when it is loaded.
Result<Lora> read_lora(const Bundle& bundle, const Sections& sections, std::int64_t rank) {
  Lora lora;
  for (bool is_there = rank > 0; is_there;) {
    LoraLayer layer;
    is_there = false;
    for (std::size_t p = 0; p < kProjections; ++p) {
      const std::string name = fmt::format("lora{}.{}", lora.size(), kProjectionNames[p]);
      const auto down = bundle.section(name + ".down"), up = bundle.section(name + ".up");
      if (!down || !up) continue;
      is_there = true;
      const auto others = [&](std::string_view bytes) { return std::int64_t(bytes.size() / sizeof(float)) / rank; };
      FORERUN_TRY(layer[p].down, sections.matrix(name + ".down", others(*down), rank));
      FORERUN_TRY(layer[p].up, sections.matrix(name + ".up", rank, others(*up)));
    }
    if (is_there) lora.push_back(std::move(layer));
  }
  return lora;
}

}  // namespace

Result<HybridPredictor> HybridPredictor::load(const Bundle& bundle) {
  FORERUN_CHECK(bundle.check_schema(hybrid_schema()));
  FORERUN_TRY(const std::string_view architecture, bundle.part("architecture"));
  FORERUN_TRY(const std::string_view platforms, bundle.part("platforms"));
  const Json sizes = Json::parse(architecture, nullptr, false), described = Json::parse(platforms, nullptr, false);
  const auto damaged = [&] { return bad_input(bundle.file_name() + ": the manifest of the hybrid is damaged"); };
  const auto number = [&](const char* key) {
    return sizes.is_object() && sizes.contains(key) && sizes[key].is_number_integer() ? sizes[key].get<std::int64_t>()
                                                                                      : -1;
  };
  const std::int64_t features = number("features"), width = number("width"), layers = number("layers"),
                     rank = number("rank");
  if (features != kTrainingNodeWidth || width < 1 || width > kMostWidth || layers < 1 || layers > kMostLayers ||
      rank < 0 || rank > 1024 || !described.is_object() || !sizes.contains("base_sha256") ||
      !sizes["base_sha256"].is_string() || !sizes.contains("half_width") || !sizes["half_width"].is_number())
    return damaged();
  HybridPredictor made;
  made.name_ = bundle.manifest().name;
  made.base_sha256_ = sizes["base_sha256"].get<std::string>();
  made.half_width_ = sizes["half_width"].get<double>();
  if (!(made.half_width_ > 0) || made.half_width_ > 10) return damaged();
  for (const auto& [device, text] : described.items()) {
    if (!text.is_string()) return damaged();
    made.platforms_.emplace(device, text.get<std::string>());
  }
  const Sections sections(bundle);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("gin{}.", i);
    GinWeights layer;
    FORERUN_TRY(layer.first, sections.matrix(name + "first", i == 0 ? features : width, width));
    FORERUN_TRY(layer.first_bias, sections.matrix(name + "first_bias", 1, width));
    FORERUN_TRY(layer.second, sections.matrix(name + "second", width, width));
    FORERUN_TRY(layer.second_bias, sections.matrix(name + "second_bias", 1, width));
    FORERUN_TRY(const Matrix bends, sections.matrix(name + "bends", 1, 3));
    layer.eps = bends(0, 0), layer.bend_first = bends(0, 1), layer.bend_second = bends(0, 2);
    made.layers_.push_back(std::move(layer));
  }
  FORERUN_TRY(const std::string_view bias, bundle.section("projection_bias"));
  const auto model_width = std::int64_t(bias.size() / sizeof(float));
  FORERUN_TRY(made.projection_, sections.matrix("projection", width, model_width));
  FORERUN_TRY(made.projection_bias_, sections.matrix("projection_bias", 1, model_width));
  FORERUN_TRY(made.head_, sections.matrix("head", 1, width + 1));
  FORERUN_TRY(made.lora_, read_lora(bundle, sections, rank));
  made.loaded_ = std::make_shared<Base>();
  return made;
}

Result<const LanguageModel*> HybridPredictor::base() const {
  std::call_once(loaded_->once, [&] {
    const std::string path = language_model_path().string();
    auto model = load_language_model(path);
    if (model && model->sha256 != base_sha256_) {
      loaded_->model.emplace(bad_input(path + ": not the language model that predictor '" + name_ +
                                       "' was trained on: its SHA-256 is another"));
    } else if (model && model->decoder.shape.width != projection_.cols()) {
      loaded_->model.emplace(bad_input("predictor '" + name_ + "': its projection does not fit its language model"));
    } else if (const Status fits = model ? check_lora(model->decoder, lora_) : ok(); !fits) {
      loaded_->model.emplace(fits.error());
    } else {
      loaded_->model.emplace(std::move(model));
    }
  });
  if (!*loaded_->model) return loaded_->model->error();
  return &**loaded_->model;
}

Status HybridPredictor::covers(const PredictorInput& input) const {
  if (input.workload.training || input.graph.written_run)
    return bad_input("predictor '" + name_ + "' knows inference of recorded graphs only; use 'roofline'");
  if (platforms_.contains(input.device.id)) return ok();
  std::string known;
  for (const auto& [device, text] : platforms_) known += (known.empty() ? "" : ", ") + device;
  return bad_input("predictor '" + name_ + "' was not trained on " + input.device.id + ", but on: " + known);
}

Eigen::RowVectorXf HybridPredictor::embed(const Graph& graph, const Workload& workload) const {
  const GraphTensors tensors = encode_training_nodes(graph, workload, EdgeKind::DataFlow);
  if (tensors.nodes == 0) return Eigen::RowVectorXf::Zero(layers_.back().second.cols());
  Matrix x = Eigen::Map<const Matrix>(tensors.node_features.data(), tensors.nodes, tensors.node_width);
  for (const GinWeights& layer : layers_) {
    Matrix sum = (1 + layer.eps) * x;
    for (std::int32_t node = 0; node < tensors.nodes; ++node) {
      for (const std::int32_t source : tensors.sources.row(node)) sum.row(node) += x.row(source);
    }
    const Matrix hidden = bent((sum * layer.first).rowwise() + layer.first_bias, layer.bend_first);
    x = bent((hidden * layer.second).rowwise() + layer.second_bias, layer.bend_second);
  }
  return x.colwise().mean();
}

double HybridPredictor::head_ms(const Eigen::RowVectorXf& embedding) const {
  const Eigen::Index width = embedding.size();
  return std::exp(std::clamp(double(embedding.dot(head_.head(width)) + head_(width)), -20.0, 20.0));
}

Result<Answer> HybridPredictor::predict(const PredictorInput& input) const {
  FORERUN_TRY(const LanguageModel* model, base());
  const Eigen::RowVectorXf embedding = embed(input.graph, input.workload);
  const double head = head_ms(embedding);
  Decoding decoding(model->decoder, &lora_);
  const std::string& description = platforms_.find(input.device.id)->second;
  const Matrix before = decoding.embed(model->tokenizer.encode(hybrid_prefix(description))),
               after = decoding.embed(model->tokenizer.encode(kHybridSuffix));
  Matrix rows(before.rows() + 1 + after.rows(), before.cols());
  rows << before, embedding * projection_ + projection_bias_, after;
  const TokenId end = model->tokenizer.end_of_text();
  FORERUN_TRY(std::vector<TokenId> ids, decode_greedily(decoding, rows, kMostDigits, end, input.cancel));
  if (!ids.empty() && ids.back() == end) ids.pop_back();
  const std::optional<double> read = parse_hybrid_answer(model->tokenizer.decode(ids));
  Answer answer = analytic_answer(input);
  const double ms = read.value_or(head), half = half_width_ + std::abs(std::log(head / ms));
  answer.estimates.set(Metric::Latency, {ms, ms * std::exp(-half), ms * std::exp(half), Basis::Learned, name_});
  answer.warnings.push_back(read ? fmt::format("the regression head beside the digits says {:.3g} ms", head)
                                 : "the language model wrote no number: the regression head answers");
  return answer;
}

}  // namespace forerun
