/* SPDX-License-Identifier: MIT */
/* The timeline: the state of each thread over time, and the causes of its waits.
 *
 * Each row is a separate canvas, drawn only while it is visible. Pointer line, chosen stretch and
 * labels are elements, so moving the pointer does not redraw. */

const timeline = {from: 0, to: 0, rows: [], drawn: new Set(), palette: null, box: null,
    picked: null};
const SHORTEST_NS = 2000;
const NOTED_NAME = 16; // letters: a longer name leaves no room for the note

add_field({name: 'at', key: 'at', initial: '', write: as_is, read: (text) => {
    const match = /^(\d{1,16})-(\d{1,16})$/.exec(text);
    return match && Number(match[1]) < Number(match[2]) &&
        Number(match[2]) <= data.facts.wall_ns ? text : undefined;
}});

/* A time window for links from other views: a little wider than the stretch. */
function window_around(begin, length) {
    const wall = data.facts.wall_ns;
    const margin = Math.max(length, SHORTEST_NS) * 0.6;
    const from = Math.max(0, Math.floor(begin - margin));
    return from + '-' + Math.min(wall, Math.ceil(begin + length + margin));
}

function draw_timeline(box) {
    name_hues = name_hues || hues_of_names();
    const [from, to] = state.at ? state.at.split('-').map(Number) : [0, data.facts.wall_ns];
    Object.assign(timeline, {from, to, rows: timeline_rows(), drawn: new Set(),
        palette: null});
    const body = el('div', {class: 'tl-body', tabindex: 0, role: 'group',
        'aria-label': 'Timeline. Arrow keys walk rows and ranges, Enter zooms to a range, ' +
            'W and S zoom, A and D move. The tables of threads and ranges have the same.'});
    timeline.axis = canvas_box({label: 'Axis of time', height: 34, draw: draw_timeline_axis});
    timeline.marks = {pointer: el('div', {class: 'tl-pointer', hidden: true},
        el('span', {class: 'tl-time'})), stretch: el('div', {class: 'tl-stretch', hidden: true}),
    drag: el('div', {class: 'tl-drag', hidden: true}, el('span', {}))};
    body.append(el('div', {class: 'tl-axis'}, el('div', {class: 'tl-gutter'}), timeline.axis),
        ...timeline.rows.map(timeline_row_el), el('div', {class: 'tl-over'},
            Object.values(timeline.marks)));
    timeline.body = body;
    timeline.detail = el('div', {class: 'tl-detail', 'aria-live': 'polite'});
    requestAnimationFrame(() => {
        const dock = document.querySelector('.dock');
        body.style.setProperty('--dock', (dock ? dock.offsetHeight : 0) + 'px');
    });
    listen_to_timeline(body);
    add_to(box, timeline_head(), el('div', {class: 'panel tl-panel'}, body), timeline.detail,
        timeline_legend());
    restore_picked();
    place_stretch();
}

function timeline_head() {
    const zoom = (text, label, key) => el('button', {class: 'tool', 'aria-label': label,
        title: label, on: {click: () => move_timeline(key)}}, text);
    return el('div', {class: 'viewhead'}, el('h2', {}, 'Timeline'), found_ranges(),
        el('span', {class: 'space'}),
        el('span', {class: 'sub wide'}, 'Wheel or ', el('kbd', {}, 'W'), ' ',
            el('kbd', {}, 'S'), ' zooms, ', el('kbd', {}, 'A'), ' ', el('kbd', {}, 'D'),
            ' moves, a drag filters all views'),
        zoom('−', 'zoom out (S)', 's'), zoom('+', 'zoom in (W)', 'w'),
        el('button', {class: 'tool', on: {click: () => set_window(0, data.facts.wall_ns)}},
            'Show all'));
}

/* The number of drawn ranges that match the search; the others are faint. */
function found_ranges() {
    if (!state.query)
        return null;
    const {lit} = timeline_palette();
    const count = total_of(data.lanes, (lane) =>
        lane.name_of.reduce((sum, name) => sum + Number(lit[name]), 0));
    return el('p', {class: 'sub', role: 'status'},
        `“${cut_name(state.query, 40)}”: ${count_text(count)} of ${count_text(
            total_of(data.lanes, (lane) => lane.begin.length))} ranges`);
}

// ---- Rows ---------------------------------------------------------------------------------------

function timeline_row_el(row) {
    const heights = row_heights(row);
    const canvas = heights.strip || row.levels.length || row.density
        ? canvas_box({label: 'what ' + row.name + ' did over time', class: 'tl-canvas',
            height: heights.whole, draw: (g, width, height, self) =>
                draw_timeline_row(g, row, width, self)}) : null;
    const line = el('div', {class: ['tl-row', row.kind, row.head ? 'head' : '',
        is_faint(row) ? 'faint' : ''].join(' ').trim()}, row_label(row),
    canvas || el('div', {class: 'tl-rule'}), deep_levels(row));
    row.line = line;
    row.canvas = canvas;
    line.row = row;
    if (canvas)
        seen_rows.observe(line);
    return line;
}

/* A button for levels too deep for the usual row height. */
function deep_levels(row) {
    if (!row.deep)
        return null;
    const all = all_levels.has(row.key);
    const click = () => {
        all_levels[all ? 'delete' : 'add'](row.key);
        timeline_groups = null;
        render_page();
    };
    const levels = row.kind === 'thread' ? counted(row.deep, 'deeper level')
        : counted(row.deep, 'more row') + ' of ranges at the same time';
    return el('div', {class: 'tl-deep'}, all ? `${levels} shown. ` : `${levels} not drawn. `,
        el('button', {type: 'button', class: 'link', on: {click}}, all ? 'Hide' : 'Show'));
}

/* With a thread or process filter, other rows are faint. */
function is_faint(row) {
    const {thread, process} = state;
    if (row.kind === 'process' || row.kind === 'quiet')
        return false;
    if (thread >= 0)
        return !row.threads.includes(thread);
    return process >= 0 && row.process !== process;
}

const seen_rows = new IntersectionObserver((entries) => {
    for (const entry of entries) {
        entry.target.row.seen = entry.isIntersecting;
        if (!entry.target.isConnected)
            seen_rows.unobserve(entry.target);
        else if (entry.isIntersecting)
            redraw(entry.target.row.canvas);
    }
}, {rootMargin: '120px'});

addEventListener('beforeprint', () => {
    for (const row of timeline.rows)
        if (row.canvas && row.canvas.isConnected) {
            row.seen = true;
            draw_canvas(row.canvas);
        }
});

function row_label(row) {
    const name = el('span', {class: 'tl-name', dir: 'auto'}, cut_name(row.name));
    const note = row.ended ? el('span', {class: 'tl-end'}, row.ended.replace(/^killed by /, ''))
        : row.note && row.name.length <= NOTED_NAME
            ? el('span', {class: 'tl-note'}, row.note) : null;
    const attributes = {class: 'tl-label indent' + Math.min(3, row.indent || 0),
        title: [cut_name(row.name, 1000), row.note, row.ended].filter(Boolean).join(', '),
        'data-key': row.key};
    if (row.foldable) {
        attributes['aria-expanded'] = String(!row.closed);
        attributes.on = {click: () => fold_row(row)};
        return el('button', attributes, el('span', {class: 'tl-fold', 'aria-hidden': 'true'},
            row.closed ? '▸' : '▾'), name, note);
    }
    if (row.kind !== 'thread' || row.merged)
        return el('div', attributes, name, note);
    const [thread] = row.threads;
    attributes['aria-pressed'] = String(state.thread === thread);
    attributes.on = {click: () => {
        timeline.focus = row.key;
        toggle('thread', thread);
    }};
    return el('button', attributes, name, note);
}

function fold_row(row) {
    folded_groups.set(row.key, !row.closed);
    timeline.focus = row.key;
    render_page();
}

/* Restores the focus of the pressed label after a redraw. */
function restore_picked() {
    const {focus, picked} = timeline;
    if (focus)
        requestAnimationFrame(() => {
            const label = [...timeline.body.querySelectorAll('button.tl-label')]
                .find((one) => one.dataset.key === focus);
            if (label && document.activeElement === document.body)
                label.focus({preventScroll: true});
        });
    timeline.focus = null;
    timeline.picked = null;
    const row = picked && timeline.rows.find((one) => one.key === picked.row.key);
    if (row)
        pick_range(row, picked.depth, picked.index);
}

// ---- Drawing ------------------------------------------------------------------------------------

function draw_timeline_row(g, row, width, canvas) {
    if (!row.seen)
        return;
    const ratio = canvas.width / width;
    if (!timeline.palette || timeline.palette.theme !== tones)
        timeline.palette = Object.assign(timeline_palette(),
            {ratio, gap: 0.8 * ratio, label: 30 * ratio, theme: tones});
    const view = {from: timeline.from, to: timeline.to};
    if (!row.image || row.image.width !== canvas.width || row.image.height !== canvas.height)
        row.image = g.createImageData(canvas.width, canvas.height);
    const labels = paint_row(row.image, row, view, timeline.palette, ratio);
    g.putImageData(row.image, 0, 0);
    draw_labels(g, row, labels, timeline.palette, width);
    draw_causes(g, row, view, width);
    if (timeline.picked && timeline.picked.row === row)
        draw_picked(g, row, width);
}

function draw_picked(g, row, width) {
    const {depth, index} = timeline.picked;
    const level = row.levels[depth], heights = row_heights(row);
    const x = Math.max(-2, time_x(level.begin[index], width));
    const end = Math.min(width + 2, time_x(level.end[index], width));
    g.strokeStyle = tone('ink');
    g.lineWidth = 2;
    g.strokeRect(x + 0.5, heights.tops[depth], Math.max(2, end - x - 1),
        heights.sizes[depth] - 1);
}

const time_x = (time, width) => (time - timeline.from) / (timeline.to - timeline.from) * width;

/* The axis, with the visible part of the whole above it. */
function draw_timeline_axis(g, width) {
    const wall = data.facts.wall_ns;
    const x = timeline.from / wall * width, end = timeline.to / wall * width;
    g.fillStyle = tone('sunk');
    g.fillRect(0, 0, width, 5);
    g.fillStyle = tone(end - x < width - 0.5 ? 'accent' : 'line2');
    g.fillRect(Math.min(width - 3, x), 0, Math.max(3, end - x), 5);
    draw_axis(g, {x: 0, y: 12, width}, timeline.from, timeline.to);
}

/* Draws all visible rows before the next frame. */
function draw_window() {
    if (timeline.frame_request)
        return;
    timeline.frame_request = requestAnimationFrame(() => {
        timeline.frame_request = 0;
        if (!timeline.axis.isConnected)
            return;
        draw_canvas(timeline.axis);
        for (const row of timeline.rows)
            if (row.canvas && row.seen)
                draw_canvas(row.canvas);
        place_stretch();
    });
}

/* Places the filter stretch; the time outside is dimmed. */
function place_stretch() {
    const {stretch} = timeline.marks;
    stretch.hidden = !state.stretch;
    if (!state.stretch)
        return;
    const share = (slot) => 100 * (slot_ns(slot) - timeline.from) / (timeline.to - timeline.from);
    const clamp = (value) => Math.max(-1, Math.min(101, value));
    stretch.style.left = clamp(share(state.from)) + '%';
    stretch.style.width = clamp(share(state.to)) - clamp(share(state.from)) + '%';
}

// ---- The window ---------------------------------------------------------------------------------

function set_window(from, to) {
    const wall = data.facts.wall_ns;
    const span = Math.max(Math.min(SHORTEST_NS, wall), Math.min(wall, to - from));
    const begin = Math.max(0, Math.min(wall - span, (from + to - span) / 2));
    [timeline.from, timeline.to] = [begin, begin + span];
    draw_window();
    clearTimeout(timeline.saving);
    timeline.saving = setTimeout(save_window, 160);
}

function save_window() {
    const wall = data.facts.wall_ns;
    const from = Math.floor(timeline.from), to = Math.min(wall, Math.ceil(timeline.to));
    state.at = from <= 0 && to >= wall ? '' : from + '-' + to;
    if (state.view === 'timeline' && location.hash !== address())
        history.replaceState(null, '', address());
}

/* Zooms by a factor; the time at the share `at` of the window stays in place. */
function zoom_window(factor, at) {
    const span = timeline.to - timeline.from, time = timeline.from + at * span;
    const wanted = Math.max(SHORTEST_NS, span * factor);
    const from = time - at * wanted;
    set_window(from, from + wanted);
}

function move_timeline(key) {
    const step = 0.18 * (timeline.to - timeline.from);
    const at = timeline.pointer_share === undefined ? 0.5 : timeline.pointer_share;
    if (key === 'w')
        zoom_window(0.7, at);
    else if (key === 's')
        zoom_window(1 / 0.7, at);
    else
        set_window(timeline.from + (key === 'a' ? -step : step),
            timeline.to + (key === 'a' ? -step : step));
}

// ---- Legend -------------------------------------------------------------------------------------

function timeline_legend() {
    const used = new Map();
    for (const one of states)
        for (const cause of one.cause)
            if (cause)
                used.set(cause - 1, (used.get(cause - 1) || 0) + 1);
    const causes = [...used].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([cause]) => cause);
    const key = (token, text, more) => el('span', {}, swatch(token, more), ' ',
        el('span', {dir: 'auto'}, cut_name(text, 40)));
    const names = name_hues.ranked.slice(0, 6);
    return el('div', {class: 'tl-legend'},
        states.some((one) => one.running.length) ? el('div', {class: 'foot'},
            el('b', {}, 'Threads'), key('run1', 'running'),
            key('runnable', 'runnable, no processor'),
            causes.map((cause) => key(cause_tokens[cause], data.causes[cause], 'pale'))) : null,
        names.length ? el('div', {class: 'foot'}, el('b', {}, 'Ranges'), names.map((name) =>
            key('r' + name_hues.hues[name], range_title(data.names[name]))),
        key('r0', 'ranges around others'), key('r7', 'others')) : null,
        el('p', {class: 'sub note'}, timeline_notes()));
}

function timeline_notes() {
    const notes = [`Height is the share of time in a pixel; states are summed up over ${
        time_text(data.facts.wall_ns / data.states.slots)}.`];
    const short = total_of(data.lanes, (lane) => lane.short);
    if (short > 0)
        notes.push(`${count_text(short)} short ranges are not drawn one by one: a grey line ` +
            'below a row is the share of time that they cover.');
    return notes.join(' ');
}

add_view({key: 'timeline', title: 'Timeline', searches: true,
    question: 'What did each thread do at that moment, and why did it not run?',
    has: () => !data.flame && (data.lanes.length > 0 ||
        states.some((one) => one.running.length)),
    draw: draw_timeline,
    keys: {w: () => move_timeline('w'), a: () => move_timeline('a'), s: () => move_timeline('s'),
        d: () => move_timeline('d'), f: () => zoom_to_picked(),
        0: () => set_window(0, data.facts.wall_ns)}});
