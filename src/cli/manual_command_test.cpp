#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

std::string manual(const std::string& kind) {
  std::istringstream in;
  std::ostringstream out, err;
  EXPECT_EQ(run_cli({"manual", kind}, in, out, err), 0) << err.str();
  return out.str();
}

TEST(Manual, ThePageInDocsIsUpToDate) {
  std::ifstream file(FORERUN_SOURCE_DIR "/docs/forerun.1");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_TRUE(page.str() == manual("--man")) << "an option changed: build/forerun manual --man > docs/forerun.1";
}

TEST(Manual, CompletionsListEveryOptionAndChoice) {
  const std::string bash = manual("--bash");
  const std::string zsh = manual("--zsh");
  for (const Option& option : all_options()) {
    EXPECT_NE(bash.find("--" + std::string(option.name)), std::string::npos) << option.name;
    EXPECT_NE(zsh.find("--" + std::string(option.name) + "["), std::string::npos) << option.name;
  }
  EXPECT_NE(bash.find("\"eager graph compiled engine\""), std::string::npos);
  EXPECT_NE(zsh.find("(eager graph compiled engine)"), std::string::npos);
}

TEST(Manual, JsonListsEveryOptionOfEveryCommandThatTakesIt) {
  // inspect, predict, mig, roofline, advise, plan
  constexpr unsigned kTaken[] = {kInspect, kPredictAll, kMig, kRoofline, kAdviseAll, kPlanAll};
  const auto listing = nlohmann::json::parse(manual("--json"));
  for (const Option& option : all_options()) {
    std::size_t takers = 0;
    for (const auto& command : listing["commands"]) {
      for (const auto& row : command["options"]) takers += row["request"] == true && row["name"] == option.name ? 1 : 0;
    }
    const auto takes = [&](unsigned commands) { return (commands & option.commands) != 0; };
    EXPECT_EQ(takers, std::size_t(std::ranges::count_if(kTaken, takes))) << option.name;
  }
}

TEST(Manual, NeedsExactlyOneKind) {
  std::istringstream in;
  std::ostringstream out, err;
  EXPECT_EQ(run_cli({"manual"}, in, out, err), 2);
  EXPECT_EQ(run_cli({"manual", "--man", "--zsh"}, in, out, err), 2);
}

}  // namespace
}  // namespace forerun
