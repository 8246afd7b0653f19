# SPDX-License-Identifier: MIT
# function: add_row
# kind: cpu
# words: add_row
"""Builds a page by appending to a string attribute of an object: each row copies the page."""


class Page:
    def __init__(self):
        self.text = ""

    def add_row(self, cells):
        self.text = self.text + "<tr>" + "".join(cells) + "</tr>"  # CAUSE


def main():
    page = Page()
    for number in range(9000):
        page.add_row([f"<td>{number * column}</td>" for column in range(8)])
    print(len(page.text))


if __name__ == "__main__":
    main()
