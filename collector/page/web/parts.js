/* SPDX-License-Identifier: MIT */
/* Parts shared by views: heads, switches, tables, histograms, notes. */

/* The head of a view or section: title, sentence, and controls at the right. */
function view_head(title, sentence, ...controls) {
    return el('div', {class: 'viewhead'}, el('h2', {}, title),
        sentence ? el('p', {class: 'sub'}, sentence) : null,
        el('span', {class: 'space'}), controls);
}

/* A group of buttons with one pressed: seg('time', 'What is shown', [['cpu', 'CPU'], ['wall',
 * 'wall']]). */
function seg(field, label, choices) {
    return el('span', {class: 'seg', role: 'group', 'aria-label': label},
        choices.map(([value, text, title]) => el('button', {type: 'button', title,
            'aria-pressed': String(state[field] === value),
            on: {click: () => go({[field]: value, ...(field === 'mode' ? {} : {zoom: -1})})}},
        text)));
}

function time_switch() {
    return data.off.slot.length === 0 ? null : seg('time', 'Time', [
        ['cpu', 'CPU', 'time on a processor (C)'],
        ['wall', 'wall', 'with waiting, and runnable without a processor (C)']]);
}

function own_switch() {
    return seg('own', 'Code', [[false, 'all code', 'every function (M)'],
        [true, 'my code', 'only functions of your own files (M)']]);
}

function tool_button(text, title, click) {
    return el('button', {type: 'button', class: 'tool', title, on: {click}}, text);
}

/* columns: [[title, class, width], ...]; rows: elements of table_row(); rest: cells of the last
 * row, for the remainder. */
function simple_table(columns, rows, rest) {
    return el('table', {class: 'fixed'},
        el('colgroup', {}, columns.map(([, , width]) => el('col', {css: width ? {width} : {}}))),
        el('thead', {}, el('tr', {}, columns.map(([title, kind]) =>
            title ? el('th', {class: kind || null, scope: 'col'}, title)
                : el('td', {class: kind || null})))),
        el('tbody', {}, rows, rest ? el('tr', {class: 'rest'}, rest) : null));
}

/* choose: called by click or Enter; on: the row is chosen. */
function table_row(cells, choose, on, title) {
    if (!choose)
        return el('tr', {title}, cells);
    const keydown = (event) => {
        if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            choose();
        }
    };
    return el('tr', {title, tabindex: 0, class: on ? 'on' : null,
        'aria-current': on ? 'true' : null,
        on: {click: (event) => !event.target.closest('a, button') && choose(), keydown}}, cells);
}

const cell = (...children) => el('td', {}, children);
const left_cell = (...children) => el('td', {class: 'l'}, children);

const PLACE_MOST = 20;

/* Shortens a long path at its begin, as file and line are at its end. */
function short_place(text) {
    if (text.length <= PLACE_MOST)
        return text;
    const slash = text.indexOf('/', text.length - PLACE_MOST);
    return slash >= 0 ? '…' + text.slice(slash) : cut_name(text, 80);
}

/* The location of a function, a link to its source if that was recorded. */
function place_cell(one, line) {
    const text = place_of(one, line);
    const source = source_of(one);
    const shown = short_place(text);
    return el('td', {class: 'place', title: cut_name(text, 1000)}, source < 0 ? shown
        : el('a', {href: address({view: 'source', file: source, zoom: -1})}, shown));
}

function notes(...parts) {
    return el('div', {class: 'foot'}, parts.flat().filter(Boolean).map((part) =>
        el('span', {}, part)));
}

const legend_entry = (token, ...text) => el('span', {class: 'key'}, swatch(token), text.flat());

/* 32 bins, four per decade from 1 us; heights on a square root scale. */
function histogram(bins, width, height = 20) {
    const most = Math.max(1, ...bins);
    const step = width / bins.length;
    const bar = (count, index) => {
        const tall = Math.max(1.5, (height - 2) * Math.sqrt(count / most));
        return svg_el('rect', {x: index * step, y: height - 1 - tall, height: tall,
            width: Math.max(1, step - 0.8), fill: 'var(--run1)'});
    };
    const all = bins.reduce((sum, count) => sum + count, 0);
    return svg_el('svg', {width, height, role: 'img', class: 'histogram',
        'aria-label': 'how long: ' + count_text(all) + ' from 1 µs to 100 s'},
    svg_el('line', {x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5,
        stroke: 'var(--line2)'}),
    bins.map((count, index) => count ? bar(count, index) : null));
}

const FILTER_WORDS = {stretch: 'a stretch of time', process: 'a process', thread: 'a thread',
    range: 'a range', task: 'a task'};

/* A note if any of these filters is set but ignored by the numbers here. */
function ignored_filters(...names) {
    const set = names.filter((name) => state[name] !== '' && state[name] !== -1)
        .map((name) => FILTER_WORDS[name]);
    if (!set.length)
        return null;
    const list = set.length > 1 ? set.slice(0, -1).join(', ') + ' and ' + set[set.length - 1]
        : set[0];
    return el('p', {class: 'sub note ignored'}, `Numbers here are not filtered by ${list}.`);
}

/* A sentence for a view that is empty under these filters. */
function empty_text(text) {
    return el('p', {class: 'nothing'}, text, ' ', is_filtered()
        ? el('button', {type: 'button', class: 'link', on: {click: clear_filters}},
            'Remove the filters') : null);
}

function clear_filters() {
    go({stretch: '', thread: -1, process: -1, range: '', task: ''});
}
