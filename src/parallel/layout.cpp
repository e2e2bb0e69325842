#include "parallel/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace forerun {
namespace {

constexpr std::int64_t kMostDevices = 65536;
constexpr std::array<std::string_view, std::size_t(Checkpointing::Count)> kCheckpointing = {"none", "selective",
                                                                                            "full"};
constexpr std::array<std::string_view, std::size_t(Schedule::Count)> kSchedules = {"1f1b", "gpipe"};

template <typename Enum, std::size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional(Enum(found - names.begin()));
}

}  // namespace

std::string_view name_of(Checkpointing checkpointing) { return kCheckpointing[std::size_t(checkpointing)]; }
std::string_view name_of(Schedule schedule) { return kSchedules[std::size_t(schedule)]; }
std::optional<Checkpointing> parse_checkpointing(std::string_view name) {
  return parse<Checkpointing>(kCheckpointing, name);
}
std::optional<Schedule> parse_schedule(std::string_view name) { return parse<Schedule>(kSchedules, name); }

Result<Parallelism> choose_layout(std::int64_t gpus, Parallelism asked, std::int64_t heads, std::int64_t link_domain) {
  for (const std::int64_t degree : {asked.tensor, asked.pipeline, asked.data, asked.context, asked.expert}) {
    if (degree > kMostDevices) return bad_input(fmt::format("more than {} devices", kMostDevices));
  }
  if (gpus > 1 && asked.devices() == 1) {
    if (heads > 0) {
      for (std::int64_t tensor = std::min(gpus, link_domain); tensor > 1; --tensor) {
        if (gpus % tensor != 0 || heads % tensor != 0) continue;
        asked.tensor = tensor;
        break;
      }
    }
    asked.data = gpus / asked.tensor;
  } else if (gpus > 1 && gpus % asked.devices() == 0 && asked.data == 1) {
    asked.data = gpus / asked.devices();  // what is left are copies
  }
  if (asked.devices() > kMostDevices) return bad_input(fmt::format("more than {} devices", kMostDevices));
  if (gpus > 1 && asked.devices() != gpus) {
    return bad_input(
        fmt::format("{} devices: tensor x pipeline x context x data parallelism is {}", gpus, asked.devices()));
  }
  if (asked.data % asked.expert != 0) {
    return bad_input(fmt::format(
        "--expert-parallel {}: experts are spread over copies, so it must divide the data parallelism of {}",
        asked.expert, asked.data));
  }
  return asked;
}

Status check_layout(bool divides_layers, std::int64_t layers, const Parallelism& layout) {
  if (!divides_layers && (layout.tensor > 1 || layout.pipeline > 1 || layout.context > 1 || layout.expert > 1)) {
    return bad_input(
        "tensor, pipeline, context and expert parallelism need a language model's configuration; other networks take "
        "--data-parallel");
  }
  if (layout.pipeline > 1 && layout.pipeline > layers)
    return bad_input(fmt::format("--pipeline-parallel {}: the network has {} layers", layout.pipeline, layers));
  return ok();
}

std::int64_t largest_share(std::int64_t batch, std::int64_t copies) {
  return std::max<std::int64_t>(1, (batch + copies - 1) / copies);
}

std::vector<StageShare> list_stages(const Parallelism& layout, std::int64_t layers) {
  StageShare whole;
  whole.shard.tensor = layout.tensor;
  whole.shard.expert = layout.expert;
  whole.shard.context = layout.context;
  if (layout.pipeline <= 1) return {whole};
  const std::int64_t stages = layout.pipeline, each = layers / stages, more = layers % stages;
  const auto stage = [&](std::int64_t index, std::int64_t count) {
    StageShare share = whole;
    share.shard.first_layer = index * each + std::min(index, more);
    share.shard.layers = each + (index < more ? 1 : 0);
    share.first_stage = index;
    share.stages = count;
    return share;
  };
  std::vector<StageShare> kinds = {stage(0, 1)};
  // Of the inner stages the first has the most layers.
  if (stages > 2) kinds.push_back(stage(1, stages - 2));
  kinds.push_back(stage(stages - 1, 1));
  return kinds;
}

}  // namespace forerun
