# SPDX-License-Identifier: MIT
"""The colours of the page's style as C: css_tokens.py OUTPUT FILE.

The style has them twice, for light and for dark: `--own-ink: #fff;` in a rule with data-theme=light
and in one with data-theme=dark. They become `#define TONE_OWN_INK "#fff", "#1d0d03"`.
"""

import re
import sys


def read(text, theme):
    rule = re.search(rf"^:root[^{{]*\[data-theme={theme}\] \{{(.*?)^\}}", text, re.S | re.M)
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", rule[1]))


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    light, dark = read(text, "light"), read(text, "dark")
    if light.keys() != dark.keys():
        sys.exit(f"{sys.argv[2]}: in one theme only: {sorted(light.keys() ^ dark.keys())}")
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write("/* SPDX-License-Identifier: MIT */\n/* Made by css_tokens.py. */\n")
        for name, colour in light.items():
            macro = "TONE_" + name.upper().replace("-", "_")
            out.write(f'#define {macro} "{colour}", "{dark[name]}"\n')


if __name__ == "__main__":
    main()
