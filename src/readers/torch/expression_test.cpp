#include "readers/torch/expression.hpp"

#include <gtest/gtest.h>

namespace forerun::pytorch {
namespace {

std::optional<std::int64_t> value_of(std::string_view text, const Bindings& bound) {
  const auto expression = Expression::parse(text);
  return expression ? expression->evaluate(bound) : std::nullopt;
}

TEST(Expression, EvaluatesPythonsSpellingAndSymPys) {
  const Bindings bound = {{"s0", 7}, {"s1", 3}};
  EXPECT_EQ(value_of("4*s0 + 1", bound), 29);
  EXPECT_EQ(value_of("((s0//2))", bound), 3);
  EXPECT_EQ(value_of("-s0//2", bound), -4);
  EXPECT_EQ(value_of("s0*(s1 - 1)**2", bound), 28);
  EXPECT_EQ(value_of("Max(1, s0 - 10)", bound), 1);
  EXPECT_EQ(value_of("Mod(s0, 4)", bound), 3);
  EXPECT_EQ(value_of("Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(-1))", bound), 13);
  EXPECT_EQ(value_of("FloorDiv(Symbol('s0', integer=True), Integer(2))", bound), 3);
}

TEST(Expression, IsUnknownWithoutItsSymbolsAndWhereItHasNoValue) {
  EXPECT_EQ(value_of("u0 + 1", {}), std::nullopt);
  EXPECT_EQ(value_of("1//s0", {{"s0", 0}}), std::nullopt);
  EXPECT_EQ(value_of("s0**60", {{"s0", 10}}), std::nullopt);
}

TEST(Expression, SolvesForItsOnlySymbol) {
  const auto expression = Expression::parse("Mul(Integer(4), Symbol('s39', positive=True))");
  ASSERT_TRUE(expression);
  EXPECT_EQ(expression->text(), "4*s39");
  EXPECT_EQ(expression->only_symbol(), "s39");
  EXPECT_EQ(expression->solve(224), 56);
  EXPECT_EQ(expression->solve(226), std::nullopt);
  EXPECT_EQ(Expression::parse("s0//2 + 1")->solve(5), 8);
  EXPECT_EQ(Expression::parse("s0*s1")->solve(6), std::nullopt);
}

TEST(Expression, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "s0 +", "sin(s0)", "Symbol(s0)", "4 *", "(((", "s0 s1", "1e400"})
    EXPECT_FALSE(Expression::parse(text)) << text;
  EXPECT_FALSE(Expression::parse(std::string(1000, '(') + "1" + std::string(1000, ')')));
}

}  // namespace
}  // namespace forerun::pytorch
