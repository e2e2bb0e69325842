#include "dataset/campaign_facts.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"

namespace forerun {

Result<CampaignFacts> read_campaign_facts(const std::string& folder, const std::string& device) {
  namespace fs = std::filesystem;
  CampaignFacts facts;
  facts.device = device;
  const std::string path = (fs::path(folder) / "campaign.json").string();
  if (fs::exists(path)) {
    FORERUN_TRY(const std::string content, read_text_file(path));
    const auto json = nlohmann::json::parse(content, nullptr, false);
    if (!json.is_object()) return bad_input(path + ": not a JSON object");
    const auto text = [&](const char* key) {
      return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
    };
    if (facts.device.empty()) facts.device = text("device");
    if (text("energy_counter_read") == "beside the run")
      facts.counted.counter_ms = 0;  // else it was read after every pass
    for (const auto& [key, value] :
         {std::pair("host_weight", &facts.host_weight), std::pair("wait_power_w", &facts.counted.wait_w)}) {
      if (!json.contains(key)) continue;
      if (!json[key].is_number() || json[key].get<double>() <= 0)
        return bad_input(path + ": " + key + " is not a positive number");
      *value = json[key].get<double>();
    }
    const nlohmann::json relative =
        json.contains("host_time_relative") ? json["host_time_relative"] : nlohmann::json::object();
    for (const auto& [table, factor] : relative.items()) {
      if (!factor.is_number() || factor.get<double>() <= 0)
        return bad_input(path + ": host_time_relative of " + table + " is not a positive number");
      facts.host_time[table] = factor.get<double>();
    }
  }
  if (facts.device.empty() && fs::path(folder).filename().string().starts_with("h200")) facts.device = "h200-sxm";
  if (facts.device.empty()) return bad_input(folder + ": neither a campaign.json nor an option says the device");
  return facts;
}

}  // namespace forerun
