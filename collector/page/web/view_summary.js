/* SPDX-License-Identifier: MIT */
/* Summary: the user's own functions, threads and waits with the most time. */

/* Time by own function, as in the report: libraries count for the innermost own function that
 * called them. Time outside own functions has a name in brackets. [{one, cpu, itself, runnable,
 * blocked, all, line}] */
function own_times() {
    const sums = filtered();
    const times = new Map();
    const time_of = (node) => {
        const index = own_of(node);
        if (!times.has(index))
            times.set(index, {one: functions[index], cpu: 0, itself: 0, runnable: 0, blocked: 0,
                lines: new Map()});
        return times.get(index);
    };
    const add = (node, kind, ns) => {
        const time = time_of(node);
        time[kind] += ns;
        const line = own_line(node, time.one.index);
        time.lines.set(line, (time.lines.get(line) || 0) + ns);
        return time;
    };
    for (let node = 0; node < node_count; node++)
        if (sums.cpu[node]) {
            const time = add(node, 'cpu', sums.cpu[node]);
            if (node_function[node] === time.one.index)
                time.itself += sums.cpu[node];
        }
    for (const wait of sums.off)
        if (!wait.idle)
            add(wait.node, wait.cause === runnable_cause ? 'runnable' : 'blocked', wait.ns);
    return [...times.values()].map(finish_time);
}

function finish_time(time) {
    time.all = time.cpu + time.runnable + time.blocked;
    time.line = report_line(time.one) || [...time.lines].sort((a, b) => b[1] - a[1])[0][0];
    return time;
}

let report_lines = null;

/* The report's hottest line of an own function, unless a filter is set. */
function report_line(one) {
    if (is_filtered())
        return 0;
    report_lines = report_lines || new Map(table_rows('own_functions').map((row) =>
        [row.name + ' ' + String(row.location).replace(/:\d+$/, ''), row.location]));
    const found = /:(\d+)$/.exec(report_lines.get(one.name + ' ' + one.file) || '');
    return found ? Number(found[1]) : 0;
}

/* The function that a node's own time counts for; -1 for the root. */
function own_of(node) {
    return node_own[node] >= 0 ? node_own[node] : node_function[node];
}

/* The line of that function with most of the node's time. */
function own_line(node, index) {
    for (let at = node; at > 0; at = node_parent[at])
        if (node_function[at] === index)
            return node_line[at];
    return 0;
}

const OWN_ROWS = 9;

/* The base of shares: the wall time if the report uses it, else the sum of these times. */
function own_whole(sum) {
    const wall = slot_ns(state.to) - slot_ns(state.from);
    return data.by_wall && state.time === 'wall' && sum <= wall ? wall : sum;
}

function own_section() {
    const wall = state.time === 'wall';
    const size = (time) => wall ? time.all : time.cpu;
    const all = own_times().filter((time) => size(time) > 0).sort((a, b) => size(b) - size(a));
    const total = own_whole(all.reduce((sum, time) => sum + size(time), 0));
    const shown = all.filter((time) => time.one.owner !== OWNER_REST).slice(0, OWN_ROWS);
    const most = shown.length ? size(shown[0]) : 1;
    const rest = all.filter((time) => !shown.includes(time));
    const between = total - all.reduce((sum, time) => sum + size(time), 0);
    return el('section', {}, view_head(wall ? 'Where your code spent its time'
        : 'Where your code spent CPU time', wall ? 'of all its threads'
        : 'with the libraries that it uses', time_switch()),
    simple_table([[wall ? 'time' : 'CPU', '', '76px'], ['share', '', '56px'], ['', 'l', '96px'],
        ['function', 'l'], ['location', 'l', '150px']],
    shown.map((time) => own_row(time, size(time), total, most)), rest.length || between > 0
        ? rest_row(rest, size, total, between) : null),
    shown.length || is_filtered() ? null : el('p', {class: 'sub note'}, no_samples_text()),
    !shown.length ? null : wall ? notes(legend_entry('run1', 'running'),
        legend_entry('runnable', 'runnable'), legend_entry('w-sleep', 'blocked'))
        : notes(legend_entry('own', 'in the function'), legend_entry('lib', 'in what it called')));
}

const no_samples_text = () => node_count > 1
    ? 'None of the time was spent in your own code.'
    : data.facts.sampling === 'no samples' ? 'There are no samples.'
    : data.facts.sampling === 'off' ? 'No CPU time was sampled; annot report shows what the ' +
        'samples measure.'
    : 'It used hardly any CPU time, so no function was sampled; annot record --rate 999 looks ' +
        'more often.';

function own_row(time, ns, total, most) {
    const parts = state.time === 'wall' ? [['run1', time.cpu / most],
        ['runnable', time.runnable / most], ['w-sleep', time.blocked / most]]
        : [['own', time.itself / most], ['lib', (time.cpu - time.itself) / most]];
    return table_row([cell(time_cell(ns)), cell(share_text(ns, total)), left_cell(mini_bar(parts)),
        left_cell(name_el(time.one)), place_cell(time.one, time.line)],
    () => go({view: 'tree', query: time.one.name}));
}

/* "imports, start-up, 12 more functions" */
function rest_row(rest, size, total, between) {
    const ns = rest.reduce((sum, time) => sum + size(time), between);
    const named = rest.filter((time) => time.one.owner === OWNER_REST)
        .map((time) => time.one.name.replace(/^\((.*)\)$/, '$1'));
    const more = rest.length - named.length;
    const others = more + named.slice(3).length;
    const text = [...named.slice(0, 3), others > 0 ? `${count_text(others)} more` : null,
        between > 0 ? 'between samples' : null].filter(Boolean).join(', ');
    return [cell(time_cell(ns)), cell(share_text(ns, total)), cell(),
        el('td', {class: 'l', colspan: 2}, text)];
}

/* Filtered times of each thread; the report's numbers without such filters. */
function thread_times() {
    if (!state.stretch && !state.range && !state.task)
        return data.threads;
    const times = data.threads.map(() => ({cpu_ns: 0, runnable_ns: 0, blocked_ns: 0}));
    const lets = make_filter(false);
    const {cpu, off} = data;
    for (let index = 0; index < cpu.slot.length; index++)
        if (cpu.thread[index] >= 0 && lets(cpu, index))
            times[cpu.thread[index]].cpu_ns += cpu.ns[index];
    for (let index = 0; index < off.slot.length; index++)
        if (off.thread[index] >= 0 && lets(off, index))
            times[off.thread[index]][off.cause[index] === runnable_cause ? 'runnable_ns'
                : 'blocked_ns'] += off.ns[index];
    return times;
}

function thread_rows() {
    const times = thread_times();
    const order = data.threads.map((thread, index) => index).sort((a, b) =>
        times[b].cpu_ns - times[a].cpu_ns || data.threads[b].cpu_ns - data.threads[a].cpu_ns);
    return order.map((index) => {
        const {helper} = data.threads[index];
        const {cpu_ns, runnable_ns, blocked_ns} = times[index];
        const whole = cpu_ns + runnable_ns + blocked_ns || 1;
        return table_row([left_cell(el('span', {dir: 'auto', class: helper ? 'dim' : null,
            title: process_name(data.threads[index].process)}, cut_name(thread_name(index)))),
        cell(time_cell(cpu_ns)), cell(time_cell(runnable_ns)), cell(time_cell(blocked_ns)),
        left_cell(mini_bar([['run1', cpu_ns / whole], ['runnable', runnable_ns / whole],
            ['w-sleep', blocked_ns / whole]], '100%'))],
        () => toggle('thread', index), state.thread === index);
    });
}

const THREAD_ROWS = 12;

function thread_section() {
    const rows = thread_rows();
    const more = rows.length - THREAD_ROWS;
    return el('section', {}, view_head('Processes and threads',
        el('span', {class: 'hint'}, 'a click filters')),
        simple_table([['thread', 'l'], ['CPU', '', '76px'], ['runnable', '', '76px'],
            ['blocked', '', '76px'], ['', 'l', '130px']], rows.slice(0, THREAD_ROWS), more > 0
            ? [left_cell(count_text(more) + ' more'), cell(), cell(), cell(), cell()] : null),
        notes(legend_entry('run1', 'running'), legend_entry('runnable', 'runnable'),
            legend_entry('w-sleep', 'blocked'), state.stretch || state.range || state.task
            ? 'Waits below 1 ms are left out under filters.' : null));
}

/* Waits by cause and own function, without idle ones: [{one, cause, ns, count, max, line}]. */
function wait_places() {
    const places = new Map();
    for (const wait of filtered().off) {
        if (wait.cause === runnable_cause || wait.idle)
            continue;
        const index = own_of(wait.node), line = own_line(wait.node, index);
        const key = [index, wait.cause, line].join();
        const place = places.get(key) || {one: functions[index], cause: wait.cause, line, ns: 0,
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
        left_cell(name_el(place.one)), place_cell(place.one, place.line)]));
    const rest = places.slice(OWN_ROWS - 1).reduce((sum, place) => sum + place.ns, 0);
    return el('section', {}, view_head('What it waited for', 'without helper threads that wait ' +
        'for work'), simple_table([['time', '', '76px'], ['times', '', '60px'],
        ['waits for', 'l', '124px'], ['in', 'l'], ['location', 'l', '150px']], rows, rest > 0
        ? [cell(time_cell(rest)), cell(), left_cell(count_text(places.length - rows.length) +
            ' more'), cell(), cell()] : null));
}

const RANGE_ROWS = 10;

/* The program's own ranges with the most time and the ranges that enclose them, as a tree; the
 * largest tree first. */
function range_rows(name) {
    const all = table_rows(name).filter((row) => ['plain', 'part'].includes(row.role) &&
        row.total_ns > 0);
    const own = all.filter((row) => name !== 'ranges' || !row.observed || all.some((other) =>
        !other.observed && other.path.startsWith(row.path + '/')));
    const rows = own.sort((a, b) => b.total_ns - a.total_ns).slice(0, RANGE_ROWS);
    const root = (row) => row.path.split('/')[0];
    const order = new Map();
    for (const row of rows)
        if (!order.has(root(row)))
            order.set(root(row), order.size);
    return rows.sort((a, b) => order.get(root(a)) - order.get(root(b)) ||
        (a.path < b.path ? -1 : 1));
}

function range_section(name, title) {
    const rows = range_rows(name);
    if (!rows.length)
        return null;
    return el('section', {}, view_head(title, 'those with most time'),
        ignored_filters('stretch', 'process', 'thread', 'task'),
        simple_table([['name', 'l'], ['count', '', '60px'], ['total', '', '76px'],
            ['p50', '', '74px'], ['max', '', '74px']], rows.map((row) => range_row(row, rows))));
}

function range_row(row, rows) {
    const inside = rows.filter((other) => other !== row &&
        row.path.startsWith(other.path + '/')).length;
    const last = last_name(row.path);
    const name = range_title(inside ? last : row.path);
    const filter = data.names.includes(last) ? () => toggle('range', last) : null;
    return table_row([left_cell(el('span', {dir: 'auto', title: cut_name(row.path, 1000),
        css: {'padding-left': inside * 14 + 'px'}}, cut_name(name))),
    cell(count_text(row.count)), cell(time_cell(row.total_ns)), cell(time_cell(row.p50_ns)),
    cell(time_cell(row.max_ns))], filter, filter ? state.range === last : undefined);
}

/* True with CPU time or waits; imported traces often have neither. */
const was_sampled = () => node_count > 1 || data.threads.some((thread) =>
    thread.cpu_ns + thread.runnable_ns + thread.blocked_ns > 0);

/* Functions with counted calls, for recordings without samples. */
function counted_section() {
    const rows = table_rows('calls').map((row, index) => Object.assign(row, {index}));
    if (!rows.length)
        return null;
    const whole = total_of(rows, (row) => row.own_ns) || 1;
    const shown = [...rows].sort((a, b) => b.own_ns - a.own_ns).slice(0, OWN_ROWS);
    return el('section', {}, view_head('Where the time of calls went',
        'without what they called'), simple_table([['own', '', '76px'], ['share', '', '56px'],
        ['calls', '', '84px'], ['function', 'l'], ['location', 'l', '150px']], shown.map((row) =>
        table_row([cell(time_cell(row.own_ns)), cell(share_text(row.own_ns, whole)),
            cell(counted_cell(row, row.call_count)), left_cell(el('code', {dir: 'auto',
                class: count_row_kind(row.owner)}, cut_name(row.name))),
            el('td', {class: 'l place', title: cut_name(row.location || '', 1000)},
                cut_name(row.location || ''))],
        () => go({view: 'counts', counted: row.index}))), rows.length > shown.length
        ? [cell(), cell(), cell(), left_cell(count_text(rows.length - shown.length) + ' more'),
            cell()] : null));
}

/* Lays the available sections out in two columns. */
function draw_summary(box) {
    const ranges = [range_section('ranges', 'Ranges'),
        range_section('track_ranges', 'Tasks and requests')].filter(Boolean);
    const counted = was_sampled() ? null : counted_section();
    const columns = was_sampled() ? [[own_section(), wait_section()],
        [thread_section(), ...ranges]]
        : counted || ranges.length ? [[counted], ranges]
        : [[el('p', {class: 'sub note'}, no_samples_text())]];
    add_to(box, el('div', {class: 'columns'}, columns.filter((column) => column.some(Boolean))
        .map((column) => el('div', {class: 'stack'}, ...column))));
}

add_view({
    key: 'summary', title: 'Summary',
    question: 'Which of my functions, threads, ranges?',
    has: () => !data.flame,
    draw: draw_summary,
});
