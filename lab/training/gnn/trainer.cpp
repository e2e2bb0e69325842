#include "training/gnn/trainer.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <numeric>
#include <random>

#include "training/gnn/flat_adam.hpp"

namespace forerun {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<torch::Tensor> state_of(torch::nn::Module& module) {
  std::vector<torch::Tensor> state = module.parameters();
  for (const torch::Tensor& buffer : module.buffers()) state.push_back(buffer);
  return state;
}

std::vector<torch::Tensor> copy_of(torch::nn::Module& module) {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& tensor : state_of(module)) copies.push_back(tensor.detach().clone());
  return copies;
}

void restore(torch::nn::Module& module, const std::vector<torch::Tensor>& copies) {
  const torch::NoGradGuard guard;
  std::vector<torch::Tensor> state = state_of(module);
  for (std::size_t i = 0; i < state.size(); ++i) state[i].copy_(copies[i]);
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// One step over `items`; returns the sum of their losses, still on its device. With several processes each takes every
// world-th item and the sums of gradients and losses are exchanged, so that all take the same step as one process
// would.
Result<torch::Tensor> take_step(FlatAdam& optimizer, std::span<const std::size_t> items, const LossOfItems& loss,
                                int epoch, double rate, double clip_norm, ProcessGroup* group) {
  std::vector<std::size_t> mine(items.begin(), items.end());
  if (group != nullptr) {
    mine.clear();
    for (auto i = static_cast<std::size_t>(group->rank()); i < items.size();
         i += static_cast<std::size_t>(group->world()))
      mine.push_back(items[i]);
  }
  optimizer.zero_grad();
  torch::Tensor total = torch::zeros({}, optimizer.gradient().options());
  const double count = static_cast<double>(items.size());
  if (!mine.empty()) {
    const torch::Tensor value = loss(mine, epoch);
    (value / count).backward();
    total = value.detach();
  }
  if (group != nullptr) {
    torch::Tensor& gradient = optimizer.gradient();
    torch::Tensor flat = torch::cat({gradient, total.reshape({1})}).to(torch::kCPU, torch::kDouble);
    FORERUN_CHECK(group->sum(flat));
    gradient.copy_(flat.narrow(0, 0, gradient.numel()));
    total = flat[gradient.numel()];
  }
  optimizer.step(rate, clip_norm);
  return total;
}

double rate_in(const FitOptions& options, int epoch) {
  if (!options.falling_rate) return options.learning_rate;
  const double start = std::min(1.0, (epoch + 1) / (1 + 0.03 * options.epochs));
  return options.learning_rate * start *
         (0.02 + 0.98 * 0.5 * (1 + std::cos(std::numbers::pi * epoch / options.epochs)));
}

struct Progress {
  int done = 0;  // epochs
  FitResult result;
  std::vector<torch::Tensor> best;
};

Status save_checkpoint(const std::string& path, torch::nn::Module& module, FlatAdam& optimizer,
                       const Progress& progress) {
  try {
    torch::serialize::OutputArchive archive, buffers, state, best;
    for (std::size_t i = 0; i < module.buffers().size(); ++i) buffers.write(std::to_string(i), module.buffers()[i]);
    for (std::size_t i = 0; i < optimizer.state().size(); ++i) state.write(std::to_string(i), optimizer.state()[i]);
    for (std::size_t i = 0; i < progress.best.size(); ++i) best.write(std::to_string(i), progress.best[i]);
    archive.write("buffers", buffers);
    archive.write("optimizer", state);
    archive.write("best", best);
    archive.write("done", torch::tensor(progress.done));
    archive.write("best_epoch", torch::tensor(progress.result.best_epoch));
    archive.write("train_loss", torch::tensor(progress.result.train_loss, torch::kDouble));
    archive.write("valid_loss", torch::tensor(progress.result.valid_loss, torch::kDouble));
    archive.save_to(path + ".new");
  } catch (const std::exception& error) {
    return Error{ErrorKind::Io, fmt::format("{}: cannot write the checkpoint: {}", path, error.what())};
  }
  if (std::rename((path + ".new").c_str(), path.c_str()) != 0)
    return Error{ErrorKind::Io, path + ": cannot write the checkpoint"};
  return ok();
}

std::vector<double> read_curve(torch::serialize::InputArchive& archive, const char* key) {
  torch::Tensor values;
  archive.read(key, values);
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

Result<Progress> load_checkpoint(const std::string& path, torch::nn::Module& module, FlatAdam& optimizer) {
  Progress progress;
  try {
    torch::serialize::InputArchive archive, buffers, state, best;
    archive.load_from(path);
    archive.read("buffers", buffers);
    archive.read("optimizer", state);
    archive.read("best", best);
    const torch::NoGradGuard guard;
    const auto fill = [](torch::serialize::InputArchive& from, const std::vector<torch::Tensor>& into) {
      for (std::size_t i = 0; i < into.size(); ++i) {
        torch::Tensor tensor;
        if (!from.try_read(std::to_string(i), tensor) || tensor.sizes() != into[i].sizes()) return false;
        torch::Tensor target = into[i];
        target.copy_(tensor);
      }
      return true;
    };
    if (!fill(state, optimizer.state()) || !fill(buffers, module.buffers()))
      return bad_input(path + ": a checkpoint of another network; remove it to start anew");
    for (std::size_t i = 0; i < state_of(module).size(); ++i) {
      torch::Tensor tensor;
      if (!best.try_read(std::to_string(i), tensor)) break;
      progress.best.push_back(tensor);
    }
    torch::Tensor number;
    archive.read("done", number);
    progress.done = number.item<int>();
    archive.read("best_epoch", number);
    progress.result.best_epoch = number.item<int>();
    progress.result.train_loss = read_curve(archive, "train_loss");
    progress.result.valid_loss = read_curve(archive, "valid_loss");
  } catch (const std::exception& error) {
    return bad_input(fmt::format("{}: not a checkpoint of this network; remove it to start anew ({})", path,
                                 std::string_view(error.what()).substr(0, std::string_view(error.what()).find('\n'))));
  }
  return progress;
}

}  // namespace

Result<FitResult> fit(torch::nn::Module& module, std::size_t count, const LossOfItems& loss,
                      const std::function<double()>& validate, const FitOptions& options,
                      const std::function<void(const EpochReport&)>& report, ProcessGroup* group) {
  if (count == 0 || options.batch == 0 || options.epochs <= 0) return bad_input("nothing to train on");
  FlatAdam optimizer(module, options.weight_decay, options.mean_decay);
  Progress progress;
  if (!options.checkpoint.empty() && std::filesystem::exists(options.checkpoint)) {
    FORERUN_TRY(progress, load_checkpoint(options.checkpoint, module, optimizer));
  }
  const int done_before = progress.done;
  const Clock::time_point start = Clock::now();
  FitResult& result = progress.result;
  for (int epoch = progress.done; epoch < options.epochs; ++epoch) {
    if (options.stop_after > 0 && epoch >= options.stop_after) return result;
    if (options.patience > 0 && !result.valid_loss.empty() && epoch - result.best_epoch >= options.patience) break;
    const std::uint64_t epoch_seed = options.seed * 1'000'003 + static_cast<std::uint64_t>(epoch);
    torch::manual_seed(epoch_seed);
    module.train();
    const std::vector<std::size_t> order = shuffled(count, epoch_seed);
    torch::Tensor sum;
    for (std::size_t at = 0; at < count; at += options.batch) {
      const std::span<const std::size_t> items = std::span(order).subspan(at, std::min(options.batch, count - at));
      FORERUN_TRY(const torch::Tensor total,
                  take_step(optimizer, items, loss, epoch, rate_in(options, epoch), options.clip_norm, group));
      sum = sum.defined() ? sum + total : total;
    }
    result.train_loss.push_back(sum.item<double>() / static_cast<double>(count));
    module.eval();
    optimizer.swap_mean();
    if (validate) {
      const torch::NoGradGuard guard;
      result.valid_loss.push_back(validate());
      if (result.best_epoch == 0 ||
          result.valid_loss.back() < result.valid_loss[static_cast<std::size_t>(result.best_epoch) - 1]) {
        result.best_epoch = epoch + 1;
        progress.best = copy_of(module);
      }
    } else {
      result.best_epoch = epoch + 1;
      if (epoch + 1 == options.epochs) progress.best = copy_of(module);
    }
    if (options.watch) {
      const torch::NoGradGuard guard;
      options.watch(epoch + 1);
    }
    optimizer.swap_mean();
    progress.done = epoch + 1;
    const bool writes = !options.checkpoint.empty() && (group == nullptr || group->rank() == 0);
    if (writes) FORERUN_CHECK(save_checkpoint(options.checkpoint, module, optimizer, progress));
    if (report) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const double left = seconds / (progress.done - done_before) * (options.epochs - progress.done);
      report({progress.done, options.epochs, result.train_loss.back(),
              result.valid_loss.empty() ? 0 : result.valid_loss.back(), left});
    }
  }
  if (!progress.best.empty()) restore(module, progress.best);
  module.eval();
  return result;
}

double find_learning_rate(torch::nn::Module& module, std::size_t count, const LossOfItems& loss,
                          const FitOptions& options, int steps) {
  const std::vector<torch::Tensor> before = copy_of(module);
  constexpr double kFirst = 1e-5, kLast = 0.3;
  FlatAdam optimizer(module, 0, 0);
  torch::manual_seed(options.seed);
  module.train();
  const std::vector<std::size_t> order = shuffled(count, options.seed);
  double smooth = 0, least = 0, steepest = 0, best_rate = options.learning_rate;
  for (int i = 0; i < steps; ++i) {
    const double rate = kFirst * std::pow(kLast / kFirst, static_cast<double>(i) / (steps - 1));
    std::vector<std::size_t> items;
    for (std::size_t k = 0; k < std::min(options.batch, count); ++k)
      items.push_back(order[(static_cast<std::size_t>(i) * options.batch + k) % count]);
    const auto total = take_step(optimizer, items, loss, 0, rate, options.clip_norm, nullptr);
    if (!total) break;
    const double mean = total->item<double>() / static_cast<double>(items.size());
    if (!std::isfinite(mean)) break;
    const double previous = smooth;
    smooth = i == 0 ? mean : 0.8 * smooth + 0.2 * mean;
    if (i == 0 || smooth < least) least = smooth;
    if (smooth > 3 * least) break;
    if (i > 3 && smooth - previous < steepest) {
      steepest = smooth - previous;
      best_rate = rate;
    }
  }
  restore(module, before);
  return best_rate;
}

std::string progress_line(const EpochReport& report) {
  const auto seconds = static_cast<long>(report.seconds_left + 0.5);
  return fmt::format("epoch {}/{}  loss {:.4f}  valid {:.4f}  left {}m{:02}s", report.epoch, report.epochs,
                     report.train_loss, report.valid_loss, seconds / 60, seconds % 60);
}

}  // namespace forerun
