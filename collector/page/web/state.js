/* SPDX-License-Identifier: MIT */
/* What is shown, as one object. The address holds the same state, so that links reproduce it.
 * Invalid parts of an address keep their initial values. */

const state = {};
const fields = [];
const views = [];
let render_page = null; // set by page.js

/* Adds a field of the state: {name, key, initial, read(text) -> value or undefined, write(value)}.
 * Views may add their own. The address has its value if it differs from the initial one. */
function add_field(field) {
    fields.push(field);
    state[field.name] = field.initial;
}

/* {key, title, question, has(), draw(box)}; optional: keys: {k: f(event)}; searches: uses
 * state.query; follow(changes): returns true if it updated itself, so that no redraw is needed. */
function add_view(view) {
    views.push(view);
}

const words = (...allowed) => (text) => allowed.includes(text) ? text : undefined;
const as_is = (value) => String(value);
const number_below = (limit) => (text) =>
    /^\d{1,9}$/.test(text) && Number(text) < limit() ? Number(text) : undefined;
const short_text = (text) => text.length <= 1000 ? text : undefined;
const flag = (text) => text === '1' ? true : undefined;

function flag_field(name) {
    return {name, key: name, initial: false, read: flag, write: () => '1'};
}

/* The first view; counted lines for recordings without samples. */
function first_view() {
    const sampled = data.cpu.slot.length + data.off.slot.length > 0;
    return data.flame ? 'flame' : data.counted && !sampled ? 'lines' : 'summary';
}

function add_fields() {
    const shown = () => views.filter((view) => view.has());
    add_field({name: 'view', key: 'view', initial: first_view(), write: as_is,
        read: (text) => shown().some((view) => view.key === text) ? text : undefined});
    add_field({name: 'time', key: 'time', read: words('cpu', 'wall'),
        initial: data.by_wall ? 'wall' : 'cpu',
        write: as_is});
    add_field(flag_field('own'));
    add_field(flag_field('idle'));
    add_field({name: 'frames', key: 'frames', initial: 'python', read: words('python', 'all'),
        write: as_is});
    add_field({name: 'mode', key: 'mode', initial: 'icicle', write: as_is,
        read: words('flame', 'icicle', 'sandwich', 'treemap')});
    add_field({name: 'stretch', key: 't', initial: '', read: read_stretch, write: as_is});
    for (const [name, list] of [['process', 'processes'], ['thread', 'threads'],
        ['focus', 'functions'], ['file', 'sources']])
        add_field({name, key: name, initial: -1, read: number_below(() => data[list].length),
            write: as_is});
    add_field({name: 'range', key: 'range', initial: '', write: as_is,
        read: (text) => data.names.includes(text) ? text : undefined});
    add_field({name: 'task', key: 'task', initial: '', write: as_is,
        read: (text) => functions.some((one) => one.name === text) ? text : undefined});
    add_field({name: 'query', key: 'q', initial: '', read: short_text, write: as_is});
    add_field({name: 'zoom', key: 'zoom', initial: -1, write: as_is,
        read: number_below(() => node_count)});
    add_field({name: 'theme', key: 'theme', initial: '', read: words('light', 'dark'),
        write: as_is});
}

/* Parses a stretch in slots, "40-80". state.from and state.to follow it. */
function read_stretch(text) {
    const match = /^(\d{1,4})-(\d{1,4})$/.exec(text);
    if (!match || Number(match[1]) >= Number(match[2]) || Number(match[2]) > data.slots)
        return undefined;
    return text;
}

function follow_stretch() {
    const [from, to] = state.stretch ? state.stretch.split('-').map(Number) : [0, data.slots];
    [state.from, state.to] = [from, to];
}

/* The time divided by slots. */
const span_ns = () => data.facts.duration_ns || data.facts.wall_ns;
const slot_ns = (slot) => slot * span_ns() / data.slots;

/* The address with these changes, for links. */
function address(changes = {}) {
    const parts = [];
    for (const field of fields) {
        const value = field.name in changes ? changes[field.name] : state[field.name];
        if (value !== field.initial)
            parts.push(field.key + '=' + encodeURIComponent(field.write(value)));
    }
    return '#' + (parts.join('&') || 'view=' + state.view);
}

function read_address() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
        const text = parameters.get(field.key);
        const value = text === null ? undefined : field.read(text);
        state[field.name] = value === undefined ? field.initial : value;
    }
    follow_stretch();
}

const pending = {timer: 0, step: false};

/* Updates the address at the next pause, as that takes longer than drawing a step of a zoom. */
function schedule_address(step) {
    pending.step = pending.step || step;
    if (!pending.timer)
        pending.timer = setTimeout(write_address, 100);
}

function write_address() {
    const target = address();
    if (location.hash !== target)
        history[pending.step ? 'pushState' : 'replaceState'](null, '', target);
    forget_address();
}

function forget_address() {
    clearTimeout(pending.timer);
    [pending.timer, pending.step] = [0, false];
}

/* The only way to change the state: go({view: 'flame', zoom: 17}). `from` and `to` (slots) must be
 * given together. Changes of view or zoom become steps of the browser's history. */
function go(changes) {
    if ('from' in changes || 'to' in changes) {
        const whole = changes.from <= 0 && changes.to >= data.slots;
        changes.stretch = whole ? '' : changes.from + '-' + changes.to;
    }
    const step = ['view', 'zoom', 'focus', 'file'].some((name) =>
        name in changes && changes[name] !== state[name]);
    Object.assign(state, changes);
    follow_stretch();
    schedule_address(step);
    render_page(changes);
}

const toggle = (name, value) => go({[name]: state[name] === value ? NO_OWNER[name] : value});
const NO_OWNER = {thread: -1, process: -1, range: '', task: ''};

function is_filtered() {
    return state.stretch !== '' || state.thread >= 0 || state.process >= 0 ||
        state.range !== '' || state.task !== '';
}

const NO_FILTER = {from: 0, to: Infinity, thread: -1, process: -1, range: '', task: ''};

// ---- Sums under the filters ---------------------------------------------------------------------

/* Threads, paths and nodes that pass the filters, a byte each. */
function passing_threads() {
    return Uint8Array.from(data.threads, (thread, index) =>
        Number((state.thread < 0 || index === state.thread) &&
            (state.process < 0 || thread.process === state.process)));
}

function passing_paths() {
    const passes = new Uint8Array(data.paths.parent.length).fill(state.range ? 0 : 1);
    if (state.range)
        for (let path = 1; path < passes.length; path++)
            passes[path] = Number(passes[data.paths.parent[path]] ||
                data.names[data.paths.name[path]] === state.range);
    return passes;
}

/* Nodes in a task: those below the function that the task runs. */
function passing_nodes() {
    const passes = new Uint8Array(node_count).fill(state.task ? 0 : 1);
    if (state.task)
        for (let node = 1; node < node_count; node++)
            passes[node] = Number(passes[node_parent[node]] ||
                functions[node_function[node]].name === state.task);
    return passes;
}

const sums_cache = new Map();
const SUMS_KEPT = 24;

/* Filtered sums: {cpu: ns by node, cpu_ns, samples, off: [{node, cause, thread, idle, ns, count,
 * max}], runnable_ns, blocked_ns, cause_ns: by cause}. */
function filtered() {
    const key = [state.from, state.to, state.thread, state.process, state.range,
        state.task].join('\u0000');
    let sums = sums_cache.get(key);
    if (!sums) {
        sums = make_sums();
        if (sums_cache.size >= SUMS_KEPT)
            sums_cache.delete(sums_cache.keys().next().value);
        sums_cache.set(key, sums);
    }
    sums.key = key;
    return sums;
}

/* Returns f(columns, index): true if a row of `cpu` or `off` passes the filters. With `threads`
 * false, filters of threads and processes are ignored. */
function make_filter(threads = true) {
    const passes = {thread: passing_threads(), path: passing_paths(), node: passing_nodes()};
    const any_thread = !threads || state.thread < 0 && state.process < 0;
    const {from, to} = state;
    return (columns, index) => columns.slot[index] >= from && columns.slot[index] < to &&
        (any_thread || passes.thread[columns.thread[index]] === 1) &&
        passes.path[columns.path[index]] === 1 && passes.node[columns.node[index]] === 1;
}

function make_sums() {
    const sums = {cpu: new Float64Array(node_count), cpu_ns: 0, samples: 0, off: [], runnable_ns: 0,
        blocked_ns: 0, cause_ns: new Float64Array(data.causes.length)};
    const lets = make_filter();
    const {cpu, off} = data;
    for (let index = 0; index < cpu.slot.length; index++) {
        if (!lets(cpu, index))
            continue;
        sums.cpu[cpu.node[index]] += cpu.ns[index];
        sums.cpu_ns += cpu.ns[index];
        sums.samples += cpu.count[index];
    }
    const found = new Map();
    for (let index = 0; index < off.slot.length; index++)
        if (lets(off, index))
            add_wait(sums, found, index);
    return sums;
}

function add_wait(sums, found, index) {
    const {thread, node, cause, idle, count, ns, max} = data.off;
    const key = ((node[index] * data.causes.length + cause[index]) * 2 + idle[index]) *
        (data.threads.length + 1) + thread[index] + 1;
    let wait = found.get(key);
    if (!wait) {
        wait = {node: node[index], cause: cause[index], thread: thread[index],
            idle: idle[index] === 1, ns: 0, count: 0, max: 0};
        found.set(key, wait);
        sums.off.push(wait);
    }
    wait.ns += ns[index];
    wait.count += count[index];
    wait.max = Math.max(wait.max, max[index]);
    sums.cause_ns[cause[index]] += ns[index];
    if (cause[index] === runnable_cause)
        sums.runnable_ns += ns[index];
    else
        sums.blocked_ns += ns[index];
}
