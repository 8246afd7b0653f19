/* SPDX-License-Identifier: MIT */
/* Basics for all parts of the page: elements, numbers in the report's format, colours, canvases,
 * the tip. All files of this folder are joined into one strict function, so top-level names are
 * shared. */

const NARROW = '\u202f';

// ---- Elements -----------------------------------------------------------------------------------

/* el('td', {class: 'l', css: {width: '3em'}, on: {click: f}, title: name}, child, [child, ...]).
 * Texts become text nodes, never markup; attributes that are null or false are omitted. */
function el(tag, attributes, ...children) {
    return fill_element(document.createElement(tag), attributes, children);
}

function svg_el(tag, attributes, ...children) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    return fill_element(node, attributes, children);
}

function fill_element(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {}))
        set_attribute(node, name, value);
    add_to(node, children);
    return node;
}

/* Appends nested lists. Skips null, undefined and false, which append() would write as text. */
function add_to(node, ...children) {
    for (const child of children.flat(9))
        if (child !== null && child !== undefined && child !== false)
            node.append(child);
}

function set_attribute(node, name, value) {
    if (value === null || value === undefined || value === false)
        return;
    if (name === 'css') {
        for (const [property, text] of Object.entries(value))
            node.style.setProperty(property, text);
    } else if (name === 'on') {
        for (const [event, listener] of Object.entries(value))
            node.addEventListener(event, listener);
    } else {
        node.setAttribute(name, value === true ? '' : value);
    }
}

// ---- Numbers: the digits of collector/base/number.c ---------------------------------------------

/* Like %.*f: rounds ties to the even digit. */
function fixed(value, decimals) {
    const scaled = value * 10 ** decimals;
    if (!Number.isInteger(value * 2 ** (decimals + 1)) || scaled % 1 !== 0.5)
        return value.toFixed(decimals);
    const below = Math.floor(scaled);
    return ((below % 2 ? below + 1 : below) / 10 ** decimals).toFixed(decimals);
}

const TIME_UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

/* ["348", "ms"], ["0", ""]: three significant digits, one unit. */
function time_parts(ns) {
    if (!(ns > 0))
        return ['0', ''];
    const [size, unit] = TIME_UNITS.find((one) => one[0] === 1 || ns >= one[0] * 0.9995);
    const value = ns / size;
    const decimals = size === 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return [value >= 9999.5 ? count_text(value) : fixed(value, decimals), unit];
}

function time_text(ns) {
    const [digits, unit] = time_parts(ns);
    return unit ? digits + NARROW + unit : digits;
}

/* For columns: the unit has a fixed width, so that digits line up. */
function time_cell(ns) {
    const [digits, unit] = time_parts(ns);
    return [digits, el('span', {class: 'unit'}, unit)];
}

/* "28 %", "4.6 %", "< 0.1 %", "0 %"; "-" if the whole is 0. */
function share_text(part, whole = 1) {
    if (!(whole > 0))
        return '-';
    const percent = 100 * part / whole;
    if (part > 0 && percent < 0.1)
        return '<' + NARROW + '0.1' + NARROW + '%';
    return fixed(percent, percent < 9.95 && part > 0 ? 1 : 0) + NARROW + '%';
}

function count_text(count) {
    return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, NARROW);
}

/* "1 task", "2 tasks"; `plural` is for irregular nouns. */
function counted(count, noun, plural = noun + 's') {
    return count_text(count) + ' ' + (count === 1 ? noun : plural);
}

function size_text(bytes) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
    let unit = 0;
    for (; bytes >= 1023.95 && unit + 1 < units.length; unit++)
        bytes /= 1024;
    return fixed(bytes, unit ? 1 : 0) + NARROW + units[unit];
}

/* Any number in at most five characters: "12", "0.25", "11.6 M". */
function value_text(value) {
    const size = Math.abs(value);
    const unit = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M']].find((one) => size >= one[0]);
    if (unit)
        return (value / unit[0]).toPrecision(3) + NARROW + unit[1];
    if (Number.isInteger(value) || size >= 1000)
        return value < 0 ? '−' + count_text(-value) : count_text(value);
    return String(Number(value.toPrecision(3)));
}

// ---- Colours ------------------------------------------------------------------------------------

let tones = {};

/* The colour of a token of page.css in the current theme, for canvases: tone('own'). */
function tone(name) {
    if (!tones[name])
        tones[name] = getComputedStyle(document.documentElement).getPropertyValue('--' + name)
            .trim();
    return tones[name];
}

const TEXT_FONT = '-apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, ' +
    'sans-serif';
const CODE_FONT = 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace';

/* A small coloured square; the word beside it has the same meaning. */
function swatch(token, more = '') {
    return el('i', {class: ('sw ' + more + (token === 'runnable' ? ' hatch' : '')).trim(),
        css: {'background-color': 'var(--' + token + ')'}});
}

/* parts: [[token, share of the width], ...]. */
function mini_bar(parts, width) {
    return el('span', {class: 'minibar', css: width ? {width} : {}}, parts.map(([token, share]) =>
        el('i', {css: {width: 100 * Math.max(0, Math.min(1, share)) + '%',
            'background-color': 'var(--' + token + ')'}})));
}

// ---- Canvases -----------------------------------------------------------------------------------

const canvases = new Set();
const resized = new ResizeObserver((entries) => {
    for (const {target, contentRect} of entries)
        if (target.known_width !== contentRect.width) {
            target.known_width = 0;
            redraw(target);
        }
});

/* A canvas as wide as its container. options: {label, height: number or f(width), class, draw(g,
 * width, height, canvas)}. Canvases of a view are dropped when they leave the document. */
function canvas_box(options) {
    const canvas = el('canvas', {class: options.class || 'full', role: 'img',
        'aria-label': options.label});
    canvas.options = options;
    canvases.add(canvas);
    resized.observe(canvas);
    return canvas;
}

function draw_canvas(canvas) {
    const {height, draw} = canvas.options;
    const width = canvas.known_width || canvas.clientWidth; // clientWidth forces a layout
    if (!width)
        return;
    const tall = typeof height === 'function' ? height(width) : height;
    const ratio = window.devicePixelRatio || 1;
    const size = [Math.round(width * ratio), Math.round(tall * ratio)];
    const g = canvas.getContext('2d');
    if (canvas.width !== size[0] || canvas.height !== size[1]) {
        [canvas.width, canvas.height] = size;
        g.known_font = null; // the browser has reset the font
    }
    canvas.known_width = width;
    if (canvas.style.height !== tall + 'px')
        canvas.style.height = tall + 'px';
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, tall);
    draw(g, width, tall, canvas);
}

/* Draws the canvas before the next frame, once for any number of calls. */
function redraw(canvas) {
    if (canvas.frame_request)
        return;
    canvas.frame_request = requestAnimationFrame(() => {
        canvas.frame_request = 0;
        if (canvas.isConnected)
            draw_canvas(canvas);
    });
}

function redraw_all() {
    for (const canvas of canvases) {
        if (canvas.isConnected)
            draw_canvas(canvas);
        else
            forget_canvas(canvas);
    }
}

function forget_canvas(canvas) {
    canvases.delete(canvas);
    resized.unobserve(canvas);
}

/* Cuts the text to the width and adds "…"; empty if fewer than five letters fit. */
function fit_label(g, text, width) {
    const short = text.length > 400 ? text.slice(0, 400) : text;
    if (short === text && g.measureText(text).width <= width)
        return text;
    let low = 0, high = short.length;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (g.measureText(short.slice(0, middle) + '…').width <= width)
            low = middle;
        else
            high = middle - 1;
    }
    return low > 4 ? short.slice(0, low) + '…' : '';
}

/* The same for a monospaced font, without measuring. */
function fit_code(text, width, letter) {
    const room = Math.floor(width / letter);
    if (text.length <= room)
        return text;
    return room > 5 ? text.slice(0, room - 1) + '…' : '';
}

const plain_letters = /^[\x20-\x7e]*$/;

/* The step of a time axis with three to width / 110 ticks. */
function axis_step(span, width) {
    const ticks = Math.max(2, width / 110);
    for (let exponent = 0; ; exponent++)
        for (const digit of [1, 2, 5])
            if (span / (digit * 10 ** exponent) <= ticks)
                return digit * 10 ** exponent;
}

/* A time on an axis up to `longest`, with the precision of its steps. */
function axis_label(ns, step, longest) {
    if (ns === 0)
        return '0';
    const [size, unit] = TIME_UNITS.find((one) => one[0] === 1 || longest >= one[0]);
    const decimals = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
    return (ns / size).toFixed(Math.min(9, decimals)) + NARROW + unit;
}

/* A line at height y from x, with times of [from, to] below it. */
function draw_axis(g, place, from, to) {
    const {x, y, width} = place;
    const step = axis_step(to - from, width);
    g.fillStyle = tone('line2');
    g.fillRect(x, y, width, 1);
    g.font = '11px ' + TEXT_FONT;
    g.textBaseline = 'alphabetic';
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
        const at = x + (time - from) / (to - from) * width;
        g.fillStyle = tone('line2');
        g.fillRect(Math.round(at), y, 1, 4);
        const text = axis_label(time, step, to);
        const wide = g.measureText(text).width;
        g.fillStyle = tone('ink3');
        g.fillText(text, Math.max(x, Math.min(x + width - wide, at - wide / 2)), y + 15);
    }
}

// ---- The tip ------------------------------------------------------------------------------------

const tip = el('div', {class: 'tip', role: 'status', hidden: true});

/* Shows the tip at the pointer, or for keys at {clientX, clientY}. */
function show_tip(at, ...children) {
    tip.replaceChildren(...children.flat(9).filter((one) => one !== null && one !== false));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(innerWidth - box.width - 8, at.clientX + 14));
    const below = at.clientY + 18;
    const top = below + box.height > innerHeight ? at.clientY - box.height - 12 : below;
    tip.style.left = left + 'px';
    tip.style.top = Math.max(4, top) + 'px';
}

function hide_tip() {
    if (!tip.hidden)
        tip.hidden = true;
}

/* Cuts a name from the recording for a tip; names can have 10,000 characters. */
function cut_name(text, most = 200) {
    return text.length > most ? text.slice(0, most - 1) + '…' : text;
}
