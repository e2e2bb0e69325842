#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "readers/torch/script_syntax.hpp"

namespace forerun::pytorch {
namespace {

using testing::HasSubstr;

ScriptCode code_of(std::string_view source) {
  ScriptCode code;
  const Status status = parse_script(source, "__torch__", "f.py", code);
  EXPECT_TRUE(status) << status.error().message;
  return code;
}

TEST(ScriptParser, ReadsClassesMethodsAndDefaults) {
  const ScriptCode code = code_of(
      "class M(Module):\n"
      "  __parameters__ = [\"weight\", ]\n"
      "  weight : Tensor\n"
      "  eps : Final[float] = 1.0000000000000001e-05\n"
      "  __annotations__[\"0\"] = __torch__.N\n"
      "  def forward(self: __torch__.M,\n"
      "    x: Tensor,\n"
      "    n: Optional[int]=None) -> Tuple[Tensor, Tensor]:\n"
      "    a, b, = torch.chunk(x, 2, 1)\n"
      "    if torch.__is__(n, None):\n"
      "      c = a\n"
      "    else:\n"
      "      c = b\n"
      "    return (c, x)\n"
      "def free(x: Tensor, scale: float=-2.) -> Tensor:\n"
      "  return torch.mul(x, scale)\n");
  const ScriptClass& m = code.classes.at("__torch__.M");
  EXPECT_EQ(m.parameters, (std::vector<std::string>{"weight"}));
  EXPECT_EQ(m.constants.at("eps").real, 1e-5);
  const ScriptFunction& forward = m.methods.at("forward");
  EXPECT_EQ(forward.parameters, (std::vector<std::string>{"self", "x", "n"}));
  EXPECT_EQ(forward.types[2], "Optional[int]");
  ASSERT_EQ(forward.body.size(), 3U);
  EXPECT_EQ(forward.body[0].target.children.size(), 2U);
  EXPECT_EQ(forward.body[1].otherwise.size(), 1U);
  EXPECT_EQ(forward.body[2].value.kind, Expr::Kind::Tuple);
  EXPECT_EQ(code.functions.at("__torch__.free").defaults[1].real, -2.0);
}

TEST(ScriptParser, TellsTuplesFromBrackets) {
  const ScriptCode code = code_of("def f(x: int) -> int:\n  a = (x)\n  b = (x,)\n  c = (x, 1)\n  return a\n");
  const auto& body = code.functions.at("__torch__.f").body;
  EXPECT_EQ(body[0].value.kind, Expr::Kind::Name);
  EXPECT_EQ(body[1].value.kind, Expr::Kind::Tuple);
  EXPECT_EQ(body[2].value.children.size(), 2U);
}

TEST(ScriptParser, NamesFileAndLineOfAnError) {
  ScriptCode code;
  const Status status = parse_script("def f(x):\n  y = torch.add(x,\n", "__torch__", "f.py", code);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("f.py: line "));
}

TEST(ScriptParser, RefusesNestingWithoutEnd) {
  ScriptCode code;
  const std::string deep = "def f(x):\n  y = " + std::string(5000, '(') + "x" + std::string(5000, ')') + "\n";
  EXPECT_FALSE(parse_script(deep, "__torch__", "f.py", code));
  std::string minus = "def f(x):\n  y = " + std::string(5000, '-') + "x\n";
  EXPECT_FALSE(parse_script(minus, "__torch__", "f.py", code));
}

}  // namespace
}  // namespace forerun::pytorch
