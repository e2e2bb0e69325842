// The training loop: shuffled batches, Adam, a falling learning rate, early stopping, checkpoints that resume exactly,
// and several processes. It never prints: it reports every epoch to the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "training/gnn/process_group.hpp"

namespace forerun {

struct FitOptions {
  int epochs = 50;
  std::size_t batch = 32;  // items per step, over all processes together
  double learning_rate = 1e-3;
  bool falling_rate =
      true;  // by a cosine to 2 % of it, after a start that rises over 3 % of the epochs; false: constant
  double weight_decay = 0;  // apart from the gradient (AdamW)
  double mean_decay =
      0;  // the network ends with the exponential mean of its weights over the steps; 0: the last weights
  double clip_norm = 0;         // of the gradient; 0: never
  std::uint64_t seed = 1337;    // of shuffling and dropout, epoch by epoch: a resumed run draws the same numbers
  int patience = 0;             // epochs without a better validation loss before it stops; 0: never
  std::string checkpoint = {};  // file to write after every epoch and to go on from when it exists; empty: none
  std::function<void(int)> watch = {};  // called after each epoch (from 1) with the weights the network would end with
  int stop_after = 0;                   // ends early as if interrupted, after this many epochs in all; 0: never
};

struct EpochReport {
  int epoch = 0, epochs = 0;  // from 1
  double train_loss = 0, valid_loss = 0;
  double seconds_left = 0;
};

struct FitResult {
  std::vector<double> train_loss, valid_loss;  // per epoch
  int best_epoch = 0;                          // whose weights the network has at the end, from 1
};

// The sum of the items' losses in an epoch (from 0). REQUIRES: no state besides the network's; random numbers only from
// torch.
using LossOfItems = std::function<torch::Tensor(std::span<const std::size_t> items, int epoch)>;

// Trains `module` on items 0 … count-1, on the device its parameters are on. `validate` (may be empty) gives the loss
// by which the best epoch is chosen.
Result<FitResult> fit(torch::nn::Module& module, std::size_t count, const LossOfItems& loss,
                      const std::function<double()>& validate, const FitOptions& options,
                      const std::function<void(const EpochReport&)>& report = {}, ProcessGroup* group = nullptr);

// The learning rate at which the loss falls fastest in a sweep over `steps` batches; the network is left as it was.
double find_learning_rate(torch::nn::Module& module, std::size_t count, const LossOfItems& loss,
                          const FitOptions& options, int steps = 60);

// "epoch 12/60  loss 0.0123  valid 0.0140  left 1m20s"
[[nodiscard]] std::string progress_line(const EpochReport& report);

}  // namespace forerun
