/* SPDX-License-Identifier: MIT */
/* GPUs: utilization, kernels and copies, and the program's ranges that launched them or left the
 * GPU idle. The numbers are those of the report, for the whole recording. */

const GPU_ROWS_SHOWN = 20;

const gpu_number = (type, title, name, more) => Object.assign({title, type, width: '80px',
    value: (row) => row[name] === undefined ? null : row[name],
    cell: (row) => row[name] === undefined || row[name] === null ||
        type === 'bytes' && row[name] === 0 ? '' : TYPED_CELLS[type](row[name])}, more);

const gpu_pace = (name, more) => gpu_number('value', 'GB/s', name, {width: '62px', ...more});

const gpu_name = (title, more) => ({title, type: 'text', left: true, value: (row) => row.name,
    cell: (row) => el('span', {dir: 'auto', class: row.role === 'rest' ? null : row.code,
        title: cut_name(String(row.whole_name || row.name), 1000),
        css: {'padding-left': Math.min(10, row.shown_depth || 0) * 14 + 'px'}},
    cut_name(row.name)), ...more});

/* A share of the whole as a number and a bar. */
const gpu_share = (whole, name) => [
    {title: 'share', width: '62px', hint: 'of the GPU time of all', value: (row) => row[name],
        cell: (row) => share_text(row[name] || 0, whole)},
    {title: '', width: '62px', narrow: false,
        cell: (row) => gpu_bar((row[name] || 0) / whole, 52)}];

function gpu_bar(part, whole = 80) {
    const width = Math.max(0, Math.min(1, part || 0)) * whole;
    return svg_el('svg', {width: whole + 2, height: 9, role: 'img', 'aria-label': 'part'},
        svg_el('rect', {x: 0, y: 0, width: whole, height: 9, rx: 2, fill: 'var(--line)'}),
        svg_el('rect', {x: 0, y: 0, width, height: 9, rx: 2, fill: 'var(--run1)'}));
}

/* Rows and rests of a table, with readable names. */
function gpu_rows(name, name_of) {
    const rows = table_rows(name).map((row) => Object.assign(row,
        {whole_name: row.name || row.path, name: row.rest ? row.rest : name_of(row)}));
    return [rows.filter((row) => !row.rest), rows.filter((row) => row.rest)];
}

function gpu_section(name, title, sentence, spec) {
    const table = table_of(name);
    if (!spec.rows.length && !(spec.rest || []).length)
        return null;
    return el('section', {class: 'part'}, view_head(title, sentence),
        data_table({id: name, label: title, shown: GPU_ROWS_SHOWN, sort: -1,
            notes: table_notes(table), ...spec}));
}

// ---- Sections -----------------------------------------------------------------------------------

function gpu_queues_section() {
    const [rows] = gpu_rows('gpu_queues', (row) => row.kind === 'device' ? row.device : row.queue);
    for (const row of rows)
        row.shown_depth = row.kind === 'queue' && row.device ? 1 : 0;
    const several = new Set(rows.map((row) => row.process)).size > 1;
    return gpu_section('gpu_queues', 'Devices and queues',
        'busy: at least one kernel, copy or set ran', {rows, key: (row) =>
            [row.pid, row.device, row.queue].join(' '), columns: [
            gpu_name('device, queue'),
            several ? {title: 'process', type: 'text', left: true, width: '22%',
                value: (row) => row.process} : null,
            gpu_number('count', 'activities', 'count'), gpu_number('time', 'busy', 'busy_ns'),
            {title: 'of', width: '62px', hint: 'of the time in which it was watched',
                value: (row) => row.busy_percent,
                cell: (row) => share_text(row.busy_ns, row.watched_ns)},
            {title: '', width: '90px', cell: (row) => gpu_bar(row.busy_ns / row.watched_ns)},
            gpu_number('time', 'idle', 'idle_ns', {hint: 'while it was watched'}),
            gpu_number('time', 'starved', 'starved_ns',
                {hint: 'of that, without launched work to run'}),
            gpu_number('count', 'gaps', 'gap_count', {narrow: false}),
            gpu_number('time', 'longest', 'longest_gap_ns', {narrow: false}),
        ].filter(Boolean)});
}

/* Charts of the driver's counters, for each device and each program that uses it. */
function gpu_counters_section() {
    const cards_of = new Map();
    for (const counter of data.counters)
        for (const {process, device, counter: name} of counter.devices || []) {
            const key = `${process} ${device}`;
            const {name: program, pid} = data.processes[process] || {name: '', pid: ''};
            const title = `${device} · ${program} ${pid}`;
            cards_of.set(key, [...cards_of.get(key) || [], {title, name, counter}]);
        }
    const charts = (cards) => el('div', {class: 'gapped'},
        el('h3', {dir: 'auto', class: 'device'}, cut_name(cards[0].title)),
        el('div', {class: 'grid3'}, cards.sort((one, other) => one.name < other.name ? -1 : 1)
            .map((card) => counter_card(card.counter, card.name))));
    return cards_of.size ? el('section', {class: 'part'}, view_head('Counters of devices',
        'as the driver counts them, for all users of the device'),
    ...[...cards_of.keys()].sort().map((key) => charts(cards_of.get(key)))) : null;
}

function gpu_kernels_section(whole) {
    const [rows, rest] = gpu_rows('gpu_kernels', (row) => row.short_name);
    for (const row of rows)
        row.code = 'code';
    const has = (name) => rows.some((row) => row[name] !== null && row[name] !== undefined);
    const launched = (row) => row.grid ? `${row.grid} × ${row.block}` +
        (row.shape_count > 1 ? ` (of ${count_text(row.shape_count)})` : '') : '';
    return gpu_section('gpu_kernels', 'Kernels', 'by name; p50: half of them took no longer', {
        rows, rest: rest.filter((row) => row.total_ns > 0), key: (row) => row.whole_name,
        columns: [gpu_name('kernel', {width: '26%'}),
            gpu_number('count', 'count', 'count', {width: '64px'}),
            gpu_number('time', 'total', 'total_ns'), ...gpu_share(whole, 'total_ns'),
            ...gpu_from(rows),
            gpu_number('time', 'p50', 'p50_ns'),
            gpu_number('time', 'max', 'max_ns'),
            {title: 'grid × block', type: 'text', left: true, width: '150px', narrow: false,
                hint: 'as it was launched most often', value: launched},
            gpu_number('count', 'regs', 'registers', {narrow: false, width: '44px',
                hint: 'registers of a thread'}),
            gpu_number('bytes', 'shared', 'shared_bytes', {narrow: false, width: '72px',
                hint: 'memory of a block'}),
            has('occupancy_percent') ? gpu_number('value', 'occ %', 'occupancy_percent',
                {narrow: false, width: '50px', hint: 'theoretical occupancy'})
                : null].filter(Boolean)});
}

/* Columns for the main origin of launches: the range, and the function if launches were sampled. */
function gpu_from(rows) {
    const has = (name) => rows.some((row) => row[name]);
    const shown = (row) => row.range ? range_title(last_name(row.range))
        : row.range === '' ? '(outside)' : '';
    const whole = (row) => row.range ? range_title(row.range) : shown(row);
    return [has('range') ? {title: 'launched from', type: 'text', left: true, width: '15%',
        narrow: false, hint: 'the range from which most of its time was launched', value: shown,
        cell: (row) => el('span', {dir: 'auto', title: cut_name(whole(row), 1000)},
            cut_name(shown(row)))} : null,
    has('function') ? {title: 'by', type: 'text', left: true, width: '12%', narrow: false,
        hint: 'the innermost function of one’s own in the stacks of its launches',
        value: (row) => row.function || '',
        cell: (row) => el('span', {dir: 'auto', class: 'code',
            title: cut_name(row.location || '', 1000)}, cut_name(row.function || ''))} : null];
}

/* Orders rows as a tree; the name of an inner row is the rest of its path. */
function gpu_tree(rows) {
    const by_path = new Map(rows.map((row) => [row.path, row]));
    const inside = new Map();
    for (const row of rows) {
        let above = row.path.lastIndexOf('/');
        while (above > 0 && !by_path.has(row.path.slice(0, above)))
            above = row.path.lastIndexOf('/', above - 1);
        const parent = above > 0 ? by_path.get(row.path.slice(0, above)) : null;
        row.name = range_title(parent ? row.path.slice(above + 1) : row.path);
        inside.set(parent, (inside.get(parent) || []).concat([row]));
    }
    const out = [];
    const add = (list, depth) => list.forEach((row) => {
        row.shown_depth = depth;
        out.push(row);
        add(inside.get(row) || [], depth + 1);
    });
    add(inside.get(null) || [], 0);
    return out;
}

function gpu_ranges_section(whole) {
    const [all, rest] = gpu_rows('gpu_ranges', (row) => row.path);
    index_range_stats();
    for (const row of all) {
        const path = path_by_text.get(row.path);
        row.index = path > 0 ? path : -1;
    }
    const rows = gpu_tree(all);
    const has = (name) => [...rows, ...rest].some((row) => row[name] > 0);
    return gpu_section('gpu_ranges', 'Ranges',
        'GPU: work that was launched inside of them; idle: nothing ran while they were open', {
            rows, rest: rest.filter((row) => row.launched > 0).map((row) => ({...row,
                name: row.rest === 'outside' ? 'outside of all ranges' : row.rest})),
            minor: (row) => !(row.gpu_ns > 0 || row.idle_ns > 0), key: (row) => row.path,
            chosen: (row) => row.index >= 0 && state.range === gpu_range_name(row),
            choose: (row) => row.index >= 0 && toggle('range', gpu_range_name(row)),
            columns: [gpu_name('range'), gpu_number('time', 'open', 'total_ns'),
                gpu_number('count', 'launches', 'launched', {width: '70px'}),
                gpu_number('time', 'GPU', 'gpu_ns'), ...gpu_share(whole, 'gpu_ns'),
                gpu_number('time', 'idle', 'idle_ns', {hint: 'no queue of the process was busy'}),
                gpu_number('time', 'starved', 'starved_ns', {narrow: false,
                    hint: 'of that, without launched work to run'}),
                has('launch_call_ns') ? gpu_number('time', 'launching', 'launch_call_ns',
                    {narrow: false, hint: 'in calls that launch'}) : null,
                gpu_number('time', 'delay', 'delay_p50_ns', {narrow: false,
                    hint: 'from launch to begin: half of them waited no longer'}),
                gpu_number('time', 'p95', 'delay_p95_ns', {narrow: false}),
                has('to_device_bytes') ? gpu_number('bytes', 'to GPU', 'to_device_bytes',
                    {narrow: false}) : null,
                has('to_device_bytes') ? gpu_pace('to_device_gb_per_s', {narrow: false}) : null,
                has('from_device_bytes') ? gpu_number('bytes', 'from GPU', 'from_device_bytes',
                    {narrow: false}) : null,
                has('from_device_bytes') ? gpu_pace('from_device_gb_per_s', {narrow: false})
                    : null].filter(Boolean)});
}

/* For graphs that are captured once and launched often. */
function gpu_captures_section(whole) {
    const [rows] = gpu_rows('gpu_captures', (row) => row.captured_in);
    return gpu_section('gpu_captures', 'Graphs by the ranges that captured them',
        'what their kernels and copies took in all launches', {
            rows, key: (row) => row.captured_in, columns: [
                gpu_name('captured in'), gpu_number('count', 'count', 'count'),
                gpu_number('time', 'GPU', 'gpu_ns'), ...gpu_share(whole, 'gpu_ns'),
                gpu_number('time', 'mean', 'mean_ns')]});
}

const gpu_range_name = (row) => data.names[data.paths.name[row.index]];

function gpu_operations_section() {
    const [rows] = gpu_rows('gpu_operations', (row) => row.direction
        ? `${row.name} (${row.direction})` : row.name);
    return gpu_section('gpu_operations', 'Copies and other operations',
        'waits are those of the program’s threads for the GPU', {rows,
            minor: (row) => row.role === 'minor', key: (row) => row.name, columns: [
                gpu_name('operation'), gpu_number('count', 'count', 'count'),
                gpu_number('time', 'total', 'total_ns'), gpu_number('bytes', 'bytes', 'bytes'),
                gpu_pace('gb_per_s'), ...gpu_from(rows), gpu_number('time', 'p50', 'p50_ns'),
                gpu_number('time', 'p95', 'p95_ns', {narrow: false}),
                gpu_number('time', 'max', 'max_ns')].filter(Boolean)});
}

/* Each kernel, and below it the stall reasons of its warps. */
function gpu_stalls_section() {
    const [rows] = gpu_rows('gpu_stalls', (row) => row.reason ||
        (row.kernel ? String(row.kernel) : ''));
    let kernel = null;
    for (const row of rows) {
        kernel = row.reason ? kernel : row;
        row.of_kernel = kernel ? kernel.samples : row.samples;
        row.kernel_name = kernel ? kernel.kernel : '';
        row.whole_name = row.reason ? row.reason : row.kernel;
        row.shown_depth = row.reason ? 1 : 0;
        row.code = row.reason ? null : 'code';
    }
    return gpu_section('gpu_stalls', 'Stall reasons',
        'samples of warps by kernel; not issued: no other warp went on either', {
            rows, key: (row) => [row.kernel_name, row.reason].join(' '), columns: [
                gpu_name('kernel, stalled on'), gpu_number('count', 'samples', 'samples'),
                {title: '%', width: '62px', hint: 'of the kernel’s',
                    value: (row) => row.samples / row.of_kernel,
                    cell: (row) => share_text(row.samples, row.of_kernel)},
                {title: '', width: '90px', narrow: false,
                    cell: (row) => gpu_bar(row.samples / row.of_kernel)},
                gpu_number('count', 'not issued', 'not_issued', {narrow: false}),
                {title: 'most at', type: 'text', width: '90px', narrow: false,
                    hint: 'bytes from the begin of the kernel', value: (row) => row.top_pc},
                gpu_number('count', 'there', 'top_samples', {narrow: false,
                    hint: 'samples at that place'})]});
}

function draw_gpu(box) {
    const whole = total_of(table_rows('gpu_kernels'), (row) => row.total_ns) || 1;
    const parts = [gpu_queues_section(), gpu_counters_section(), gpu_kernels_section(whole),
        gpu_stalls_section(), gpu_ranges_section(whole), gpu_captures_section(whole),
        gpu_operations_section()].filter(Boolean);
    if (is_filtered())
        parts[0].append(el('p', {class: 'sub note'},
            'Numbers of GPUs are of the whole recording, whatever the filters are.'));
    add_to(box, ...parts);
}

add_view({key: 'gpu', title: 'GPU',
    question: 'How busy were the GPUs, with what, and who launched it?',
    has: () => !data.flame && table_rows('gpu_queues').length > 0, draw: draw_gpu});
