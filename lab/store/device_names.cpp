// Other people's names of devices. Where a name is less exact than ours, the note says why this one was chosen; rows
// keep the name they came with (settings: device_as_named).
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "store/import_format.hpp"

namespace forerun {
namespace {

constexpr std::array kNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
    {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
    {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
    {"NVIDIA H100 80GB HBM3", "h100-sxm"},
    {"NVIDIA H200", "h200-sxm"},
    {"Tesla P100-PCIE-16GB", "p100"},
    {"Tesla P4", "p4"},
    {"Tesla T4", "t4"},
    {"Tesla V100-PCIE-32GB", "v100-pcie-32gb"},
    {"AMD Instinct MI100", "mi100"},
    {"AMD Instinct MI210", "mi210"},
    {"a100_sxm", "a100-sxm-80gb"},  // AIConfigurator's system file has 80 GB
    {"h100_sxm", "h100-sxm"},
    {"b200_sxm", "b200"},
    {"b300_sxm", "b300"},
    {"rtx_pro_6000_server", "rtx-pro-6000-server"},
    {"b60", "arc-b60"},
    {"a100", "a100-sxm-80gb"},  // Vidur's DGX; HW-GPT-Bench does not say more
    {"h100", "h100-sxm"},
    {"a100_dgx", "a100-sxm-80gb"},
    {"h100_dgx", "h100-sxm"},
    {"a100_pairwise_nvlink", "a100-pcie-80gb"},
    {"h100_pairwise_nvlink", "h100-nvl"},
    {"a40_pairwise_nvlink", "a40"},
    {"a100_40gb", "a100-sxm-40gb"},
    {"a100_80gb", "a100-sxm-80gb"},
    {"h100_80gb", "h100-sxm"},
    {"a100-80gb", "a100-sxm-80gb"},  // Splitwise: DGX machines
    {"h100-80gb", "h100-sxm"},
    {"h100-80gb-pcap", "h100-sxm"},  // with a power cap
    {"a6000", "rtx-a6000"},
    {"P100", "p100"},
    {"p100_unconsolidated", "p100"},
    {"k80_unconsolidated", "k80"},
    {"v100", "v100-sxm-16gb"},  // Gavel: AWS p3; Zeus and HW-GPT-Bench do not say more
    {"v100_unconsolidated", "v100-sxm-16gb"},
    {"rtx2080", "rtx-2080"},
    {"rtx3080", "rtx-3080"},
    {"rtx3090", "rtx-3090"},
    {"rtx4090", "rtx-4090"},
    {"rtx6000", "quadro-rtx-6000"},
    {"pro6000maxq", "rtx-pro-6000-max-q"},
    {"i9_10940x", "core-i9-10940x"},
    {"i7_12700h", "core-i7-12700h"},
    {"1080ti", "gtx-1080-ti"},
    {"2080ti", "rtx-2080-ti"},
    {"titan_rtx", "titan-rtx"},
    {"titanx", "titan-x-pascal"},
    {"titanxp", "titan-xp"},
    {"titan_xp", "titan-xp"},
    {"gold_6226", "xeon-gold-6226"},
    {"gold_6240", "xeon-gold-6240"},
    {"silver_4114", "xeon-silver-4114"},
    {"silver_4210r", "xeon-silver-4210r"},
});

}  // namespace

std::string device_id_of(std::string_view spelled) {
  for (const auto& [name, id] : kNames) {
    if (name == spelled) return std::string(id);
  }
  std::string id;
  for (const char c : spelled) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
    id += is_upper ? static_cast<char>(c - 'A' + 'a') : is_plain ? c : '-';
  }
  return id;
}

}  // namespace forerun
