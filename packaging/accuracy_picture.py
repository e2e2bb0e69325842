#!/usr/bin/env python3
"""Draws docs/images/accuracy.svg from the table of docs/accuracy.md: the error of each kind of answer, one bar a row.
`--check` fails where the picture is out of date."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE, PICTURE = ROOT / "docs/accuracy.md", ROOT / "docs/images/accuracy.svg"
WIDTH, LEFT, ROW, MOST = 820, 380, 24, 50.0


def rows_of(text):
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or not re.match(r"[\d,]+$", cells[2]) or "%" not in cells[3]:
            continue
        errors = [float(number) for number in re.findall(r"[\d.]+", cells[3])]
        covered = re.findall(r"\d+", cells[4])
        yield cells[0], errors, covered


def picture(rows):
    height = ROW * len(rows) + 66
    scale = (WIDTH - LEFT - 96) / MOST
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" '
             f'font-size="12" role="img" aria-label="Mean absolute percentage error by kind of answer">',
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
             f'<text x="{LEFT}" y="18" fill="#56636f">mean error (outline: the second figure)</text>'
             f'<text x="{WIDTH - 8}" y="18" text-anchor="end" fill="#56636f">90 % interval covers</text>']
    bottom = 30 + ROW * len(rows)
    for tick in range(0, int(MOST) + 1, 10):
        x = LEFT + tick * scale
        parts += [f'<line x1="{x:.1f}" y1="26" x2="{x:.1f}" y2="{bottom}" stroke="#e8ecef"/>',
                  f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#56636f">{tick} %</text>']
    for index, (name, errors, covered) in enumerate(rows):
        y = 30 + ROW * index
        # Blue: measured on this device; orange: never measured.
        colour = "#2b6cb0" if name.startswith("H200") else "#c2701c"
        width = min(errors[0], MOST) * scale
        parts += [f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end" fill="#17212b">{short(name)}</text>',
                  f'<rect x="{LEFT}" y="{y + 5}" width="{width:.1f}" height="13" fill="{colour}"/>']
        if len(errors) > 1:
            parts.append(f'<rect x="{LEFT}" y="{y + 5}" width="{min(errors[1], MOST) * scale:.1f}" height="13" fill="none" '
                         f'stroke="{colour}"/>')
        end = min(max(errors), MOST) * scale
        parts.append(f'<text x="{LEFT + end + 6:.1f}" y="{y + 15}" fill="#17212b">{" / ".join(f"{e:g}" for e in errors)} %</text>')
        if covered:
            parts.append(f'<text x="{WIDTH - 8}" y="{y + 15}" text-anchor="end" fill="#56636f">{covered[0]} %</text>')
    parts.append(f'<text x="{LEFT}" y="{bottom + 32}"><tspan fill="#2b6cb0">■</tspan> on the H200, which was measured  '
                 f'<tspan fill="#c2701c">■</tspan> elsewhere</text></svg>')
    return "\n".join(parts).replace("&", "&amp;") + "\n"


def short(name):
    name = name.replace("`", "")
    return name if len(name) <= 54 else name[:53].rstrip(" ,") + "…"


text = picture(list(rows_of(PAGE.read_text(encoding="utf-8"))))
if "--check" in sys.argv:
    if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != text:
        sys.exit("docs/images/accuracy.svg is out of date: run packaging/accuracy_picture.py")
else:
    PICTURE.write_text(text, encoding="utf-8")
