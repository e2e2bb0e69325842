#include "store/store.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "store/postgres_store.hpp"
#include "store/schema.hpp"
#include "store/sqlite_store.hpp"

namespace forerun {
namespace {

bool is_clean_text(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5U == 6 ? 2 : lead >> 4U == 14 ? 3 : lead >> 3U == 30 ? 4 : 0;
    if (lead == 0 || length == 0 || i + length > text.size()) return false;
    char32_t code = length == 1 ? lead : lead & (0x7fU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6U != 2) return false;
      code = code << 6U | (next & 0x3fU);
    }
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

}  // namespace

bool settings_match(const std::map<std::string, std::string>& wanted, const Measurement& row) {
  for (const auto& [name, value] : wanted) {
    const auto found = row.settings.find(name);
    if (found == row.settings.end() || found->second != value) return false;
  }
  return true;
}

Status check_row(const Measurement& row) {
  const std::string where = fmt::format("row '{}' of campaign '{}'", row.row_id, row.campaign);
  if (row.campaign.empty() || row.row_id.empty() || row.device.empty()) {
    return bad_input(where + ": campaign, row_id and device may not be empty");
  }
  for (const std::string* text : {&row.campaign, &row.row_id, &row.device, &row.network, &row.family, &row.graph,
                                  &row.workload_hash, &row.status, &row.source, &row.license, &row.measured_at}) {
    if (!is_clean_text(*text)) return bad_input(where + ": text that is not valid UTF-8");
  }
  for (const auto* map : {&row.settings, &row.software}) {
    for (const auto& [name, value] : *map) {
      if (!is_clean_text(name) || !is_clean_text(value)) return bad_input(where + ": text that is not valid UTF-8");
    }
  }
  for (const auto& [name, value] : row.metrics) {
    if (!is_clean_text(name)) return bad_input(where + ": text that is not valid UTF-8");
    if (!std::isfinite(value)) return bad_input(fmt::format("{}: metric '{}' is not a finite number", where, name));
  }
  return ok();
}

Result<std::vector<Measurement>> Store::query(const StoreFilter& filter) {
  std::vector<Measurement> rows;
  const auto keep = [&](const Measurement& row) -> Status {
    rows.push_back(row);
    return ok();
  };
  FORERUN_CHECK(visit(filter, keep));
  return rows;
}

Result<std::optional<Measurement>> Store::find_exact(const std::string& workload_hash, const std::string& device,
                                                     const std::map<std::string, std::string>& settings) {
  std::optional<Measurement> best;
  if (workload_hash.empty() || device.empty()) return best;
  const auto keep_newest = [&](const Measurement& row) -> Status {
    if (!best || row.measured_at > best->measured_at) best = row;
    return ok();
  };
  FORERUN_CHECK(
      visit({.device = device, .workload_hash = workload_hash, .status = "ok", .settings = settings}, keep_newest));
  return best;
}

Result<std::unique_ptr<Store>> open_store(const std::string& url, OpenMode mode) {
  if (url.starts_with("postgresql://") || url.starts_with("postgres://")) return open_postgres(url, mode);
  const std::string path = url.starts_with("sqlite:") ? url.substr(7) : url;
  if (path.empty()) return bad_input("the store's address is empty: give a file or postgresql://…");
  if (path.find("://") != std::string::npos) {
    return bad_input(url + ": not a store: give a file, sqlite:PATH or postgresql://…");
  }
  return open_sqlite(path, mode);
}

std::string now_iso() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace forerun
