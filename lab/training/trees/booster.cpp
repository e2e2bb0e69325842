#include "training/trees/booster.hpp"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace forerun {
namespace {

Status check(int status, const char* what) {
  if (status == 0) return ok();
  return internal_error(fmt::format("XGBoost: {}: {}", what, XGBGetLastError()));
}

class Data {
 public:
  ~Data() {
    if (handle_ != nullptr) XGDMatrixFree(handle_);
  }
  Data() = default;
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  Status load(const RowMatrix& matrix) {
    return check(XGDMatrixCreateFromMat_omp(matrix.values.data(), matrix.rows(), matrix.width,
                                            std::numeric_limits<float>::quiet_NaN(), &handle_, 1),
                 "rows");
  }
  Status set(const char* field, std::span<const float> values) {
    if (values.empty()) return ok();
    return check(XGDMatrixSetFloatInfo(handle_, field, values.data(), values.size()), field);
  }
  [[nodiscard]] DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

class Booster {
 public:
  ~Booster() {
    if (handle_ != nullptr) XGBoosterFree(handle_);
  }
  Booster() = default;
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  Status create(const Data& data, const TreeParameters& p, float base) {
    DMatrixHandle handles[] = {data.handle()};
    FORERUN_CHECK(check(XGBoosterCreate(handles, 1, &handle_), "create"));
    std::string monotone;
    for (const int m : p.monotone) monotone += (monotone.empty() ? "(" : ",") + std::to_string(m);
    const std::vector<std::pair<const char*, std::string>> settings = {
        {"booster", "gbtree"},
        {"tree_method", "hist"},
        {"nthread", "1"},
        {"verbosity", "0"},
        {"seed", std::to_string(p.seed)},
        {"max_depth", std::to_string(p.max_depth)},
        {"eta", fmt::format("{}", p.eta)},
        {"subsample", fmt::format("{}", p.subsample)},
        {"colsample_bytree", fmt::format("{}", p.colsample)},
        {"min_child_weight", fmt::format("{}", p.min_child_weight)},
        {"lambda", fmt::format("{}", p.lambda)},
        {"max_bin", std::to_string(p.max_bins)},
        {"base_score", fmt::format("{}", base)},
        {"objective", p.huber_slope > 0 ? "reg:pseudohubererror" : "reg:squarederror"}};
    for (const auto& [name, value] : settings)
      FORERUN_CHECK(check(XGBoosterSetParam(handle_, name, value.c_str()), name));
    if (p.huber_slope > 0)
      FORERUN_CHECK(
          check(XGBoosterSetParam(handle_, "huber_slope", fmt::format("{}", p.huber_slope).c_str()), "huber_slope"));
    if (!monotone.empty())
      FORERUN_CHECK(check(XGBoosterSetParam(handle_, "monotone_constraints", (monotone + ")").c_str()), "monotone"));
    return ok();
  }
  Status update(int round, const Data& data) {
    return check(XGBoosterUpdateOneIter(handle_, round, data.handle()), "round");
  }
  Status boost(const Data& data, std::span<float> first, std::span<float> second) {
    return check(XGBoosterBoostOneIter(handle_, data.handle(), first.data(), second.data(), first.size()), "round");
  }

  // Scores of the rounds [begin, end); end 0 = all.
  Status predict(const Data& data, int begin, int end, std::vector<float>& out) {
    const std::string config = fmt::format(
        R"({{"type": 1, "training": false, "iteration_begin": {}, "iteration_end": {}, "strict_shape": false}})", begin,
        end);
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* values = nullptr;
    FORERUN_CHECK(check(
        XGBoosterPredictFromDMatrix(handle_, data.handle(), config.c_str(), &shape, &dimensions, &values), "predict"));
    bst_ulong count = 1;
    for (bst_ulong d = 0; d < dimensions; ++d) count *= shape[d];
    out.assign(values, values + count);
    return ok();
  }

  // The trees of the first `rounds` rounds (0: all).
  Result<TreeNodes> take(float base, int rounds) {
    const char* bytes = nullptr;
    bst_ulong size = 0;
    FORERUN_CHECK(check(XGBoosterSaveModelToBuffer(handle_, R"({"format": "json"})", &size, &bytes), "save"));
    const auto json = nlohmann::json::parse(bytes, bytes + size, nullptr, false);
    if (json.is_discarded()) return internal_error("XGBoost: its model is not JSON");
    const auto& trees = json["learner"]["gradient_booster"]["model"]["trees"];
    TreeNodes out;
    out.base = base;
    std::size_t count = 0;
    for (const auto& tree : trees) {
      if (rounds > 0 && count++ >= std::size_t(rounds)) break;
      append(tree, out);
    }
    return out;
  }

 private:
  // XGBoost numbers nodes as they were split; ours lie breadth first with the children of a node side by side.
  static void append(const nlohmann::json& tree, TreeNodes& out) {
    const auto& left = tree["left_children"];
    const auto& right = tree["right_children"];
    const auto& values = tree["split_conditions"];
    const auto& features = tree["split_indices"];
    const auto& missing = tree["default_left"];
    const auto& weight = tree["sum_hessian"];
    const std::size_t base = out.nodes.size();
    std::vector<int> order = {0};
    out.nodes.emplace_back();
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto from = std::size_t(order[i]);
      TreeNode node;
      node.value = values[from].get<float>();
      if (left[from].get<int>() >= 0) {
        node.children = std::uint32_t(out.nodes.size());
        node.feature = std::uint16_t(features[from].get<int>());
        node.missing_left =
            std::uint16_t(missing[from].is_boolean() ? missing[from].get<bool>() : missing[from].get<int>() != 0);
        order.push_back(left[from].get<int>());
        order.push_back(right[from].get<int>());
        out.nodes.resize(out.nodes.size() + 2);
      }
      out.nodes[base + i] = node;
    }
    out.roots.push_back(std::uint32_t(base));
    out.means.resize(out.nodes.size());
    for (std::size_t i = order.size(); i-- > 0;) {
      const TreeNode& node = out.nodes[base + i];
      if (node.children == 0) {
        out.means[base + i] = node.value;
        continue;
      }
      const double a = weight[std::size_t(order[node.children - base])].get<double>();
      const double b = weight[std::size_t(order[node.children + 1 - base])].get<double>();
      const double all = a + b > 0 ? a + b : 1;
      out.means[base + i] = float((a * out.means[node.children] + b * out.means[node.children + 1]) / all);
    }
  }

  BoosterHandle handle_ = nullptr;
};

float mean_of(const TrainingRows& rows) {
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < rows.targets.size(); ++i) {
    const double w = rows.weights.empty() ? 1.0 : double(rows.weights[i]);
    sum += w * rows.targets[i];
    weight += w;
  }
  return weight > 0 ? float(sum / weight) : 0.0F;
}

double mean_error(std::span<const float> scores, std::span<const float> targets) {
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) sum += std::abs(scores[i] - targets[i]);
  return sum / double(std::max<std::size_t>(1, scores.size()));
}

Status check_rows(const RowMatrix& matrix, std::size_t targets) {
  if (matrix.rows() == 0 || matrix.rows() != targets)
    return bad_input("training needs as many targets as rows, and at least one");
  if (matrix.width > std::numeric_limits<std::uint16_t>::max()) return bad_input("too many columns");
  return ok();
}

Result<CheckedTrees> train(const TrainingRows& rows, const TreeParameters& p, const TrainingRows* validation,
                           bool keep_predictions) {
  FORERUN_CHECK(check_rows(*rows.features, rows.targets.size()));
  Data data;
  FORERUN_CHECK(data.load(*rows.features));
  FORERUN_CHECK(data.set("label", rows.targets));
  FORERUN_CHECK(data.set("weight", rows.weights));
  Data held;
  const bool stops = validation != nullptr && p.early_stopping > 0;
  if (stops) FORERUN_CHECK(held.load(*validation->features));
  const float base = mean_of(rows);
  Booster booster;
  FORERUN_CHECK(booster.create(data, p, base));
  std::vector<float> scores, part;
  double best = std::numeric_limits<double>::infinity();
  int best_round = 0;
  for (int round = 0; round < p.rounds; ++round) {
    FORERUN_CHECK(booster.update(round, data));
    if (!stops) continue;
    FORERUN_CHECK(booster.predict(held, round, round + 1, part));
    if (scores.empty()) scores.assign(part.size(), base);
    for (std::size_t i = 0; i < part.size(); ++i) scores[i] += part[i] - base;
    const double error = mean_error(scores, validation->targets);
    if (error < best) {
      best = error;
      best_round = round + 1;
    } else if (round + 1 - best_round >= p.early_stopping) {
      break;
    }
  }
  CheckedTrees result;
  FORERUN_TRY(result.trees, booster.take(base, best_round));
  if (keep_predictions) FORERUN_CHECK(booster.predict(data, 0, 0, result.predictions));
  return result;
}

}  // namespace

RowMatrix take_rows(const RowMatrix& matrix, std::span<const std::size_t> rows) {
  RowMatrix out;
  out.width = matrix.width;
  out.values.reserve(rows.size() * matrix.width);
  for (const std::size_t i : rows) out.add(matrix.row(i));
  return out;
}

Result<TreeNodes> train_trees(const TrainingRows& rows, const TreeParameters& parameters,
                              const TrainingRows* validation) {
  FORERUN_TRY(CheckedTrees trained, train(rows, parameters, validation, false));
  return std::move(trained.trees);
}

Result<CheckedTrees> train_trees_checked(const TrainingRows& rows, const TreeParameters& parameters) {
  return train(rows, parameters, nullptr, true);
}

Result<TreeNodes> train_trees(const RowMatrix& features, const TreeParameters& p, const Gradients& gradients) {
  FORERUN_CHECK(check_rows(features, features.rows()));
  Data data;
  FORERUN_CHECK(data.load(features));
  Booster booster;
  FORERUN_CHECK(booster.create(data, p, 0));
  std::vector<float> scores(features.rows(), 0), first(features.rows()), second(features.rows()), part;
  for (int round = 0; round < p.rounds; ++round) {
    gradients(scores, first, second);
    FORERUN_CHECK(booster.boost(data, first, second));
    FORERUN_CHECK(booster.predict(data, round, round + 1, part));
    for (std::size_t i = 0; i < part.size(); ++i) scores[i] += part[i];
  }
  return booster.take(0, 0);
}

}  // namespace forerun
