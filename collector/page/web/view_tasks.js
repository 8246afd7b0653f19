/* SPDX-License-Identifier: MIT */
/* Requests and tasks of asyncio: how long they take, what the tail is, what blocked the loop. */

const TASK_TOKENS = ['run1', 'own', 'r4', 'r6'];
const LINES_MOST = 4;

/* Columns as a list of objects with names, made once. */
function listed(columns) {
    if (!columns.list) {
        const keys = Object.keys(columns).filter((key) => Array.isArray(columns[key]));
        columns.list = columns.name_of.map((name, index) => Object.fromEntries(
            keys.map((key) => [key, columns[key][index]])
                .concat([['name', data.names[name]]])));
    }
    return columns.list;
}

const in_stretch = (begin) => {
    const {from, to} = seen_stretch();
    return begin >= from && begin < to;
};

/* {key: [those of the list that have it]}. */
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

/* The report's numbers of a name, as far as nothing is filtered: its percentiles are of all. */
function with_report(groups) {
    if (state.stretch)
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

/* A status of 400 and more is a failure; so is a word that is none of success. */
const has_failed = (request) => typeof request.status === 'number' ? request.status >= 400
    : /error|fail|exception|cancel/i.test(String(request.status || ''));

function request_section() {
    const all = listed(data.requests).filter((request) => in_stretch(request.begin));
    if (!data.requests.name_of.length)
        return null;
    if (!all.length)
        return el('section', {class: 'part'}, view_head('Requests', ''),
            nothing_here('No request began in what is looked at.'));
    const groups = with_report([...grouped(all, (one) => one.name)].map(([name, list]) =>
        ({name, list, failed: list.filter(has_failed).length,
            ...quantiles_of(list.map((one) => one.length))}))
        .sort((a, b) => b.total_ns - a.total_ns));
    const tokens = new Map(groups.slice(0, LINES_MOST).map((group, index) =>
        [group.name, TASK_TOKENS[index]]));
    const failures = groups.some((group) => group.failed > 0);
    return el('section', {class: 'part'}, view_head('Requests', request_sentence(all)),
        data_table({id: 'requests', label: 'Requests', rows: groups, shown: 12, sort: -1,
            columns: [name_column('request', tokens),
                {title: 'count', type: 'count', width: '72px', value: (row) => row.count},
                failures ? {title: 'failed', type: 'count', width: '72px',
                    value: (row) => row.failed} : null, ...percentile_columns()]
                .filter(Boolean)}),
        request_charts(all, groups, tokens),
        el('div', {class: 'columns even gapped'}, longest_requests(all), block_section()));
}

function request_sentence(all) {
    const span = seen_stretch();
    const rate = all.length / ((span.to - span.from) / 1e9);
    const failed = all.filter(has_failed).length;
    return `${count_text(all.length)}, ${value_text(Number(rate.toPrecision(3)))} a second` +
        (failed ? `, ${count_text(failed)} failed` : '');
}

function request_charts(all, groups, tokens) {
    const lines = groups.slice(0, LINES_MOST).map((group) => ({name: group.name,
        token: tokens.get(group.name), sorted: group.sorted}));
    return el('div', {class: 'columns even gapped'},
        el('figure', {class: 'panel chart'}, el('figcaption', {}, 'How long each took, when it ' +
            'began', loop_blocks().length ? '; grey: the event loop was blocked' : ''),
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
        el('span', {class: 'dim'}, 'at ' + time_text(dot.time), dot.request.status
            ? ', status ' + cut_name(String(dot.request.status), 40) : '')]};
    }, (request) => to_timeline(request.begin, request.length));
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
            longest.some((one) => one.status) ? {title: 'status', type: 'text', left: true,
                width: '90px', value: (one) => one.status || ''} : null,
            {title: 'began at', type: 'time', width: '84px', value: (one) => one.begin}]
            .filter(Boolean)}));
}

// ---- Tasks of asyncio ---------------------------------------------------------------------------

function task_section() {
    const all = listed(data.tasks).filter((task) => in_stretch(task.begin));
    if (!data.tasks.name_of.length)
        return null;
    const groups = with_report([...grouped(all, (one) => one.name)].map(([name, list]) =>
        ({name, list, await_ns: total_of(list, (one) => one.await_ns),
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
                value: (row) => row.total_ns - row.await_ns, hint: 'it had the event loop, or ' +
                    'waited for it'},
            {title: 'awaited', type: 'time', width: '80px', value: (row) => row.await_ns,
                hint: 'suspended until something else was there'},
            {title: '', left: true, width: '96px', narrow: false, cell: (row) =>
                mini_bar([['run1', 1 - row.await_ns / (row.total_ns || 1)]], '82px')},
            ...percentile_columns()]}), all.length ? null
        : nothing_here('No task began in what is looked at.'));
}

// ---- What blocked the loop ----------------------------------------------------------------------

const loop_blocks = () => data.loop_blocks || [];

function draw_blocks(g, place) {
    g.fillStyle = tone('line');
    for (const {begin, length} of loop_blocks()) {
        const x = Math.max(place.x, dot_x(place, begin));
        const end = Math.min(place.x + place.width, dot_x(place, begin + length));
        if (end > x)
            g.fillRect(x, place.y - 6, Math.max(1.5, end - x), place.height + 14);
    }
}

function block_section() {
    const blocks = loop_blocks().filter((one) => in_stretch(one.begin));
    if (!blocks.length)
        return null;
    return el('section', {}, view_head('Blocked event loop',
        'no other task of the loop could go on meanwhile'),
    data_table({id: 'blocks', label: 'Blocked event loop', rows: blocks, shown: 8, sort: 0,
        key: (one) => String(one.begin), choose: (one) => to_timeline(one.begin, one.length),
        columns: [{title: 'for', type: 'time', width: '84px', value: (one) => one.length},
            {title: 'by', type: 'text', left: true, value: (one) => one.function,
                cell: (one) => el('code', {class: 'own'}, cut_name(one.function))},
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

add_view({key: 'tasks', title: 'Tasks',
    question: 'How long do requests and tasks take, and what is the tail?',
    has: () => data.tasks.name_of.length + data.requests.name_of.length > 0 ||
        table_rows('awaits').length > 0,
    draw: (box) => box.append(...[request_section(), data.requests.name_of.length ? null
        : block_section(), task_section(), await_section()].filter(Boolean))});
