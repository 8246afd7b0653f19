/* SPDX-License-Identifier: MIT */
/* Summary: which of the user's own functions, threads, places. */

/* Time by the innermost own function: libraries work for it. [{one, cpu, itself, ready, waiting}] */
function own_times() {
    const sums = filtered();
    const times = new Map();
    const owner = innermost_own();
    const time_of = (node) => {
        const one = owner[node] < 0 ? null : functions[owner[node]];
        if (!times.has(one))
            times.set(one, {one, cpu: 0, itself: 0, ready: 0, waiting: 0});
        return times.get(one);
    };
    for (let node = 0; node < node_count; node++) {
        if (!sums.cpu[node])
            continue;
        const time = time_of(node);
        time.cpu += sums.cpu[node];
        if (functions[node_function[node]].owner === OWNER_OWN)
            time.itself += sums.cpu[node];
    }
    for (const wait of sums.off)
        time_of(wait.node)[wait.cause === ready_cause ? 'ready' : 'waiting'] += wait.ns;
    return [...times.values()];
}

let own_of_node = null;

/* By node: the innermost own function on its stack, or -1. */
function innermost_own() {
    if (!own_of_node) {
        own_of_node = new Int32Array(node_count).fill(-1);
        for (let node = 1; node < node_count; node++)
            own_of_node[node] = functions[node_function[node]].owner === OWNER_OWN
                ? node_function[node] : own_of_node[node_parent[node]];
    }
    return own_of_node;
}

const OWN_ROWS = 9;

function own_section() {
    const total = filtered().cpu_ns;
    const all = own_times().sort((a, b) => b.cpu - a.cpu);
    const shown = all.filter((time) => time.one && time.cpu > 0).slice(0, OWN_ROWS);
    const most = shown.length ? shown[0].cpu : 1;
    const rest = total - shown.reduce((sum, time) => sum + time.cpu, 0);
    const rows = shown.map((time) => table_row([cell(time_cell(time.cpu)),
        cell(share_text(time.cpu, total)),
        left_cell(mini_bar([['own', time.itself / most], ['lib', (time.cpu - time.itself) / most]])),
        left_cell(name_el(time.one)), place_cell(time.one)],
    () => go({view: 'tree', query: time.one.name})));
    return el('section', {}, view_head('Where your code spent CPU time'),
        simple_table([['CPU', '', '76px'], ['share', '', '56px'], ['', 'l', '96px'],
            ['function', 'l'], ['location', 'l', '150px']], rows, rest > 0 ? [
            cell(time_cell(rest)), cell(share_text(rest, total)), cell(),
            left_cell('all else'), left_cell()] : null),
        notes(legend_entry('own', 'in the function'), legend_entry('lib', 'in what it called')));
}

function thread_rows() {
    const order = data.threads.map((thread, index) => index).sort((a, b) =>
        data.threads[b].cpu_ns - data.threads[a].cpu_ns);
    return order.map((index) => {
        const {cpu_ns, ready_ns, waiting_ns, helper} = data.threads[index];
        const whole = cpu_ns + ready_ns + waiting_ns || 1;
        return table_row([left_cell(el('span', {dir: 'auto', class: helper ? 'dim' : null,
            title: process_name(data.threads[index].process)}, cut_name(thread_name(index)))),
        cell(time_cell(cpu_ns)), cell(time_cell(ready_ns)), cell(time_cell(waiting_ns)),
        left_cell(mini_bar([['run1', cpu_ns / whole], ['ready', ready_ns / whole],
            ['w-sleep', waiting_ns / whole]], '100%'))],
        () => toggle('thread', index), state.thread === index);
    });
}

const THREAD_ROWS = 12;

function thread_section() {
    const rows = thread_rows();
    const more = rows.length - THREAD_ROWS;
    return el('section', {}, view_head('Processes and threads', 'a click filters'),
        simple_table([['thread', 'l'], ['CPU', '', '76px'], ['ready', '', '76px'],
            ['waits', '', '76px'], ['', 'l', '130px']], rows.slice(0, THREAD_ROWS), more > 0
            ? [left_cell(count_text(more) + ' more'), cell(), cell(), cell(), cell()] : null),
        notes(legend_entry('run1', 'running'), legend_entry('ready', 'ready'),
            legend_entry('w-sleep', 'waiting')));
}

/* Waits by cause and innermost own function. */
function wait_places() {
    const places = new Map();
    const owner = innermost_own();
    for (const wait of filtered().off) {
        if (wait.cause === ready_cause || is_idle(wait))
            continue;
        const index = owner[wait.node] < 0 ? node_function[wait.node] : owner[wait.node];
        const key = index + ' ' + wait.cause;
        const place = places.get(key) || {one: functions[index], cause: wait.cause, ns: 0,
            count: 0, max: 0};
        place.ns += wait.ns;
        place.count += wait.count;
        place.max = Math.max(place.max, wait.max);
        places.set(key, place);
    }
    return [...places.values()].sort((a, b) => b.ns - a.ns);
}

function wait_section() {
    const places = wait_places();
    if (!places.length)
        return null;
    const rows = places.slice(0, OWN_ROWS - 1).map((place) => table_row([
        cell(time_cell(place.ns)), cell(count_text(place.count)),
        left_cell(swatch(cause_tokens[place.cause]), ' ', cause_text(place.cause)),
        left_cell(name_el(place.one)), place_cell(place.one)]));
    const rest = places.slice(OWN_ROWS - 1).reduce((sum, place) => sum + place.ns, 0);
    return el('section', {}, view_head('What it waited for', 'without helper threads that wait ' +
        'for work'), simple_table([['time', '', '76px'], ['times', '', '60px'],
        ['waits for', 'l', '124px'], ['in', 'l'], ['location', 'l', '150px']], rows, rest > 0
        ? [cell(time_cell(rest)), cell(), left_cell(count_text(places.length - rows.length) +
            ' more'), cell(), cell()] : null));
}

const RANGE_ROWS = 10;

/* The report's ranges with most time, as a tree of their paths. */
function range_section() {
    const rows = table_rows('ranges').filter((row) => row.role !== 'hidden' && row.total_ns > 0)
        .sort((a, b) => b.total_ns - a.total_ns).slice(0, RANGE_ROWS)
        .sort((a, b) => a.path < b.path ? -1 : 1);
    if (!rows.length)
        return null;
    return el('section', {}, view_head('Ranges', 'those with most time'),
        simple_table([['range', 'l'], ['count', '', '60px'], ['total', '', '76px'],
            ['p50', '', '74px'], ['max', '', '74px']], rows.map((row) => range_row(row, rows))));
}

function range_row(row, rows) {
    const parts = row.path.replace(/(^|\/)python:/g, '$1').split('/');
    const inside = rows.filter((other) => other !== row &&
        row.path.startsWith(other.path + '/')).length;
    const name = inside ? parts[parts.length - 1] : parts.join(' / ');
    const last = parts[parts.length - 1];
    const filter = data.names.includes(last) ? () => toggle('range', last) : null;
    return table_row([left_cell(el('span', {dir: 'auto', title: cut_name(row.path, 1000),
        css: {'padding-left': inside * 14 + 'px'}}, cut_name(name))),
    cell(count_text(row.count)), cell(time_cell(row.total_ns)), cell(time_cell(row.p50_ns)),
    cell(time_cell(row.max_ns))], filter, filter ? state.range === last : undefined);
}

add_view({
    key: 'summary', title: 'Summary',
    question: 'Which of my functions, threads, ranges?',
    has: () => true,
    draw: (box) => box.append(el('div', {class: 'columns'}, own_section(), thread_section(),
        wait_section(), range_section())),
});
