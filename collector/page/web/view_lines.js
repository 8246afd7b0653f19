/* SPDX-License-Identifier: MIT */
/* Counted lines: runs and time of each line, beside its text. As in the report, own functions come
 * first, then those with the most time of their own. Long functions show their hot lines, and the
 * list stops at a screenful. A chosen function is shown alone and complete. The numbers are exact,
 * for the whole recording. */

const COUNTED = {around: 1, whole: 24, screen: 40, hot: 0.01, buttons: 12};

const counted_functions = () => data.counted ? data.counted.functions : [];

add_field({name: 'counted_of', key: 'lines', initial: -1, write: as_is,
    read: number_below(() => counted_functions().length)});

/* {at, text, hits, ns, self} of each line with a text or a count. */
function counted_lines(one) {
    const ran = one.line.map((at, index) => ({at, text: null, hits: one.hits[index],
        ns: one.ns[index], self: one.self_ns[index]}));
    if (!one.text)
        return ran;
    const by_line = new Map(ran.map((line) => [line.at, line]));
    return one.text.map((text, index) => Object.assign(by_line.get(one.first + index) ||
        {at: one.first + index, hits: 0, ns: 0, self: 0}, {text}));
}

/* The shown lines of a long function: its first line, and hot lines with their neighbours. */
function counted_shown(one, lines, whole) {
    if (whole || lines.length <= COUNTED.whole)
        return lines.map(() => true);
    const hot = lines.map((line) => line.ns > 0 && line.ns >= one.total_ns * COUNTED.hot);
    return lines.map((line, index) => index === 0 && one.text !== undefined ||
        hot.slice(Math.max(0, index - COUNTED.around), index + COUNTED.around + 1).includes(true));
}

function counted_line(one, line) {
    const ran = line.hits > 0 || line.ns > 0, share = one.total_ns ? line.ns / one.total_ns : 0;
    const own = (part) => `color-mix(in srgb, var(--own) ${part}%, transparent)`;
    const number = (shown, kind = '') => el('span', {class: ('number ' + kind).trim(),
        role: 'cell'}, ran ? shown() : null);
    return el('div', {class: 'line', role: 'row'},
        number(() => count_text(line.hits)), number(() => time_cell(line.ns)),
        data.counted.self ? number(() => time_cell(line.self)) : null,
        number(() => line.hits ? time_cell(line.ns / line.hits) : null, 'perhit'),
        number(() => share_text(line.ns, one.total_ns)),
        el('span', share >= COUNTED.hot ? {class: 'heat',
            css: {'background-color': own(Math.round(20 + 80 * Math.sqrt(share)))}} : {}),
        el('span', {class: 'at', role: 'cell'}, String(line.at)),
        el('span', {role: 'cell', css: share >= COUNTED.hot
            ? {'background-color': own((20 * Math.sqrt(share)).toFixed(1))} : {}},
        line.text === null ? null : coloured_code(line.text)));
}

function counted_rows(one, index, lines, shown) {
    const rows = [];
    for (let at = 0; at < lines.length; at++) {
        if (shown[at]) {
            rows.push(counted_line(one, lines[at]));
            continue;
        }
        let end = at;
        while (end < lines.length && !shown[end])
            end++;
        rows.push(el('div', {class: 'gap', role: 'row'}, el('span', {role: 'cell'}, el('button', {
            type: 'button', class: 'link', on: {click: () => go({counted_of: index})}},
        '⋯ ' + counted(end - at, 'line')))));
        at = end - 1;
    }
    return rows;
}

function counted_head() {
    const heads = [['hits', 'how often the line began'], ['time', 'with all that it called'],
        data.counted.self ? ['self', 'without what is traced itself'] : null,
        ['per hit', null, 'perhit'], ['%', 'of the function']].filter(Boolean);
    return el('div', {class: 'line head', role: 'row'}, heads.map(([text, title, kind = '']) =>
        el('span', {class: ('number ' + kind).trim(), role: 'columnheader', title}, text)),
    el('span'), el('span', {class: 'at', role: 'columnheader'}, 'line'),
    el('span', {role: 'columnheader'}, 'source'));
}

/* The panel of a function, and the number of its lines. */
function counted_panel(one, index, whole) {
    const lines = counted_lines(one), shown = counted_shown(one, lines, whole);
    const place = `${one.file}:${one.at}` + (one.text ? '' : ', without its text');
    const panel = el('section', {class: 'counted_of'}, el('div', {class: 'viewhead'},
        el('h3', {}, el('code', {dir: 'auto'}, cut_name(one.name, 100))),
        el('p', {class: 'sub', title: one.path}, place), el('span', {class: 'space'}),
        el('p', {class: 'sub'}, time_text(one.total_ns) + (one.own_ns < one.total_ns
            ? `, self ${time_text(one.own_ns)}` : '') +
            `: ${share_text(one.own_ns, data.counted.own_ns)} of what was counted`)),
    el('div', {class: 'panel source counted' + (data.counted.self ? ' selves' : ''),
        role: 'table', 'aria-label': 'Lines of ' + cut_name(one.name, 100)},
    counted_head(), counted_rows(one, index, lines, shown)));
    return {panel, count: shown.filter(Boolean).length};
}

/* Panels of as many functions as fit on the screen. */
function counted_panels() {
    const panels = [];
    let lines = 0;
    for (const [index, one] of counted_functions().entries()) {
        if (lines >= COUNTED.screen)
            break;
        const {panel, count} = counted_panel(one, index, false);
        panels.push(panel);
        lines += count;
    }
    return panels;
}

/* A list of all functions, the first ones as buttons. */
function counted_list() {
    const all = counted_functions();
    const label = (one) => `${cut_name(one.name, 60)}, ${time_text(one.own_ns)}`;
    const button = (index, ...children) => el('button', {type: 'button', class: 'file',
        'aria-pressed': String(index === state.counted_of),
        on: {click: () => go({counted_of: index})}}, children);
    const rest = all.slice(COUNTED.buttons);
    const menu = rest.length ? el('select', {'aria-label': 'More functions', on: {change:
        (event) => go({counted_of: Number(event.target.value)})}},
    el('option', {value: -1}, counted(rest.length, 'more function')),
    rest.map((one, index) => el('option', {value: index + COUNTED.buttons,
        selected: index + COUNTED.buttons === state.counted_of}, label(one)))) : null;
    return all.length < 2 ? null : el('div', {class: 'files'}, button(-1, 'hottest'),
        all.slice(0, COUNTED.buttons).map((one, index) => button(index, el('span', {dir: 'auto'},
            cut_name(one.name, 60)), ' ', el('span', {class: 'dim'}, time_text(one.own_ns)))),
        menu);
}

function draw_lines(box) {
    const chosen = counted_functions()[state.counted_of];
    const panels = chosen ? [counted_panel(chosen, state.counted_of, true).panel]
        : counted_panels();
    const left = counted_functions().length + data.counted.more - panels.length;
    add_to(box, view_head('Lines', 'how often each line ran and how long that took, counted, ' +
        'not sampled'), ...[counted_list(), ignored_filters('stretch', 'process', 'thread',
        'range', 'task')].filter(Boolean), ...panels,
    notes(!chosen && left > 0 && counted(left, 'more function') + ' with less time.',
        'Time: with all that a line calls.', data.counted.self && 'Self: without functions ' +
        'whose calls are traced or whose lines are counted, too.'));
}

add_view({key: 'lines', title: 'Lines',
    question: 'How often did each line run, and how long did that take?',
    has: () => counted_functions().length > 0,
    draw: draw_lines});
