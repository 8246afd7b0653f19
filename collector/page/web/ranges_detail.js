/* SPDX-License-Identifier: MIT */
/* Details of one range: distribution of durations, times, outliers. */

const DECADES = ['1 µs', '10 µs', '100 µs', '1 ms', '10 ms', '100 ms', '1 s', '10 s', '100 s']
    .map((text) => text.replace(' ', NARROW));

function range_detail() {
    if (!state.range)
        return null;
    const rows = filter_range_rows(RANGE_TABLES.flatMap(([name]) => ranges_of_table(name)))
        .filter((row) => row.name === range_title(state.range) && row.stats && row.count > 0)
        .sort((a, b) => b.total_ns - a.total_ns);
    if (!rows.length)
        return null;
    const [row] = rows;
    const many = rows.length > 1 ? `, the one of ${rows.length} paths with most time` : '';
    return el('section', {class: 'part'}, view_head(cut_name(row.name, 80),
        `${range_title(cut_name(String(row.path), 120))}${many}`,
        tool_button('Close', 'remove this filter (Esc)', () => go({range: ''}))),
    range_filters() ? el('p', {class: 'sub'}, 'Count, CPU and waits are filtered; lengths ' +
        'and charts cover the whole recording.') : null,
    el('div', {class: 'facts'}, range_facts(row).map(([what, text]) => el('div', {},
        el('span', {class: 'dim'}, what), el('b', {}, text)))),
    el('div', {class: 'columns even'},
        el('figure', {}, el('figcaption', {}, 'How many took how long'),
            canvas_box({label: 'How many took how long', height: 150, draw: (g, width, height) =>
                draw_histogram(g, width, height, row)})),
        el('figure', {}, el('figcaption', {}, 'How many began when'),
            canvas_box({label: 'How many began when', height: 150, draw: (g, width, height) =>
                draw_over_time(g, width, height, row.stats.over_time)}))),
    outlier_table(row));
}

function range_facts(row) {
    return [['count', count_text(row.count)], ['total', time_text(row.total_ns)],
        ['CPU', row.cpu_ns > 0 ? time_text(row.cpu_ns) : null],
        ['blocked', row.blocked_ns > 0 ? time_text(row.blocked_ns) : null],
        ['min', row.min_ns === undefined ? null : time_text(row.min_ns)],
        ['p50', time_text(row.p50_ns)], ['p90', time_text(row.p90_ns)],
        ['p99', time_text(row.p99_ns)], ['max', time_text(row.max_ns)]]
        .filter(([, text]) => text !== null);
}

/* The position of a duration in units of bins: 0 is 1 us, a decade is 4. */
const bin_of = (ns) => 4 * Math.log10(Math.max(1000, ns) / 1000);

function draw_histogram(g, width, height, row) {
    const {bins} = row.stats;
    const used = bins.map((count, bin) => count ? bin : -1).filter((bin) => bin >= 0);
    const first = Math.max(0, Math.floor(Math.min(...used) / 4) * 4);
    const last = Math.min(32, Math.ceil((Math.max(...used) + 1) / 4) * 4);
    const step = width / Math.max(4, last - first);
    const top = 30, bottom = height - 20;
    const most = Math.max(...bins);
    g.fillStyle = tone('run1');
    for (let bin = first; bin < last; bin++)
        if (bins[bin]) {
            const tall = Math.max(2, (bottom - top) * bins[bin] / most);
            g.fillRect((bin - first) * step, bottom - tall, Math.max(1, step - 1.5), tall);
        }
    g.fillStyle = tone('line2');
    g.fillRect(0, bottom, width, 1);
    g.font = '11px ' + TEXT_FONT;
    g.textBaseline = 'alphabetic';
    for (let bin = first; bin <= last; bin += 4) {
        const text = DECADES[bin / 4], wide = g.measureText(text).width;
        const x = (bin - first) * step;
        g.fillStyle = tone('line2');
        g.fillRect(Math.min(width - 1, x), bottom, 1, 4);
        g.fillStyle = tone('ink3');
        g.fillText(text, Math.max(0, Math.min(width - wide, x - wide / 2)), height - 4);
    }
    draw_quantiles(g, row, {first, step, bottom, width});
}

/* Lines at p50, p90 and p99. A label that would overlap another goes below it. */
function draw_quantiles(g, row, {first, step, bottom, width}) {
    let free = -1;
    for (const [name, ns] of [['p50', row.p50_ns], ['p90', row.p90_ns], ['p99', row.p99_ns]]) {
        const x = Math.round((bin_of(ns) - first) * step);
        const text = name + ' ' + time_text(ns), wide = g.measureText(text).width;
        const left = Math.max(0, Math.min(width - wide, x - wide / 2));
        const low = left < free;
        g.fillStyle = tone('own');
        g.fillRect(x, low ? 30 : 16, 1, bottom - (low ? 30 : 16));
        g.fillStyle = tone('ink2');
        g.fillText(text, left, low ? 26 : 12);
        free = low ? free : left + wide + 8;
    }
}

function draw_over_time(g, width, height, counts) {
    const bottom = height - 20, top = 16;
    const most = Math.max(1, ...counts), step = width / counts.length;
    counts.forEach((count, slot) => {
        const at = slot * data.slots / counts.length;
        const inside = at >= state.from && at < state.to;
        g.fillStyle = tone(inside ? 'run1' : 'line2');
        const tall = count ? Math.max(1.5, (bottom - top) * count / most) : 0;
        g.fillRect(slot * step, bottom - tall, Math.max(1, step - 0.6), tall);
    });
    g.font = '11px ' + TEXT_FONT;
    g.textBaseline = 'alphabetic';
    g.fillStyle = tone('ink3');
    g.fillText(`at most ${count_text(most)} in ${
        time_text(data.facts.wall_ns / counts.length)}`, 0, 10);
    draw_axis(g, {x: 0, y: bottom, width}, 0, data.facts.wall_ns);
}

function outlier_table(row) {
    const outliers = row.stats.outliers.filter((one) => one.begin / data.facts.wall_ns *
        data.slots >= state.from && one.begin / data.facts.wall_ns * data.slots < state.to);
    if (!outliers.length)
        return null;
    const columns = [
        {title: 'took', type: 'time', width: '84px', value: (one) => one.length},
        {title: '× p50', width: '72px', value: (one) => one.length / row.p50_ns,
            cell: (one) => value_text(Number((one.length / row.p50_ns).toPrecision(2)))},
        {title: 'began at', type: 'time', width: '92px', value: (one) => one.begin},
        {title: 'thread', type: 'text', left: true,
            value: (one) => one.thread >= 0 ? thread_name(one.thread) : ''}];
    return el('div', {class: 'gapped slim'},
        view_head('Outliers', 'beside their median; a click shows one on the timeline'),
        data_table({id: 'outliers', label: 'Outliers', rows: outliers, columns, shown: 8, sort: 0,
            key: (one) => one.begin + ' ' + one.thread,
            choose: (one) => to_timeline(one.begin, one.length)}));
}
