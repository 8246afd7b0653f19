/* SPDX-License-Identifier: MIT */
/* Ranges: durations of the program's own steps, and outliers. The numbers are those of the report;
 * under filters, counts and sample times cover the filtered part. */

const RANGE_TABLES = [['ranges', 'Ranges', 'per path, all threads together'],
    ['track_ranges', 'Ranges of tracks', 'tasks, requests and queues, which overlap'],
    ['overlapping_ranges', 'Overlapping ranges', 'begun and ended in any order']];
const RANGES_SHOWN = 30;

let stats_by_path = null, path_by_text = null;

function index_range_stats() {
    if (stats_by_path)
        return;
    stats_by_path = new Map(data.range_stats.map((stats) =>
        [stats.kind + ' ' + stats.path, stats]));
    path_by_text = new Map();
    for (let path = path_text.length - 1; path > 0; path--)
        path_by_text.set(path_text[path], path);
}

/* Rows of one of the tables, with name, depth and statistics. */
function ranges_of_table(table_name) {
    const table = table_of(table_name);
    if (!table)
        return [];
    index_range_stats();
    const on_gpu = table_name === 'ranges' ? new Map(table_rows('gpu_ranges').map((row) =>
        [row.path, row])) : new Map();
    return table.rows.filter((row) => row.role !== 'hidden').map((row) => {
        const one = row_object(table, row);
        const gpu = on_gpu.get(one.path) || {};
        const path = row.path !== undefined ? row.path : path_by_text.get(one.path);
        const known = path !== undefined && path > 0;
        return Object.assign(one, {index: known ? path : -1, gpu_ns: gpu.gpu_ns,
            gpu_idle_ns: gpu.idle_ns, stats: stats_by_path.get(table_name + ' ' + one.path),
            name: known ? range_title(data.names[data.paths.name[path]])
                : range_title(String(one.path || one.rest || '')),
            depth: known ? path_depth(path) : 0});
    });
}

function path_depth(path) {
    let depth = -1;
    for (; path > 0; path = data.paths.parent[path])
        depth++;
    return depth;
}

/* Orders rows as a tree: largest time first, each followed by its inner ranges. */
function in_tree_order(rows) {
    const by_path = new Map(rows.filter((row) => row.index >= 0).map((row) => [row.index, row]));
    const inside = new Map();
    for (const row of rows) {
        const parent = row.index < 0 ? null : by_path.get(data.paths.parent[row.index]) || null;
        row.shown_depth = 0;
        inside.set(parent, (inside.get(parent) || []).concat([row]));
    }
    const out = [];
    const add = (list, depth) => {
        for (const row of list.sort((a, b) => (b.total_ns || 0) - (a.total_ns || 0))) {
            row.shown_depth = depth;
            out.push(row);
            add(inside.get(row) || [], depth + 1);
        }
    };
    add(inside.get(null) || [], 0);
    return out;
}

/* Sample times by path, including inner paths, under all filters except the range. */
function path_sums() {
    const count = data.paths.parent.length;
    const sums = {cpu: new Float64Array(count), runnable: new Float64Array(count),
        blocked: new Float64Array(count)};
    const threads = passing_threads(), nodes = passing_nodes();
    const lets = (columns, index) => columns.slot[index] >= state.from &&
        columns.slot[index] < state.to && threads[columns.thread[index]] &&
        nodes[columns.node[index]];
    const {cpu, off} = data;
    for (let index = 0; index < cpu.slot.length; index++)
        if (lets(cpu, index))
            sums.cpu[cpu.path[index]] += cpu.ns[index];
    for (let index = 0; index < off.slot.length; index++)
        if (lets(off, index))
            sums[off.cause[index] === runnable_cause ? 'runnable' : 'blocked'][off.path[index]] +=
                off.ns[index];
    for (let path = count - 1; path > 0; path--)
        for (const values of Object.values(sums))
            values[data.paths.parent[path]] += values[path];
    return sums;
}

const RANGE_SLOTS = 128; // of `over_time` and `cells`, independent of data.slots

/* {count, total_ns} of ranges that began in the selection; total_ns is null if a stretch may cut
 * ranges. */
function range_counts(stats) {
    const of_time = (slot) => slot * data.slots / RANGE_SLOTS;
    const began = (slot) => of_time(slot) >= state.from && of_time(slot) < state.to;
    if (state.thread < 0 && state.process < 0)
        return {total_ns: null, count: stats.over_time.reduce((sum, count, slot) =>
            sum + (began(slot) ? count : 0), 0)};
    const threads = passing_threads(), {cells} = stats;
    const sums = {count: 0, total_ns: 0};
    cells.thread.forEach((thread, index) => {
        if (!threads[thread] || state.stretch && !began(cells.slot[index]))
            return;
        sums.count += cells.count[index];
        sums.total_ns += cells.ns[index];
    });
    return state.stretch ? {...sums, total_ns: null} : sums;
}

/* True if the page has counts for the current filters. */
const counts_by_thread = () => state.thread < 0 && state.process < 0 ||
    data.range_slots === RANGE_SLOTS || data.range_slots === 1 && !state.stretch;

const range_filters = () => state.stretch || state.thread >= 0 || state.process >= 0 || state.task;

/* Replaces numbers of the whole recording by filtered ones. */
function filter_range_rows(rows) {
    if (!range_filters())
        return rows;
    const sums = path_sums();
    for (const row of rows) {
        row.whole = true;
        if (row.stats && counts_by_thread()) {
            const counts = range_counts(row.stats);
            row.count = counts.count;
            if (counts.total_ns !== null)
                Object.assign(row, {total_ns: counts.total_ns, exact: true});
        }
        if (row.index < 0)
            continue;
        row.cpu_ns = sums.cpu[row.index];
        row.runnable_ns = sums.runnable[row.index];
        row.blocked_ns = sums.blocked[row.index];
    }
    return rows;
}

// ---- The table ----------------------------------------------------------------------------------

const time_column = (title, name, more) => Object.assign({title, type: 'time', width: '78px',
    value: (row) => row[name] === undefined ? null : row[name]}, more);

/* A column of whole-recording numbers, dimmed under filters. */
const whole_column = (title, name, more) => time_column(title, name, Object.assign({
    cell: (row) => row[name] === undefined || row[name] === null ? ''
        : el('span', {class: row.whole && !(name === 'total_ns' && row.exact) ? 'dim' : null},
            time_cell(row[name]))}, more));

function range_columns(rows) {
    const has = (name) => rows.some((row) => row[name] > 0);
    const charts = rows.some((row) => row.stats);
    return [
        {title: 'range', left: true, type: 'text', value: (row) => row.name, cell: range_name_cell},
        {title: 'count', type: 'count', width: '66px', value: (row) => row.count},
        whole_column('total', 'total_ns', {hint: 'all of them together, with the ranges inside'}),
        has('cpu_ns') ? time_column('CPU', 'cpu_ns', {hint: 'with the ranges inside'}) : null,
        has('runnable_ns') ? time_column('runnable', 'runnable_ns', {narrow: false,
            hint: 'could have run, but no processor was free'}) : null,
        has('blocked_ns') ? time_column('blocked', 'blocked_ns', {narrow: false,
            hint: 'waited for something other than a processor'}) : null,
        has('gpu_ns') ? whole_column('GPU', 'gpu_ns', {
            hint: 'what GPUs did that was launched inside'}) : null,
        has('gpu_ns') ? whole_column('GPU idle', 'gpu_idle_ns', {narrow: false,
            hint: 'no queue of the process was busy'}) : null,
        whole_column('p50', 'p50_ns', {hint: 'half of them took no longer'}),
        whole_column('p90', 'p90_ns', {narrow: false}), whole_column('p99', 'p99_ns'),
        whole_column('max', 'max_ns'),
        charts ? {title: '1 µs to 100 s', left: true, width: '124px', narrow: false,
            hint: 'how many took how long, four bars a decade',
            cell: (row) => row.stats ? histogram(row.stats.bins, 110) : ''} : null,
        charts ? {title: 'over time', left: true, width: '124px', narrow: false,
            hint: 'how many began when',
            cell: (row) => row.stats ? spark_bars(row.stats.over_time, 110) : ''} : null,
    ].filter(Boolean);
}

function range_name_cell(row) {
    return el('span', {dir: 'auto', title: cut_name(String(row.path || row.name), 1000),
        css: {'padding-left': Math.min(10, row.shown_depth || 0) * 14 + 'px'}},
    cut_name(row.name));
}

function range_table(table_name, title, sentence) {
    const query = state.query.trim().toLowerCase();
    const all = filter_range_rows(ranges_of_table(table_name)).filter((row) =>
        row.role !== 'rest' ? String(row.path).toLowerCase().includes(query) : !query);
    const rows = in_tree_order(all.filter((row) => row.role !== 'rest' && row.count > 0));
    if (!rows.length)
        return null;
    const table = table_of(table_name);
    const raw = (row) => row.index < 0 ? null : data.names[data.paths.name[row.index]];
    const minor = (row) => row.role !== 'plain' ||
        /(^|\/)(gc generation|import) [^/]*$/.test(row.name);
    return el('section', {class: 'part'}, view_head(title, sentence),
        data_table({id: table_name, label: title, columns: range_columns(rows), rows,
            shown: RANGES_SHOWN, sort: -1, minor, rest: rest_rows(all),
            key: (row) => String(row.path), chosen: (row) => state.range === raw(row),
            choose: (row) => raw(row) && toggle('range', raw(row)),
            notes: range_notes(table)}));
}

const REST_WORDS = {outside: 'outside of all ranges',
    inherited: 'inherited from the parent process'};

/* Rest rows that are not empty. */
function rest_rows(rows) {
    return rows.filter((row) => row.role === 'rest' &&
        ['count', 'total_ns', 'cpu_ns', 'blocked_ns'].some((name) => row[name] > 0))
        .map((row) => ({...row, name: REST_WORDS[row.rest] || row.name}));
}

function range_notes(table) {
    const notes = ['Times are with the ranges inside; p50: half of them took no longer.',
        ...table_notes(table)];
    if (range_filters())
        notes.unshift((counts_by_thread() ? 'Count, CPU, runnable and blocked are filtered'
            : 'CPU, runnable and blocked are filtered; counts are of the whole recording ' +
            '(it has too many ranges)') + '; grey numbers are of the whole recording.' +
            (state.task ? ' Counts ignore the filter of tasks.' : ''));
    return notes;
}

/* Counts by slot as bars. */
function spark_bars(counts, width, height = 20) {
    const most = Math.max(1, ...counts);
    const step = width / counts.length;
    return svg_el('svg', {width, height, role: 'img', class: 'histogram',
        'aria-label': 'how many began when'},
    svg_el('line', {x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5,
        stroke: 'var(--line2)'}),
    svg_el('path', {fill: 'var(--run1)', d: counts.map((count, index) => {
        const tall = Math.max(1, (height - 2) * count / most);
        return count ? `M${(index * step).toFixed(2)} ${height - 1}v${-tall.toFixed(2)}h${
            Math.max(0.9, step).toFixed(2)}v${tall.toFixed(2)}z` : '';
    }).join('')}));
}

function draw_ranges(box) {
    const parts = [range_detail(), ...RANGE_TABLES.map((one) => range_table(...one))];
    add_to(box, ...parts.filter(Boolean));
    if (!parts.some(Boolean))
        add_to(box, view_head('Ranges', ''), empty_text(state.query
            ? `No range has “${cut_name(state.query, 60)}” in its path.`
            : 'No range began in this selection.'));
}

add_view({key: 'ranges', title: 'Ranges', searches: true,
    question: 'How long do the program’s own steps take; which are outliers?',
    has: () => RANGE_TABLES.some(([name]) => table_rows(name).some((row) => row.count > 0)),
    draw: draw_ranges});
