/* SPDX-License-Identifier: MIT */
/* asyncio requests and tasks: durations, tail, and blocks of the event loop. */

const TASK_TOKENS = ['run1', 'own', 'r4', 'r6'];
const LINES_MOST = 4;

/* Converts columns to a list of objects with names, once. */
function listed(columns) {
    if (!columns.list) {
        const keys = Object.keys(columns).filter((key) => Array.isArray(columns[key]));
        columns.list = columns.begin.map((begin, index) => Object.fromEntries(
            keys.map((key) => [key, columns[key][index]])
                .concat(columns.name_of ? [['name', data.names[columns.name_of[index]]]] : [])));
    }
    return columns.list;
}

const in_stretch = (begin) => {
    const {from, to} = seen_stretch();
    return begin >= from && begin < to;
};

/* Entries that began in the stretch, on a thread that passes the filters. */
function seen_of(columns) {
    const threads = passing_threads();
    const any = state.thread < 0 && state.process < 0;
    return listed(columns).filter((one) => in_stretch(one.begin) && (any || threads[one.thread]));
}

/* Map of key to entries of the list. */
function grouped(list, key) {
    const groups = new Map();
    for (const one of list) {
        const of = groups.get(key(one));
        if (of)
            of.push(one);
        else
            groups.set(key(one), [one]);
    }
    return groups;
}

/* Uses the report's numbers of a name if there is no filter, as its percentiles cover all
 * entries. */
function with_report(groups) {
    if (times_differ())
        return groups;
    const rows = new Map(table_rows('track_ranges').map((row) => [row.path, row]));
    return groups.map((group) => {
        const row = rows.get(group.name);
        return row && row.count === group.count ? {...group, ...row, name: group.name} : group;
    });
}

const percentile_columns = () => [['total', 'total_ns', false], ['p50', 'p50_ns'],
    ['p90', 'p90_ns', false], ['p99', 'p99_ns'], ['max', 'max_ns']].map(([title, name, narrow]) =>
    ({title, type: 'time', width: '80px', narrow, value: (row) => row[name]}));

function name_column(title, tokens) {
    return {title, type: 'text', left: true, value: (row) => row.name, cell: (row) => {
        const token = tokens && tokens.get(row.name);
        return [token ? [swatch(token), ' '] : null, el('span', {dir: 'auto',
            title: cut_name(row.name, 1000)}, cut_name(range_title(row.name)))];
    }};
}

// ---- Requests -----------------------------------------------------------------------------------

/* Failures are statuses of 400 and above, and words that indicate one. */
const has_failed = (request) => typeof request.status === 'number' ? request.status >= 400
    : /error|fail|exception|cancel/i.test(String(request.status || ''));

function request_section() {
    const all = seen_of(data.requests);
    if (!data.requests.name_of.length)
        return null;
    if (!all.length)
        return el('section', {class: 'part'}, view_head('Requests', ''),
            empty_text('No request began in this selection.'));
    const groups = with_report([...grouped(all, (one) => one.name)].map(([name, list]) =>
        ({name, list, failed: list.filter(has_failed).length,
            ...quantiles_of(list.map((one) => one.length))}))
        .sort((a, b) => b.total_ns - a.total_ns));
    const tokens = new Map(groups.map((group, index) =>
        [group.name, TASK_TOKENS[index] || 'w-other']));
    const failures = groups.some((group) => group.failed > 0);
    return el('section', {class: 'part'}, view_head('Requests', request_sentence(all)),
        data_table({id: 'requests', label: 'Requests', rows: groups, shown: 12, sort: -1,
            columns: [name_column('request', tokens),
                {title: 'count', type: 'count', width: '72px', value: (row) => row.count},
                failures ? {title: 'failed', type: 'count', width: '72px',
                    value: (row) => row.failed} : null, ...percentile_columns()]
                .filter(Boolean)}),
        request_charts(all, groups, tokens),
        el('div', {class: 'columns even gapped'}, longest_requests(all), status_table(all)),
        request_notes());
}

function request_sentence(all) {
    const span = seen_stretch();
    const rate = all.length / ((span.to - span.from) / 1e9);
    const failed = all.filter(has_failed).length;
    return `${counted(all.length, 'request')}, ` +
        `${value_text(Number(rate.toPrecision(3)))} a second` +
        (failed ? `, ${count_text(failed)} failed` : '');
}

function request_charts(all, groups, tokens) {
    const lines = groups.slice(0, LINES_MOST).map((group) => ({name: group.name,
        token: tokens.get(group.name), sorted: group.sorted}));
    return el('div', {class: 'columns even gapped'},
        el('figure', {class: 'panel chart'}, el('figcaption', {}, 'How long each took, when it ' +
            'began', loop_blocks().length ? '; shaded: the event loop was blocked' : ''),
        request_dots(all, tokens)),
        el('figure', {class: 'panel chart'}, el('figcaption', {}, 'The tail: no request of the ' +
            'share below took longer'), canvas_box({height: 230, label: 'Percentiles of requests',
            draw: (g, width, height) => draw_tail(g, width, height, lines)})));
}

function request_dots(all, tokens) {
    const dots = all.map((request) => ({time: request.begin, ns: request.length, request,
        token: tokens.get(request.name) || 'w-other'}));
    const place = {x: 64, y: 12, height: 176, ...seen_stretch(),
        decades: decades_of(all.map((request) => request.length))};
    const canvas = canvas_box({height: 230, label: 'How long each request took', draw:
        (g, width) => {
            place.width = width - place.x - 6;
            draw_blocks(g, place);
            draw_decades(g, place);
            draw_dots(g, place, dots);
            draw_axis(g, {x: place.x, y: place.y + place.height + 8, width: place.width},
                place.from, place.to);
        }});
    return chart_pointer(canvas, (x, y) => {
        const dot = dot_near(place, dots, x, y);
        return dot && {one: dot.request, tip: [el('b', {dir: 'auto'},
            cut_name(dot.request.name, 120)), ' ', time_text(dot.ns), el('br'),
        el('span', {class: 'dim'}, 'at ' + time_text(dot.time), has_status(dot.request)
            ? ', status ' + cut_name(String(dot.request.status), 40) : '')]};
    }, (request) => to_timeline(request.begin, request.length));
}

const has_status = (request) => request.status !== null && request.status !== undefined;

/* Requests by outcome, from the "status" value given by the program. */
function status_table(all) {
    const known = all.filter(has_status);
    if (!known.length)
        return null;
    const groups = [...grouped(known, (one) => one.status)].map(([status, list]) =>
        ({status, list, failed: has_failed(list[0]),
            ...quantiles_of(list.map((one) => one.length))})).sort((a, b) => b.count - a.count);
    const without_status = all.length - known.length;
    return el('section', {}, view_head('Status', 'what the program gave as “status”'),
        data_table({id: 'statuses', label: 'Status of requests', rows: groups, shown: 8, sort: 1,
            columns: [{title: 'status', type: 'text', left: true,
                value: (row) => String(row.status), cell: (row) => [cut_name(String(row.status)),
                    row.failed ? el('span', {class: 'failed'}, ' failed') : null]},
            {title: 'count', type: 'count', width: '72px', value: (row) => row.count},
            {title: 'share', type: 'share', width: '64px', value: (row) => row.count / all.length},
            {title: 'p50', type: 'time', width: '84px', value: (row) => row.p50_ns},
            {title: 'p99', type: 'time', width: '84px', value: (row) => row.p99_ns}],
            notes: without_status > 0 ? [`${count_text(without_status)} without a status.`] : []}));
}

function request_notes() {
    return data.requests.more > 0 ? notes(`The ${count_text(data.requests.begin.length)} longest ` +
        `are here; ${count_text(data.requests.more)} more are in the tables of ranges.`) : null;
}

function longest_requests(all) {
    const longest = all.slice().sort((a, b) => b.length - a.length).slice(0, 60);
    return el('section', {}, view_head('Longest requests',
        'a click shows one on the timeline'), data_table({id: 'longest requests', sort: 0,
        label: 'Longest requests', rows: longest, shown: 8,
        key: (one) => one.begin + ' ' + one.name,
        choose: (one) => to_timeline(one.begin, one.length), columns: [
            {title: 'took', type: 'time', width: '84px', value: (one) => one.length},
            {title: 'request', type: 'text', left: true, value: (one) => one.name},
            longest.some(has_status) ? {title: 'status', type: 'text', left: true,
                width: '90px', value: (one) => has_status(one) ? String(one.status) : ''} : null,
            {title: 'began at', type: 'time', width: '84px', value: (one) => one.begin}]
            .filter(Boolean)}));
}

// ---- Tasks of asyncio ---------------------------------------------------------------------------

function task_section() {
    const all = seen_of(data.tasks);
    if (!data.tasks.name_of.length)
        return null;
    const groups = with_report([...grouped(all, (one) => one.name)].map(([name, list]) =>
        ({name, list, awaiting_ns: total_of(list, (one) => one.awaiting_ns),
            ...quantiles_of(list.map((one) => one.length))}))
        .sort((a, b) => b.total_ns - a.total_ns));
    const can = (row) => functions.some((one) => one.name === range_title(row.name));
    return el('section', {class: 'part'}, view_head('Tasks of asyncio',
        'all tasks of a function together; a click filters by it'),
    data_table({id: 'asyncio tasks', label: 'Tasks of asyncio', rows: groups, shown: 16,
        sort: -1, key: (row) => row.name,
        chosen: (row) => state.task === range_title(row.name),
        choose: (row) => can(row) && toggle('task', range_title(row.name)), columns: [
            name_column('task', null),
            {title: 'count', type: 'count', width: '72px', value: (row) => row.count},
            {title: 'ran', type: 'time', width: '80px', 
                value: (row) => row.total_ns - row.awaiting_ns, hint: 'it had the event loop, or ' +
                    'waited for it'},
            {title: 'awaited', type: 'time', width: '80px', value: (row) => row.awaiting_ns,
                hint: 'suspended until an awaited result was ready'},
            {title: '', left: true, width: '96px', narrow: false, cell: (row) =>
                mini_bar([['run1', 1 - row.awaiting_ns / (row.total_ns || 1)]], '82px')},
            ...percentile_columns()]}), all.length ? null
        : empty_text('No task began in this selection.'));
}

// ---- Blocks of the event loop -------------------------------------------------------------------

const loop_blocks = () => seen_of(data.loop_blocks);

/* The report's row for the function that blocked the loop. */
function blocker_of(block) {
    const table = table_of('loop_blocks');
    const row = table && block.row >= 0 ? table.rows[block.row] : null;
    return row ? row_object(table, row) : {name: '(not listed)', location: ''};
}

function draw_blocks(g, place) {
    g.fillStyle = tone('block');
    for (const {begin, length} of loop_blocks()) {
        const x = Math.max(place.x, dot_x(place, begin));
        const end = Math.min(place.x + place.width, dot_x(place, begin + length));
        if (end > x)
            g.fillRect(x, place.y - 6, Math.max(1.5, end - x), place.height + 14);
    }
}

/* Blocks by function, as in the report, and individually. */
function block_section() {
    const blocks = loop_blocks();
    if (!data.loop_blocks.begin.length)
        return null;
    const time_ns = total_of(blocks, (one) => one.ns);
    const times = blocks.length === 1 ? 'once' : count_text(blocks.length) + ' times';
    return el('section', {class: 'part'}, view_head('Blocked event loop', blocks.length
        ? `${times}, ${time_text(time_ns)} in all: no other task could run meanwhile` : ''),
    blocks.length ? el('div', {class: 'columns even gapped'}, blocker_table(blocks),
        block_table(blocks)) : empty_text('No step blocked the loop in this selection.'),
    notes('The loop ran one step for 45 ms and longer while another task had to wait; without ' +
        'the time it had no processor.', data.loop_blocks.more > 0
        ? count_text(data.loop_blocks.more) + ' shorter ones are only in the sums.' : null));
}

/* The report's rows if there is no filter, as they include blocks omitted from the page. */
function blocker_rows(blocks) {
    if (!times_differ())
        return table_rows('loop_blocks').filter((row) => row.role !== 'rest');
    return [...grouped(blocks, (one) => one.row)].map(([, list]) => ({...blocker_of(list[0]),
        count: list.length, total_ns: total_of(list, (one) => one.ns), blocked_ns: null,
        max_ns: Math.max(...list.map((one) => one.ns))}))
        .sort((a, b) => b.total_ns - a.total_ns);
}

function blocker_table(blocks) {
    const rows = blocker_rows(blocks);
    const time = (title, name, more) => ({title, type: 'time', width: '84px',
        value: (row) => row[name], ...more});
    return el('section', {}, view_head('What blocked it', ''),
        data_table({id: 'blockers', label: 'What blocked it', rows, shown: 8, sort: -1, columns: [
            {title: 'function', type: 'text', left: true, value: (row) => row.name,
                cell: (row) => [el('code', {class: 'own', dir: 'auto'}, cut_name(row.name)), ' ',
                    el('span', {class: 'place', title: row.location},
                        short_place(row.location || ''))]},
            {title: 'count', type: 'count', width: '60px', value: (row) => row.count},
            time('total', 'total_ns'), time('max', 'max_ns'),
            rows.some((row) => row.blocked_ns > 0) ? time('blocked', 'blocked_ns', {narrow: false,
                hint: 'of the total: the function waited, it did not compute'}) : null]
            .filter(Boolean)}));
}

function block_table(blocks) {
    return el('section', {}, view_head('Each time', 'a click shows one on the timeline'),
        data_table({id: 'blocks', label: 'Blocked event loop', rows: blocks, shown: 8, sort: 0,
            key: (one) => String(one.begin), choose: (one) => to_timeline(one.begin, one.length),
            columns: [{title: 'for', type: 'time', width: '84px', value: (one) => one.ns},
                {title: 'by', type: 'text', left: true, value: (one) => blocker_of(one).name,
                    cell: (one) => el('code', {class: 'own'}, cut_name(blocker_of(one).name))},
                {title: 'held up', type: 'count', width: '72px', value: (one) => one.others,
                    hint: 'tasks that went on as soon as it was over'},
                {title: 'at', type: 'time', width: '84px', value: (one) => one.begin}]}));
}

function await_section() {
    const table = table_of('awaits');
    if (!table || !table.rows.length)
        return null;
    return el('section', {class: 'part'}, view_head('Awaits', 'where tasks were suspended; they ' +
        'overlap'), report_table(table, {shown: 14, narrow: ['mean_ns', 'count'],
        text_widths: {location: '26%', awaits: '28%'}}));
}

function coroutine_section() {
    const table = table_of('coroutines');
    if (!table || !table.rows.length)
        return null;
    return el('section', {class: 'part'}, view_head('Coroutines', 'calls from begin to end; ' +
        'running is with what they called'), report_table(table, {shown: 14,
        narrow: ['mean_ns', 'max_ns'], text_widths: {location: '26%'}}));
}

add_view({key: 'tasks', title: 'Tasks',
    question: 'How long do requests and tasks take, and what is the tail?',
    has: () => data.tasks.name_of.length + data.requests.name_of.length > 0 ||
        table_rows('awaits').length + data.loop_blocks.begin.length > 0,
    draw: (box) => add_to(box, ...[ignored_filters('range', 'task'), request_section(),
        block_section(), task_section(), coroutine_section(), await_section()].filter(Boolean))});
