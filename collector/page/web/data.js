/* SPDX-License-Identifier: MIT */
/* The data of the page, decoded once, with the indexes used by all views. */

let data = null; // see docs/page-data.md: one object, with columns of equal length
let functions = []; // {index, name, file, line, owner: of OWNERS, module, python, mine, place}
let node_count = 0;
let node_parent = null, node_function = null, node_line = null, node_own = null; // typed arrays
let path_text = []; // by path of ranges: "process_file/file/parse"

/* By owner: tokens of its colour and of letters on it, and its name. */
const OWNERS = [
    ['own', 'your code'], ['lib', 'libraries'], ['interp', 'interpreter'],
    ['native', 'native code'], ['kernel', 'kernel'], ['gc', 'garbage collector'], ['role', ''],
    ['role', ''],
].map(([token, text]) => ({token, ink: token + '-ink', text}));
const OWNER_OWN = 0, OWNER_INTERPRETER = 2, OWNER_KERNEL = 4, OWNER_ROLE = 6, OWNER_REST = 7;
const OWNER_WAIT = 8;

/* Colours of causes, by a word of their text. */
const CAUSES = [
    [/lock\b|futex|mutex|condition|queue|future|join|pool/, 'w-lock'], [/GIL/, 'w-gil'],
    [/disk/, 'w-disk'], [/sleep/, 'w-sleep'], [/pipe|socket|net/, 'w-pipe'],
    [/poll|event|signal/, 'w-poll'],
    [/fault/, 'w-fault'], [/child|process/, 'w-child'], [/runnable|preempt/, 'runnable'],
];

async function decode_data(text) {
    if (text.trimStart().startsWith('{'))
        return JSON.parse(text);
    const letters = atob(text.trim());
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return JSON.parse(await new Response(stream).text());
}

function bytes_of(base64) {
    return Uint8Array.from(atob(base64 || ''), (letter) => letter.charCodeAt(0));
}

/* Defaults for parts that a partial page lacks. */
const ABSENT = {tables: [], states: {slots: 1, threads: []}, lanes: [], range_stats: [],
    range_slots: 0, pools: [], tasks: {name_of: [], begin: []}, requests: {name_of: [], begin: []},
    loop_blocks: {begin: []}, counters: [], sources: [], trust: [],
    left_out: [], lines: null, phrases: [], compare: null, flame: false};

function index_data(decoded) {
    data = {...ABSENT, ...decoded};
    functions = data.functions.map(make_function);
    node_parent = Int32Array.from(data.nodes.parent);
    node_function = Int32Array.from(data.nodes.function);
    node_line = Int32Array.from(data.nodes.line);
    node_count = node_parent.length;
    node_own = Int32Array.from(data.nodes.own || new Array(node_count).fill(-1));
    if (node_count && node_function[0] < 0) {
        functions.push(make_function(['all', '', 0, OWNER_ROLE, '', 'role', '', 0],
            functions.length));
        node_function[0] = functions.length - 1;
    }
    index_paths();
    cause_tokens = data.causes.map((text) => (CAUSES.find((one) => one[0].test(text)) ||
        [null, 'w-other'])[1]);
    runnable_cause = data.causes.lastIndexOf('runnable');
    states = data.states.threads.map((one) => ({...one, running: bytes_of(one.running),
        runnable: bytes_of(one.runnable), blocked: bytes_of(one.blocked),
        cause: bytes_of(one.cause)}));
    state_of_thread = new Map(states.map((one) => [one.thread, one]));
}

function make_function([name, file, line, owner, module, kind, word, mine], index) {
    return {index, file, line, owner, module, python: kind === 'python', mine: mine === 1,
        name: owner === OWNER_ROLE ? role_name(name) : name,
        place: line > 0 ? file + ':' + line : file || module};
}

/* Removes the number from Python's default thread names. */
function thread_title(name) {
    return name.replace(/Thread-\d+ \((.*)\)$/, '$1');
}

/* A role with the number of its threads: "worker × 4". */
function role_name(name) {
    const count = data.threads.filter((thread) => thread.role === name).length;
    return thread_title(name) + (count > 1 ? ` × ${count_text(count)}` : '');
}

/* Removes the domain of the Python observers. */
function range_title(name) {
    return name.replace(/(^|\/|: )python:/g, '$1');
}

let name_set = null;

/* The name of the innermost range of a path. Names may contain "/". */
function last_name(path) {
    name_set = name_set || new Set(data.names);
    for (let at = 0; at >= 0; at = path.indexOf('/', at) + 1 || -1)
        if (name_set.has(path.slice(at)))
            return path.slice(at);
    return path.split('/').pop();
}

function index_paths() {
    path_text = data.paths.parent.map((parent, index) => index === 0 ? '' : null);
    for (let path = 1; path < path_text.length; path++) {
        const before = path_text[data.paths.parent[path]];
        const name = data.names[data.paths.name[path]] || '';
        path_text[path] = before ? before + '/' + name : name;
    }
}

let cause_tokens = []; // by cause
let runnable_cause = -1;
/* {thread, or -1 for `threads` threads of a role; running, runnable, blocked, cause: a byte per
 * slot of data.states.slots} */
let states = [];
let state_of_thread = new Map();

function cause_text(cause) {
    return cause === runnable_cause ? 'runnable, no processor' : data.causes[cause] || 'unknown';
}

/* The function's name in its owner's colour, for tables. */
function name_el(one) {
    const kind = one.owner === OWNER_OWN ? 'own' : one.owner === 1 ? '' : 'dim';
    return el('code', {class: kind, dir: 'auto', title: cut_name(one.name, 1000)},
        cut_name(one.name));
}

function place_of(one, line) {
    return line > 0 ? one.file + ':' + line : one.place;
}

/* The index of a function's source, which its location links to, or -1. */
function source_of(one) {
    return data.sources.findIndex((source) => source.file === one.file);
}

function process_name(index) {
    const process = data.processes[index];
    return process ? process.name : '';
}

/* A short name: only the process, for the main thread of a single-threaded process. */
function thread_name(index) {
    const thread = data.threads[index];
    const process = process_name(thread.process);
    if (thread.name === 'main' || thread.name === '')
        return thread.role === 'worker' || !has_threads(thread.process) ? process
            : process + ' · main';
    return thread_title(thread.name);
}

function has_threads(process) {
    return data.threads.filter((thread) => thread.process === process).length > 1;
}

function table_of(name) {
    return data.tables.find((table) => table.name === name) || null;
}

/* A table row as an object with column names as keys, plus `role` etc. */
function row_object(table, row) {
    const object = {role: row.role || 'plain', few: row.few, rest: row.rest,
        observed: row.observed};
    table.columns.forEach((column, index) => {
        if (column.name)
            object[column.name] = row.cells[index];
    });
    return object;
}

function table_rows(name) {
    const table = table_of(name);
    return table ? table.rows.map((row) => row_object(table, row)) : [];
}

/* Mean shares of running and runnable, 0 to 1, in slots [from, to) of a thread or an entry of
 * `states`. */
function state_share(thread, from, to) {
    const entry = typeof thread === 'object' ? thread : state_of_thread.get(thread);
    if (!entry)
        return [0, 0];
    const first = Math.max(0, Math.floor(from));
    const last = Math.min(data.states.slots, Math.max(first + 1, Math.ceil(to)));
    let running = 0, runnable = 0;
    for (let slot = first; slot < last; slot++) {
        running += entry.running[slot];
        runnable += entry.runnable[slot];
    }
    const most = 255 * Math.max(1, last - first);
    return [running / most, runnable / most];
}
