/* SPDX-License-Identifier: MIT */
/* Source: CPU time, waits and samples beside each line of text. */

const SOURCE_AROUND = 6; // lines shown before and after a line with samples
const source_view = {all: new Set()};

const LINE_TIMES = ['cpu_ns', 'blocked_ns', 'runnable_ns', 'hits'];
const source_cache = {key: null, sources: null};

/* Sources with filtered times; unfiltered ones if there is no filter or time is not split by
 * lines. */
function seen_sources() {
    if (!is_filtered() || !data.lines)
        return data.sources;
    const {key} = filtered();
    if (source_cache.key !== key)
        Object.assign(source_cache, {key, sources: filter_sources()});
    return source_cache.sources;
}

function filter_sources() {
    const sources = data.sources.map((source) => ({...source, ...Object.fromEntries(
        LINE_TIMES.map((name) => [name, new Array(source.text.length).fill(0)]))}));
    const by_id = new Map(sources.map((source) => [source.id, source]));
    const {cpu, off, lines} = data;
    const lets = make_filter();
    const add = (columns, index, name, value) => {
        const number = columns.line[index];
        const source = by_id.get(lines.source[number]);
        const line = source ? lines.line[number] - source.first : -1;
        if (line >= 0 && line < source.text.length)
            source[name][line] += value;
    };
    for (let index = 0; index < cpu.slot.length; index++)
        if (lets(cpu, index)) {
            add(cpu, index, 'cpu_ns', cpu.ns[index]);
            add(cpu, index, 'hits', cpu.count[index]);
        }
    for (let index = 0; index < off.slot.length; index++)
        if (!off.idle[index] && lets(off, index))
            add(off, index, off.cause[index] === runnable_cause ? 'runnable_ns' : 'blocked_ns',
                off.ns[index]);
    return sources;
}

/* Files, largest time first. */
function source_order() {
    const time = (source) => sum_of(source.cpu_ns) + sum_of(source.blocked_ns) +
        sum_of(source.runnable_ns || []);
    const order = seen_sources().map((source, index) => ({index, source,
        cpu: sum_of(source.cpu_ns), time: time(source)}));
    return order.sort((a, b) => b.cpu - a.cpu || b.time - a.time);
}

const sum_of = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/* A byte per line: 1 for lines with samples or time and their neighbours; the others are folded. */
function shown_lines(source) {
    const shown = new Uint8Array(source.text.length);
    source.text.forEach((text, line) => {
        if (!(source.hits[line] || source.cpu_ns[line] || source.blocked_ns[line]))
            return;
        const last = Math.min(shown.length - 1, line + SOURCE_AROUND);
        for (let near = Math.max(0, line - SOURCE_AROUND); near <= last; near++)
            shown[near] = 1;
    });
    return shown;
}

function source_line(source, line, most) {
    const cpu = source.cpu_ns[line] || 0, wait = source.blocked_ns[line] || 0;
    const runnable = source.runnable_ns ? source.runnable_ns[line] || 0 : 0;
    const heat = cpu > 0 ? el('span', {class: 'heat', css: {'background-color': 'color-mix(in ' +
        `srgb, var(--own) ${Math.round(20 + 80 * Math.sqrt(cpu / most.cpu))}%, var(--sunk))`}})
        : wait > 0 ? el('span', {class: 'heat', css: {'background-color': 'color-mix(in srgb, ' +
            `var(--w-lock) ${Math.round(20 + 80 * Math.sqrt(wait / most.wait))}%, ` +
            'var(--sunk))'}}) : el('span');
    const shade = cpu > 0 ? {'background-color': 'color-mix(in srgb, var(--own) ' +
        `${(20 * Math.sqrt(cpu / most.cpu)).toFixed(1)}%, transparent)`} : {};
    return el('div', {class: 'line', role: 'row'},
        el('span', {class: 'number', role: 'cell'}, cpu ? time_cell(cpu) : null),
        el('span', {class: 'number runnable', role: 'cell'}, runnable ? time_cell(runnable) : null),
        el('span', {class: 'number', role: 'cell'}, wait ? time_cell(wait) : null),
        el('span', {class: 'number dim', role: 'cell'}, source.hits[line]
            ? count_text(source.hits[line]) : null), heat,
        el('span', {class: 'at', role: 'cell'}, String(source.first + line)),
        el('span', {role: 'cell', css: shade}, coloured_code(source.text[line])));
}

// Python strings, comments and keywords; other text stays plain.
const CODE_PARTS = new RegExp('("(?:[^"\\\\]|\\\\.)*"|\'(?:[^\'\\\\]|\\\\.)*\')|(#.*$)|' +
    '\\b(def|class|return|yield|await|async|for|while|if|elif|else|in|not|and|or|is|with|as|' +
    'import|from|try|except|finally|raise|lambda|pass|break|continue|None|True|False|global|' +
    'nonlocal|assert|del)\\b', 'g');
const LINE_MOST = 400;

function coloured_code(text) {
    const shown = cut_name(text, LINE_MOST);
    const parts = [];
    let at = 0;
    for (const match of shown.matchAll(CODE_PARTS)) {
        parts.push(shown.slice(at, match.index), el('span', {class: match[1] ? 'string'
            : match[2] ? 'comment' : 'word'}, match[0]));
        at = match.index + match[0].length;
    }
    return el('code', {}, parts, shown.slice(at));
}

function source_lines(source, index) {
    const shown = source_view.all.has(index) ? new Uint8Array(source.text.length).fill(1)
        : shown_lines(source);
    const most = {cpu: Math.max(1, ...source.cpu_ns), wait: Math.max(1, ...source.blocked_ns)};
    const rows = [];
    for (let line = 0; line < shown.length; line++) {
        if (shown[line]) {
            rows.push(source_line(source, line, most));
            continue;
        }
        let end = line;
        while (end < shown.length && !shown[end])
            end++;
        rows.push(gap_row(end - line, index));
        line = end - 1;
    }
    return rows;
}

function gap_row(count, index) {
    const show = () => {
        source_view.all.add(index);
        render_page();
    };
    return el('div', {class: 'gap', role: 'row'}, el('span', {role: 'cell'}, el('button', {
        type: 'button', class: 'link', on: {click: show}}, '⋯ ' + count_text(count) +
            (count === 1 ? ' line' : ' lines'))));
}

function draw_source(box) {
    const order = source_order();
    const chosen = order.find((one) => one.index === state.file) || order[0];
    const {source, index} = chosen;
    const ignored = is_filtered() && !data.lines;
    const empty = !chosen.cpu && !chosen.time;
    add_to(box, view_head('Source', `${time_text(chosen.cpu)} of CPU time in lines of ` +
        `${source.file}, with what libraries do for them` + (ignored
        ? '; filters do not apply here: the recording has too many different stacks' : '')),
    file_list(order, index));
    if (empty && is_filtered())
        add_to(box, empty_text(`No time of ${cut_name(source.file, 60)} passes the filters.`));
    add_to(box, el('div', {class: 'panel source', role: 'table',
        'aria-label': 'Lines of ' + source.file},
        el('div', {class: 'line head', role: 'row'}, ['CPU', 'runnable', 'blocked', 'samples'].map(
            (text) => el('span', {class: 'number ' + text, role: 'columnheader'}, text)),
        el('span'),
        el('span', {class: 'at', role: 'columnheader'}, 'line'),
        el('span', {role: 'columnheader', title: source.path}, source.path)),
        source_lines(source, index)),
    notes('CPU, runnable, blocked: time of a line with what libraries do for it.',
        'Runnable: it could have run, but no processor was free.',
        'Samples: those that count for the line.'));
}

const FILES_MOST = 12;

/* Buttons for the hottest files; a list for the others. */
function file_list(order, index) {
    if (order.length < 2)
        return null;
    const button = (one) => el('button', {type: 'button', class: 'file',
        'aria-pressed': String(one.index === index), title: one.source.path,
        on: {click: () => go({file: one.index})}}, el('span', {dir: 'auto'},
        cut_name(one.source.file, 60)), ' ', el('span', {class: 'dim'},
        time_text(one.cpu || one.time)));
    const rest = order.slice(FILES_MOST);
    const menu = rest.length ? el('select', {'aria-label': 'More files', on: {change: (event) =>
        go({file: Number(event.target.value)})}},
    el('option', {value: -1}, count_text(rest.length) + ' more files'), rest.map((one) =>
        el('option', {value: one.index, selected: one.index === index},
            cut_name(one.source.file, 60) + ', ' + time_text(one.cpu || one.time)))) : null;
    return el('div', {class: 'files'}, order.slice(0, FILES_MOST).map(button), menu);
}

add_view({
    key: 'source', title: 'Source',
    question: 'Which line? CPU time, waits and samples beside the text',
    has: () => data.sources.length > 0 && !data.gpu,
    draw: draw_source,
});
