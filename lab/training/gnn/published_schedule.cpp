#include "training/gnn/published_schedule.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace forerun {
namespace {

using Splits = std::vector<std::size_t>;
using Clock = std::chrono::steady_clock;

Splits first(std::size_t count) {
  Splits splits(count);
  std::iota(splits.begin(), splits.end(), std::size_t{0});
  return splits;
}

// Raw targets and inputs, chain edges, Huber loss, Adam at 2.754e-5: the published inference predictor.
PublishedRecipe as_published(std::string name, LayerKind kind, std::int64_t width, int epochs, std::size_t splits) {
  return {.name = std::move(name),
          .kind = kind,
          .log_targets = false,
          .scaled_inputs = false,
          .chain = true,
          .width = width,
          .epochs = epochs,
          .rate = 2.754e-5,
          .falling_rate = false,
          .splits = first(splits)};
}

PublishedRecipe with_logs(std::string name, LayerKind kind, std::int64_t width, int epochs, std::size_t splits) {
  return {.name = std::move(name),
          .kind = kind,
          .pool = Pool::LogSum,
          .loss = Loss::Near,
          .width = width,
          .epochs = epochs,
          .splits = first(splits)};
}

constexpr std::array kKinds = {LayerKind::Gat, LayerKind::Gcn, LayerKind::Gin, LayerKind::Count, LayerKind::Sage};
std::string kind_name(LayerKind kind) { return kind == LayerKind::Count ? "mlp" : std::string(name_of(kind)); }

std::vector<PublishedRecipe> inference_recipes(const PublishedScale& scale) {
  std::vector<PublishedRecipe> recipes;
  for (const LayerKind kind : kKinds)
    recipes.push_back(as_published("as published, " + kind_name(kind) + ", 10 epochs", kind, scale.width, 10, 3));
  for (const LayerKind kind : kKinds)
    recipes.push_back(with_logs("logarithms, " + kind_name(kind) + ", 10 epochs", kind, scale.width, 10, 3));
  recipes.push_back(as_published("as published, sage, 500 epochs", LayerKind::Sage, scale.width, 500, 1));
  return recipes;
}

// From the published recipe to ours, one change at a time; then what may ship.
std::vector<PublishedRecipe> step_recipes(const PublishedScale& scale) {
  const std::int64_t width = scale.shipped_width;
  std::vector<PublishedRecipe> recipes;
  for (const bool sums : {false, true}) {
    PublishedRecipe ship =
        with_logs(sums ? "ship, sum" : "ship, log-sum", LayerKind::Sage, width, 150, kInferenceSplits);
    if (sums) ship.pool = Pool::Sum;
    ship.splits = {kInferenceSplits};
    ship.keep_weights = true;
    recipes.push_back(ship);
  }
  PublishedRecipe step = as_published("1 as published", LayerKind::Sage, width, 50, 3);
  recipes.push_back(step);
  const auto change = [&](const char* name, auto set) {
    set(step);
    step.name = name;
    recipes.push_back(step);
  };
  change("2 rate 1e-3, falling", [](PublishedRecipe& r) { r.rate = 1e-3, r.falling_rate = true; });
  change("3 logarithms of targets", [](PublishedRecipe& r) { r.log_targets = true; });
  change("4 scaled inputs", [](PublishedRecipe& r) { r.scaled_inputs = true; });
  change("5 loss near the absolute error", [](PublishedRecipe& r) { r.loss = Loss::Near; });
  change("6 logarithm of the sum", [](PublishedRecipe& r) { r.pool = Pool::LogSum; });
  change("7 edges of the data flow", [](PublishedRecipe& r) { r.chain = false; });
  change("8 states not scaled to length 1", [](PublishedRecipe& r) { r.unit_states = false; });
  PublishedRecipe mean = step;
  mean.name = "9 mean instead of sum";
  mean.pool = Pool::Mean;
  recipes.push_back(mean);
  recipes.push_back(with_logs("logarithms, sage, width 512, 150 epochs", LayerKind::Sage, scale.width, 150, 1));
  return recipes;
}

struct TrainingCase {
  PublishedRecipe recipe;
  enum Encoder { None, Random, Trained } encoder = None;
};

PublishedRecipe named(PublishedRecipe recipe, const char* name) {
  recipe.name = name;
  return recipe;
}

// Squared error of raw targets, Adam at 1e-3: the published training predictor.
PublishedRecipe published_training(const PublishedScale& scale, std::size_t splits) {
  return {.log_targets = false,
          .unit_states = false,
          .loss = Loss::Squared,
          .width = scale.width,
          .epochs = 100,
          .falling_rate = false,
          .splits = first(splits)};
}
PublishedRecipe training_with_logs(const PublishedScale& scale, std::size_t splits) {
  PublishedRecipe recipe = published_training(scale, splits);
  recipe.log_targets = recipe.falling_rate = true;
  recipe.pool = Pool::LogSum;
  recipe.loss = Loss::Near;
  return recipe;
}

std::vector<TrainingCase> training_cases(const PublishedScale& scale) {
  const PublishedRecipe published = published_training(scale, kTrainingSplits),
                        logs = training_with_logs(scale, kTrainingSplits);
  PublishedRecipe ship = named(logs, "ship, encoder");
  ship.splits = {kTrainingSplits};
  ship.keep_weights = true;
  ship.width = scale.shipped_width;
  PublishedRecipe nnlqp = named(published, "as published, NNLQP"), log_nnlqp = named(logs, "logarithms, NNLQP");
  nnlqp.unit_states = log_nnlqp.unit_states = true;
  PublishedRecipe mlp = named(published, "as published, mlp"), log_mlp = named(logs, "logarithms, mlp");
  mlp.kind = log_mlp.kind = LayerKind::Count;
  return {{ship, TrainingCase::Trained},
          {mlp, TrainingCase::None},
          {log_mlp, TrainingCase::None},
          {named(published, "as published, encoder"), TrainingCase::Trained},
          {named(logs, "logarithms, encoder"), TrainingCase::Trained},
          {nnlqp, TrainingCase::None},
          {log_nnlqp, TrainingCase::None}};
}

std::vector<TrainingCase> training_steps(const PublishedScale& scale) {
  const PublishedRecipe published = published_training(scale, 3), logs = training_with_logs(scale, 3);
  PublishedRecipe blind = named(logs, "logarithms, encoder, without precision and optimiser");
  blind.settings = false;
  PublishedRecipe sums = named(published, "logarithms of targets alone, encoder");
  sums.log_targets = sums.falling_rate = true;
  return {{named(published, "as published, random encoder"), TrainingCase::Random},
          {named(logs, "logarithms, no encoder"), TrainingCase::None},
          {blind, TrainingCase::Trained},
          {sums, TrainingCase::Trained},
          {named(logs, "logarithms, random encoder"), TrainingCase::Random}};
}

class Schedule {
 public:
  Schedule(const PublishedScale& scale, const PublishedPlace& place,
           const std::function<Status(const std::vector<PublishedRun>&)>& done)
      : scale_(scale), place_(place), done_(done) {}

  // Seconds that are left for the next recipe; 0 without a limit, negative when there is no time.
  [[nodiscard]] double left() const {
    if (!(scale_.seconds > 0)) return 0;
    const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
    return scale_.seconds - spent > 3 ? 0.93 * (scale_.seconds - spent) : -1;
  }
  [[nodiscard]] int scaled(int epochs) const { return std::max(1, int(epochs * scale_.epochs)); }

  void expect(std::size_t recipes) { remaining_ = recipes; }

  template <typename Train>
  Status run(PublishedRecipe recipe, Train train) {
    recipe.epochs = scaled(recipe.epochs);
    // Twice an even share of the time that is left: some recipes need little.
    recipe.seconds = left() * std::min(1.0, 2.0 / double(std::max<std::size_t>(1, remaining_)));
    if (remaining_ > 0) --remaining_;
    if (recipe.seconds < 0) {
      place_.say("no time for: " + recipe.name);
      return ok();
    }
    FORERUN_TRY(PublishedRun run, train(recipe));
    place_.say(recipe.name + ": " + std::to_string(run.epochs) + " epochs, " + std::to_string(run.seconds) + " s");
    return add(std::move(run));
  }
  Status add(PublishedRun run) {
    runs_.push_back(std::move(run));
    return done_(runs_);
  }

 private:
  const PublishedScale& scale_;
  const PublishedPlace& place_;
  const std::function<Status(const std::vector<PublishedRun>&)>& done_;
  std::vector<PublishedRun> runs_;
  std::size_t remaining_ = 0;  // recipes
  Clock::time_point start_ = Clock::now();
};

// What the encoder makes of every item of a set, for pictures.
PublishedRun embeddings_of(const PublishedSet& set, GraphEncoder& encoder, const PublishedPlace& place) {
  const torch::NoGradGuard guard;
  PublishedRun run;
  run.name = "embeddings";
  std::vector<float> values;
  for (const GraphTensors& graph : set.graphs) {
    const BatchItem item{&graph, {}};
    const torch::Tensor row = encoder.embed(make_batch({&item, 1}).to(place.device)).cpu().contiguous();
    values.insert(values.end(), row.data_ptr<float>(), row.data_ptr<float>() + row.numel());
  }
  run.tensor_names = {"training"};
  run.tensors.push_back(std::move(values));
  return run;
}

Status train_training_group(const PublishedData& data, bool steps, const PublishedScale& scale,
                            const PublishedPlace& place, Schedule& schedule) {
  const std::vector<GraphTensors> unlabelled(
      data.unlabelled.begin(),
      data.unlabelled.begin() + std::ptrdiff_t(std::min(scale.unlabelled, data.unlabelled.size())));
  const auto encoder_of = [&](std::int64_t width, int epochs) {
    const double left = schedule.left();
    return train_encoder(unlabelled, width, epochs == 0 ? 0 : schedule.scaled(epochs), place,
                         left > 0 ? 0.15 * left : 0);
  };
  FORERUN_TRY(EncoderRun trained, encoder_of(scale.width, 10));
  EncoderRun other;  // of the width that ships; in the steps, with random weights
  if (steps) {
    FORERUN_TRY(other, encoder_of(scale.width, 0));
  } else {
    FORERUN_TRY(other, encoder_of(scale.shipped_width, 10));
    FORERUN_CHECK(schedule.add(trained.run));
    FORERUN_CHECK(schedule.add(embeddings_of(data.training, *trained.encoder, place)));
  }
  const std::vector<TrainingCase> cases = steps ? training_steps(scale) : training_cases(scale);
  schedule.expect(cases.size());
  for (const TrainingCase& one : cases) {
    const bool is_other = one.encoder == TrainingCase::Random || one.recipe.width != scale.width;
    GraphEncoder* encoder = one.encoder == TrainingCase::None ? nullptr
                            : is_other                        ? other.encoder.get()
                                                              : trained.encoder.get();
    FORERUN_CHECK(schedule.run(one.recipe, [&](const PublishedRecipe& recipe) {
      return train_training_design(data.training, recipe, encoder, place);
    }));
  }
  return ok();
}

}  // namespace

Status train_published(const PublishedData& data, std::string_view group, const PublishedScale& scale,
                       const PublishedPlace& place,
                       const std::function<Status(const std::vector<PublishedRun>&)>& done) {
  Schedule schedule(scale, place, done);
  if (std::find(kPublishedGroups.begin(), kPublishedGroups.end(), group) == kPublishedGroups.end())
    return bad_input("the groups of recipes are inference, inference-steps, training and training-steps");
  const bool steps = group.ends_with("-steps");
  if (group.starts_with("training")) return train_training_group(data, steps, scale, place, schedule);
  const std::vector<PublishedRecipe> recipes = steps ? step_recipes(scale) : inference_recipes(scale);
  schedule.expect(recipes.size());
  for (const PublishedRecipe& recipe : recipes) {
    FORERUN_CHECK(schedule.run(
        recipe, [&](const PublishedRecipe& scaled) { return train_inference_design(data.inference, scaled, place); }));
  }
  return ok();
}

}  // namespace forerun
