// The one writer of SVG pictures: shapes in pixels, and charts with a scale on each axis.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forerun {

[[nodiscard]] std::string svg_escaped(std::string_view text);
[[nodiscard]] std::string_view svg_color(std::size_t i);  // of the i-th series; repeats after twelve

enum class Anchor { Start, Middle, End };
struct SvgLine {
  std::string_view color = "#444";
  double width = 1;
  bool is_dashed = false;
};

// Shapes in pixels from the top left corner.
class SvgPicture {
 public:
  SvgPicture(double width, double height, std::string_view title, double title_x);
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::Start);
  void vertical_text(double x, double y, std::string_view text);  // upwards, centred
  void polyline(const std::vector<std::pair<double, double>>& points, const SvgLine& line);
  void rectangle(double x, double y, double width, double height, std::string_view fill,
                 std::string_view stroke = "none");
  // `hint` appears under the pointer.
  void circle(double x, double y, double radius, std::string_view fill, double opacity = 1, std::string_view hint = "");
  [[nodiscard]] std::string svg() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

struct SvgAxis {
  std::string label;
  double low = 0, high = 1;
  bool is_logarithmic = true;
  [[nodiscard]] double share(double value) const;  // 0 at low, 1 at high, not limited to that
};

struct SvgFrame {  // of a chart: its plot, and margins around that
  double width = 600, height = 400, left = 70, right = 200, top = 40, bottom = 56;
};

// A plot with a frame, axis labels and a legend to its right. Values outside the axes are drawn outside the frame.
class SvgChart {
 public:
  using Frame = SvgFrame;
  SvgChart(std::string_view title, SvgAxis x, SvgAxis y, const Frame& frame = {});
  [[nodiscard]] double x(double value) const { return frame_.left + frame_.width * x_.share(value); }
  [[nodiscard]] double y(double value) const { return frame_.top + frame_.height * (1 - y_.share(value)); }
  // A line across the plot and its label at the axis; empty: the number.
  void x_tick(double value, std::string_view label = "");
  void y_tick(double value, std::string_view label = "");
  void x_decades();  // REQUIRES: a logarithmic axis
  void y_decades();
  void curve(const std::vector<std::pair<double, double>>& points, const SvgLine& line);
  void dot(double x, double y, double radius, std::string_view color, double opacity = 0.65,
           std::string_view hint = "");
  void legend_line(const SvgLine& line, std::string_view label);
  void legend_dot(std::string_view color, std::string_view label);
  [[nodiscard]] SvgPicture& picture() { return picture_; }
  [[nodiscard]] std::string svg() const { return picture_.svg(); }

 private:
  [[nodiscard]] double legend_x() const { return frame_.left + frame_.width + 12; }
  double next_legend_y();
  SvgAxis x_, y_;
  SvgFrame frame_;
  SvgPicture picture_;
  int legend_rows_ = 0;
};

}  // namespace forerun
