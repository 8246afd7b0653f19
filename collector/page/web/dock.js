/* SPDX-License-Identifier: MIT */
/* The time strip at the top: the number of running and runnable threads over time, and the stretch
 * by which all views are filtered. */

/* The timeline has its own axis, so there the strip is low and has no axis. */
const STRIP_HEIGHT = 74, STRIP_AXIS = 18, STRIP_TOP = 5, STRIP_LOW = 24;
const is_low_strip = () => state.view === 'timeline';

function make_dock() {
    boxes.dock_head = el('div', {class: 'dockhead'});
    boxes.filter = make_filter_menu();
    boxes.strip = canvas_box({label: 'Threads running and runnable over time', class: 'strip',
        height: () => is_low_strip() ? STRIP_LOW : STRIP_HEIGHT, draw: draw_strip});
    boxes.strip.setAttribute('role', 'slider');
    boxes.strip.setAttribute('tabindex', '0');
    boxes.strip.setAttribute('aria-valuemin', '0');
    boxes.strip.setAttribute('aria-valuemax', String(data.slots));
    follow_brush(boxes.strip);
    if (data.gpu || !was_sampled()) // GPU sums by launcher have no times
        return el('div', {class: 'docked'}, el('div', {class: 'dockline'}, boxes.filter));
    return el('div', {class: 'docked'}, el('div', {class: 'dockline'}, boxes.dock_head,
        boxes.filter), boxes.strip);
}

const MENU_MOST = 200; // entries per kind

/* A menu of processes, threads, ranges and tasks; one of each can be chosen. */
function make_filter_menu() {
    const groups = filter_choices().map(([field, label, choices]) => choices.length < 2 ? null
        : el('optgroup', {label}, choices.slice(0, MENU_MOST).map(([value, text]) =>
            el('option', {value: field + ' ' + value}, cut_name(text, 50)))));
    if (!groups.some(Boolean))
        return null;
    const choose = (event) => {
        const [field, ...value] = event.target.value.split(' ');
        event.target.value = '';
        if (field)
            go({[field]: typeof state[field] === 'number' ? Number(value[0])
                : value.join(' '), zoom: -1});
    };
    return el('select', {'aria-label': 'Filter', class: 'filter', on: {change: choose}},
        el('option', {value: ''}, 'Filter …'), groups);
}

/* [field, label, [[value, text], ...]], busiest first. */
function filter_choices() {
    const times = new Map();
    data.threads.forEach((thread) => times.set(thread.process,
        (times.get(thread.process) || 0) + thread.cpu_ns));
    const processes = data.processes.map((process, index) => [index, process.name])
        .sort((a, b) => (times.get(b[0]) || 0) - (times.get(a[0]) || 0));
    const threads = data.threads.map((thread, index) => [index, thread_name(index)])
        .sort((a, b) => data.threads[b[0]].cpu_ns - data.threads[a[0]].cpu_ns);
    return [['process', 'Processes', processes], ['thread', 'Threads', threads],
        ['range', 'Ranges', range_names().map((name) => [name, range_title(name)])],
        ['task', 'Tasks', task_functions().map((name) => [name, name])]];
}

/* Names of ranges that contain samples, without duplicates. */
function range_names() {
    return [...new Set(data.paths.name.filter((name) => name >= 0)
        .map((name) => data.names[name]))];
}

/* Functions run by tasks of pools and of asyncio. */
function task_functions() {
    const names = new Set([...data.pools.map((pool) => pool.function),
        ...data.tasks.name_of.map((name) => data.names[name])]);
    return [...new Set(functions.map((one) => one.name))].filter((name) => names.has(name));
}

// ---- The curve ----------------------------------------------------------------------------------

let strip_curve = null; // {width, running, runnable}: sums over the threads by pixel

function make_curve(width) {
    const key = [width, state.thread, state.process].join();
    if (strip_curve && strip_curve.key === key)
        return strip_curve;
    const points = Math.max(2, Math.min(data.states.slots, Math.floor(width / 2)));
    const running = new Float64Array(points), runnable = new Float64Array(points);
    const step = data.states.slots / points;
    for (const entry of passing_states())
        for (let point = 0; point < points; point++) {
            const [runs, waits] = state_share(entry, point * step, (point + 1) * step);
            running[point] += runs * (entry.threads || 1);
            runnable[point] += waits * (entry.threads || 1);
        }
    strip_curve = {key, running, runnable, points};
    return strip_curve;
}

/* Entries of a role have no thread or process, so such filters exclude them. */
function passing_states() {
    const shown = passing_threads();
    const any = state.thread < 0 && state.process < 0;
    return states.filter((entry) => entry.thread < 0 ? any : shown[entry.thread]);
}

function draw_strip(g, width, height) {
    const bottom = is_low_strip() ? height : height - STRIP_AXIS;
    const curve = make_curve(width);
    const processors = data.facts.cpu_count || 1;
    const highest = Math.max(processors, ...curve.running.map((runs, point) =>
        runs + curve.runnable[point]));
    const most = Math.min(highest, 3 * processors) * 1.06;
    const y = (count) => bottom - (bottom - STRIP_TOP) * Math.min(count, most) / most;
    fill_area(g, width, curve.points, () => y(0), (point) => y(curve.running[point]),
        tone('run1'));
    fill_area(g, width, curve.points, (point) => y(curve.running[point]),
        (point) => y(curve.running[point] + curve.runnable[point]), tone('runnable'));
    if (data.facts.cpu_count > 0 && !is_low_strip())
        dashed_line(g, width, Math.round(y(data.facts.cpu_count)) + 0.5);
    if (!is_low_strip())
        draw_axis(g, {x: 0, y: bottom, width}, 0, span_ns());
    draw_stretch(g, width, bottom);
}

function dashed_line(g, width, y) {
    g.strokeStyle = tone('ink2');
    g.setLineDash([2, 3]);
    g.beginPath();
    g.moveTo(0, y);
    g.lineTo(width, y);
    g.stroke();
    g.setLineDash([]);
}

function fill_area(g, width, points, low, high, color) {
    const x = (point) => point * width / (points - 1);
    g.fillStyle = color;
    g.beginPath();
    for (let point = 0; point < points; point++)
        g.lineTo(x(point), high(point));
    for (let point = points - 1; point >= 0; point--)
        g.lineTo(x(point), low(point));
    g.fill();
}

function draw_stretch(g, width, bottom) {
    if (!state.stretch && !brush.drawn)
        return;
    const [from, to] = brush.drawn || [state.from, state.to];
    const left = from * width / data.slots, right = to * width / data.slots;
    g.globalAlpha = 0.74;
    g.fillStyle = tone('bg');
    g.fillRect(0, 0, left, bottom);
    g.fillRect(right, 0, width - right, bottom);
    g.globalAlpha = 1;
    g.strokeStyle = tone('accent');
    g.lineWidth = 2;
    g.strokeRect(left + 1, 1, Math.max(0, right - left - 2), bottom - 1);
    g.lineWidth = 1;
}

// ---- The brush ----------------------------------------------------------------------------------

const brush = {begin: null, drawn: null};

function follow_brush(strip) {
    const at = (event) => {
        const box = strip.getBoundingClientRect();
        const slot = (event.clientX - box.left) / box.width * data.slots;
        return Math.max(0, Math.min(data.slots, slot));
    };
    strip.addEventListener('pointerdown', (event) => {
        strip.setPointerCapture(event.pointerId);
        brush.begin = at(event);
    });
    strip.addEventListener('pointermove', (event) => {
        if (brush.begin === null)
            return show_moment(event, at(event));
        const end = at(event);
        brush.drawn = [Math.floor(Math.min(brush.begin, end)),
            Math.ceil(Math.max(brush.begin, end))];
        redraw(strip);
        return undefined;
    });
    strip.addEventListener('pointerup', (event) => end_brush(at(event)));
    strip.addEventListener('pointercancel', () => end_brush(brush.begin));
    strip.addEventListener('pointerleave', hide_tip);
    strip.addEventListener('dblclick', () => go({from: 0, to: data.slots}));
    strip.addEventListener('keydown', strip_key);
}

function end_brush(end) {
    const drawn = brush.drawn;
    const moved = drawn && Math.abs(end - brush.begin) >= 0.4;
    brush.begin = brush.drawn = null;
    if (moved)
        go({from: drawn[0], to: drawn[1]});
    else if (state.stretch)
        go({from: 0, to: data.slots});
}

function show_moment(event, slot) {
    const at = slot / data.slots * data.states.slots;
    const lines = [];
    let running = 0, runnable = 0;
    for (const entry of passing_states()) {
        const [runs, waits] = state_share(entry, at - 8, at + 8);
        running += runs * (entry.threads || 1);
        runnable += waits * (entry.threads || 1);
    }
    lines.push(el('b', {}, time_text(slot_ns(slot))), el('br'), fixed(running, 1) + ' running, ' +
        fixed(runnable, 1) + ' runnable');
    show_tip(event, lines);
}

/* Arrow keys move the stretch by a slot; with Shift they resize it. */
function strip_key(event) {
    const way = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!way)
        return;
    event.preventDefault();
    const begins = state.stretch ? state.from : 0;
    const length = state.stretch ? state.to - state.from : Math.max(1, data.slots >> 3);
    const longer = Math.max(1, Math.min(data.slots - begins, length + (event.shiftKey ? way : 0)));
    const moved = event.shiftKey || !state.stretch ? begins : begins + way;
    const from = Math.max(0, Math.min(data.slots - longer, moved));
    go({from, to: from + longer});
}

// ---- Head of the dock ---------------------------------------------------------------------------

function chip(text, changes) {
    return el('button', {type: 'button', class: 'chip', title: 'Remove this filter',
        on: {click: () => {
            go(changes);
            boxes.strip.focus({preventScroll: true});
        }}}, el('span', {dir: 'auto'}, cut_name(text, 60)),
    el('span', {'aria-hidden': 'true'}, '×'));
}

function filter_chips() {
    const chips = [];
    if (state.stretch)
        chips.push(chip(stretch_text(), {stretch: ''}));
    if (state.process >= 0)
        chips.push(chip(process_name(state.process), {process: -1}));
    if (state.thread >= 0)
        chips.push(chip(thread_name(state.thread), {thread: -1}));
    if (state.task)
        chips.push(chip('in task ' + state.task, {task: ''}));
    if (state.range)
        chips.push(chip('in range ' + range_title(state.range), {range: ''}));
    return chips;
}

function stretch_text() {
    const step = span_ns() / data.slots;
    return [state.from, state.to].map((slot) => axis_label(slot_ns(slot), step, span_ns()))
        .join(' – ');
}

function fill_dock() {
    const cores = data.facts.cpu_count;
    boxes.dock_head.replaceChildren(...[
        el('span', {class: 'key'}, is_low_strip() ? 'All threads' : 'Threads'),
        ...(is_low_strip() ? [] : [legend_entry('run1', 'running'),
            legend_entry('runnable', 'runnable, no processor free')]),
        cores > 0 && !is_low_strip() ? el('span', {class: 'wide'}, el('span', {class: 'dash'}),
            cores === 1 ? 'the processor' : `the ${count_text(cores)} processors`) : null,
        ...filter_chips(),
        is_filtered() ? null : el('span', {class: 'wide hint'},
            is_low_strip() ? 'Drag here or below to select a stretch of time; all views follow.'
                : 'Drag to select a stretch of time; all views follow.')].filter(Boolean));
    boxes.strip.setAttribute('aria-valuenow', String(state.from));
    boxes.strip.setAttribute('aria-valuetext', state.stretch ? stretch_text() : 'the whole time');
    redraw(boxes.strip);
}
