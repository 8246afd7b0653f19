/* SPDX-License-Identifier: MIT */
/* The rows of the timeline: processes by begin, each with its threads, then its tracks and queues;
 * and the indexes that find a window of time in a row without scanning it.
 *
 * A row: {kind: 'process' | 'quiet' | 'thread' | 'lane', key, process, threads: [index], name,
 * note, levels, density, short, indent; foldable, closed: of a row that stands for others}. */

const QUIET_SHARE = 0.005; // of all CPU time: threads with less are grouped
const LEVELS_MOST = 24; // per row, until the user shows all
const all_levels = new Set(); // keys of rows with all levels shown
const HOLDER_HUE = 0, OTHER_HUE = 7, HUE_ORDER = [3, 5, 2, 4, 1, 6];
const folded_groups = new Map(); // by group key: the user's choice

let timeline_groups = null; // made once
let name_hues = null; // by name: 0 to 7

function lower_bound(values, wanted, low = 0, high = values.length) {
    while (low < high) {
        const middle = (low + high) >> 1;
        if (values[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* By depth: {begin, end, name: sorted arrays, cover: prefix sums of lengths}. */
function lane_levels(lane) {
    const counts = [];
    for (const depth of lane.depth)
        counts[depth] = (counts[depth] || 0) + 1;
    const levels = Array.from(counts, (count) => ({count: 0, begin: new Float64Array(count || 0),
        end: new Float64Array(count || 0), cover: new Float64Array((count || 0) + 1),
        name: new Int32Array(count || 0)}));
    lane.begin.forEach((begin, index) => {
        const level = levels[lane.depth[index]];
        const at = level.count++;
        level.begin[at] = begin;
        level.end[at] = begin + lane.length[index];
        level.name[at] = lane.name_of[index];
        level.cover[at + 1] = level.cover[at] + lane.length[index];
    });
    return levels;
}

/* Names with the most self time get a hue; names that mainly contain others stay grey. */
function hues_of_names() {
    const own = new Float64Array(data.names.length);
    const whole = new Float64Array(data.names.length);
    for (const lane of data.lanes)
        add_own_times(lane, own, whole);
    const hues = new Uint8Array(data.names.length).fill(OTHER_HUE);
    const ranked = Array.from(own.keys()).filter((name) => whole[name] > 0)
        .sort((a, b) => own[b] - own[a]);
    let next = 0;
    for (const name of ranked) {
        if (own[name] < 0.5 * whole[name])
            hues[name] = HOLDER_HUE;
        else if (next < HUE_ORDER.length)
            hues[name] = HUE_ORDER[next++];
    }
    return {hues, ranked: ranked.filter((name) => hues[name] !== HOLDER_HUE &&
        hues[name] !== OTHER_HUE)};
}

function add_own_times(lane, own, whole) {
    const open = [];
    lane.begin.forEach((begin, index) => {
        const depth = lane.depth[index], length = lane.length[index];
        own[lane.name_of[index]] += length;
        whole[lane.name_of[index]] += length;
        if (lane.kind === 'thread' && depth > 0 && open[depth - 1] !== undefined)
            own[open[depth - 1]] -= length;
        open[depth] = lane.name_of[index];
    });
}

/* Prefix sums of slot bytes: the mean of a stretch takes two look-ups. */
function running_sums(bytes) {
    const sums = new Float64Array(bytes.length + 1);
    for (let slot = 0; slot < bytes.length; slot++)
        sums[slot + 1] = sums[slot] + bytes[slot];
    return sums;
}

/* The states of a thread, or of an entry for a role, which rows hold directly. */
const state_of = (thread) => typeof thread === 'object' ? thread : state_of_thread.get(thread);

/* The states of a row with their prefix sums: of a thread, or the sum of its threads. */
const row_states = new Map(); // by row key

function states_of_row(row) {
    if (!row_states.has(row.key)) {
        const known = row.threads.map(state_of).filter((one) => one && one.running.length);
        const all = known.length > 1 ? added_states(known) : known[0];
        row_states.set(row.key, all ? {...all, sums: {running: running_sums(all.running),
            runnable: running_sums(all.runnable)}} : null);
    }
    return row_states.get(row.key);
}

function added_states(list) {
    const added = {running: new Float64Array(data.states.slots),
        runnable: new Float64Array(data.states.slots), cause: []};
    for (const one of list)
        for (let slot = 0; slot < data.states.slots; slot++) {
            added.running[slot] += one.running[slot];
            added.runnable[slot] += one.runnable[slot];
        }
    return added;
}

// ---- Groups -------------------------------------------------------------------------------------

function make_groups() {
    const lanes_of = new Map(), own_lane = new Map();
    for (const lane of data.lanes) {
        if (lane.kind === 'thread' && lane.thread >= 0)
            own_lane.set(lane.thread, lane);
        else
            lanes_of.set(lane.process, (lanes_of.get(lane.process) || []).concat([lane]));
    }
    const all_ns = Math.max(1, total_of(data.threads, (thread) => thread.cpu_ns));
    const groups = data.processes.map((process, index) => {
        const threads = threads_of(index);
        const rows = threads.filter((thread) => state_of(thread) || own_lane.has(thread))
            .map((thread) => thread_row(thread, own_lane.get(thread)));
        const cpu_ns = total_of(threads, (thread) => data.threads[thread].cpu_ns);
        const lanes = (lanes_of.get(index) || []).map((lane, at) => lane_row(lane, index, at));
        return {key: 'p' + index, process: index, begin: process.begin, rows, lanes,
            quiet: cpu_ns < QUIET_SHARE * all_ns && !lanes.length &&
                !rows.some((row) => row.levels.length > 0)};
    });
    return groups.filter((group) => group.rows.length || group.lanes.length)
        .sort((a, b) => a.begin - b.begin);
}

const total_of = (list, value) => list.reduce((sum, one) => sum + value(one), 0);

function threads_of(process) {
    const indexes = [];
    data.threads.forEach((thread, index) => {
        if (thread.process === process)
            indexes.push(index);
    });
    const rank = (index) => data.threads[index].name === 'main' ? 0 : 1;
    return indexes.sort((a, b) => rank(a) - rank(b) ||
        data.threads[a].begin - data.threads[b].begin);
}

function thread_row(index, lane) {
    const thread = data.threads[index];
    return Object.assign({kind: 'thread', key: 't' + index, process: thread.process,
        threads: [index], name: thread.name.replace(/^Thread-\d+ \((.*)\)$/, '$1') || 'main',
        strip: true}, lane_parts(lane, 't' + index));
}

function lane_row(lane, process, at) {
    return Object.assign({kind: 'lane', key: 'l' + process + '.' + at, process, threads: [],
        name: lane.name, note: lane.kind, strip: false},
    lane_parts(lane, 'l' + process + '.' + at));
}

function lane_parts(lane, key) {
    if (!lane)
        return {levels: [], density: null, short: 0};
    const levels = lane_levels(lane);
    const most = all_levels.has(key) ? Infinity : LEVELS_MOST;
    return {levels: levels.slice(0, most), deep: Math.max(0, levels.length - LEVELS_MOST),
        density: lane.short > 0 ? bytes_of(lane.density) : null, short: lane.short};
}

// ---- Visible rows -------------------------------------------------------------------------------

const group_folded = (key, initially) =>
    folded_groups.has(key) ? folded_groups.get(key) : initially;

/* The visible rows, top down. */
function timeline_rows() {
    if (!timeline_groups)
        timeline_groups = make_groups();
    const quiet = timeline_groups.filter((group) => group.quiet);
    const apart = quiet.length > 3 && quiet.length < timeline_groups.length;
    const rows = [];
    for (const group of timeline_groups)
        if (!apart || !group.quiet)
            add_group(rows, group);
    if (apart) {
        const closed = group_folded('others', true);
        rows.push({kind: 'process', key: 'others', name: `${quiet.length} short processes`,
            threads: quiet.flatMap((group) => group.rows
                .flatMap((row) => row.threads)), levels: [], closed, foldable: true});
        if (!closed)
            for (const group of quiet)
                add_group(rows, group, 1);
    }
    return rows.concat(role_rows());
}

/* Rows for threads without their own: the mean of each role. */
function role_rows() {
    return states.filter((one) => one.thread < 0).map((one, index) => ({kind: 'thread',
        key: 'r' + index, process: -1, threads: [one], merged: true, levels: [], density: null,
        short: 0, head: true, name: one.role || 'others',
        note: `${count_text(one.threads)} threads, mean`}));
}

function add_group(rows, group, indent = 0) {
    const process = data.processes[group.process];
    const note = 'pid ' + process.pid;
    const ended = ended_well(process.ended) || /SIGTERM/.test(process.ended) ? '' : process.ended;
    if (group.rows.length === 1 && !group.lanes.length) {
        rows.push(Object.assign({}, group.rows[0], {name: process.name, note, indent, ended,
            head: true}));
        return;
    }
    const closed = group_folded(group.key, false);
    rows.push({kind: 'process', key: group.key, name: process.name, note, indent, ended,
        threads: group.rows.flatMap((row) => row.threads), levels: [], closed, foldable: true});
    if (closed)
        return;
    const is_quiet = (row) => row.kind === 'thread' && !row.levels.length &&
        data.threads[row.threads[0]].name !== 'main' && (data.threads[row.threads[0]].helper ||
            !data.threads[row.threads[0]].busy);
    const quiet = group.rows.filter(is_quiet);
    const hide = quiet.length > 1;
    for (const row of group.rows)
        if (!hide || !is_quiet(row))
            rows.push(Object.assign({}, row, {indent: indent + 1}));
    const empty = group.lanes.filter((row) => !row.levels.length);
    const hide_empty = empty.length > 1;
    rows.push(...group.lanes.filter((row) => !hide_empty || row.levels.length)
        .map((row) => Object.assign({}, row, {indent: indent + 1})));
    if (hide_empty)
        add_quiet(rows, group.key + '.short', empty, {indent,
            name: `${empty.length} tracks of short ranges`});
    if (hide)
        add_quiet(rows, group.key + '.quiet', quiet, {indent,
            name: `${quiet.length} quiet threads`});
}

/* A row that stands for quiet threads until it is opened. */
function add_quiet(rows, key, members, {indent, name}) {
    const closed = group_folded(key, true);
    rows.push({kind: 'quiet', key, name, note: '', indent: indent + 1,
        threads: members.flatMap((row) => row.threads), levels: [], closed, foldable: true});
    if (!closed)
        rows.push(...members.map((row) => Object.assign({}, row, {indent: indent + 2})));
}

const THIN_SHARE = 0.004; // of the whole time: levels with less have no room for names

const THIN_SIZE = 6;

/* Outer levels have room for names, whatever the depth. */
const level_size = (depth) => depth < 8 ? 16 : depth < 14 ? 10 : THIN_SIZE;

/* Heights in CSS pixels: {strip, tops, sizes: of the levels, density: its top, whole}. */
function row_heights(row) {
    if (row.heights)
        return row.heights;
    const has_strip = row.threads.length > 0 && (row.kind === 'thread' || row.closed);
    const strip = has_strip ? (row.kind === 'thread' ? 22 : 18) : 0;
    const thin = row.levels.map((level) =>
        level.cover[level.count] < THIN_SHARE * data.facts.wall_ns);
    const sizes = thin.map((is_thin, depth) => is_thin ? THIN_SIZE : level_size(depth));
    const tops = [];
    let top = strip ? strip + 2 : row.kind === 'lane' ? 2 : 0;
    for (const size of sizes) {
        tops.push(top);
        top += size;
    }
    row.heights = {strip, tops, sizes, density: top,
        whole: Math.max(20, top + (row.density ? 4 : 0))};
    return row.heights;
}
