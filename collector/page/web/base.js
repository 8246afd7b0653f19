// SPDX-License-Identifier: MIT
// What every view needs: the data, and elements that only ever hold text.

function el(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
        element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
}

async function read_data() {
    const text = document.getElementById("data").textContent;
    const bytes = Uint8Array.from(atob(text), (digit) => digit.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
}

read_data().then((data) => {
    document.title = data.title;
    for (const sentence of data.headline.slice(1))
        document.body.append(el("p", {}, sentence));
});
