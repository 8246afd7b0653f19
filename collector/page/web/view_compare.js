/* SPDX-License-Identifier: MIT */
/* Comparison with a second recording: which changes are significant? The tables are those of annot
 * diff: a row is one number of one thing in both. */

add_field({name: 'differs', key: 'differs', initial: 'all', read: words('all', 'sure'),
    write: as_is});

/* Verdicts of annot diff, with a sign of the same meaning for readers without colour. */
const VERDICTS = {slower: ['worse', '▲'], more: ['worse', '▲'], new: ['worse', '▲'],
    faster: ['better', '▼'], less: ['better', '▼'], gone: ['better', '▼']};
const INTERVAL_WIDTH = 132, WIDEST_CHANGE = 1;

const signed_share = (change) => (change > 0 ? '+' : change < 0 ? '−' : '') +
    (Math.abs(change) >= 10 ? value_text(Math.abs(change) + 1) + ' ×'
        : share_text(Math.abs(change)));

function value_cell(value, unit) {
    if (value === null || value === undefined)
        return el('span', {class: 'dim'}, '-');
    return unit === 'ns' ? time_cell(value) : unit === 'bytes' ? size_text(value)
        : value_text(value);
}

/* The change as a bar from 0, with its interval as a line; both are clipped to the scale. */
function interval_svg(row, scale) {
    const middle = INTERVAL_WIDTH / 2;
    const x = (change) => middle + Math.max(-1, Math.min(1, change / scale)) * (middle - 2);
    const part = (value) => row.a ? value / Math.abs(row.a) : null;
    const [token] = VERDICTS[row.verdict] || ['ink3'];
    const low = row.low === null || row.low === undefined ? null : part(row.low);
    const high = row.high === null || row.high === undefined ? null : part(row.high);
    const ends = low !== null && high !== null ? [x(low), x(high)] : null;
    const interval = ends
        ? `between ${signed_share(low)} and ${signed_share(high)}` : 'no interval';
    return svg_el('svg', {width: INTERVAL_WIDTH, height: 16, role: 'img', 'aria-label': interval},
        svg_el('line', {x1: middle, x2: middle, y1: 0, y2: 16, stroke: 'var(--line2)'}),
        svg_el('rect', {x: Math.min(middle, x(row.change)), y: 4, height: 8,
            width: Math.max(1, Math.abs(x(row.change) - middle)), fill: `var(--${token})`,
            opacity: 0.45}),
        ends ? [svg_el('line', {x1: ends[0], x2: Math.max(ends[0] + 1, ends[1]), y1: 8, y2: 8,
            stroke: 'var(--ink)'}), ends.map((end) => svg_el('line', {x1: end, x2: end, y1: 5,
            y2: 11, stroke: 'var(--ink)'}))] : null);
}

function verdict_cell(row) {
    const [token, sign] = VERDICTS[row.verdict] || [null, ''];
    return el('span', {class: token ? 'verdict ' + token : 'dim'}, sign ? sign + ' ' : '',
        row.verdict);
}

function compared_columns(scale) {
    return [
        {title: 'what', type: 'text', left: true, value: (row) => row.name, cell: (row) =>
            [el('span', {dir: 'auto', title: cut_name(String(row.name), 1000)},
                range_title(cut_name(String(row.name)))), row.metric && row.metric !== 'value'
                ? el('span', {class: 'dim'}, ' ' + row.metric) : null]},
        {title: 'location', type: 'text', left: true, class: 'place', width: '18%',
            narrow: false, value: (row) => row.place || ''},
        {title: 'A', width: '88px', value: (row) => row.a,
            cell: (row) => value_cell(row.a, row.unit)},
        {title: 'B', width: '88px', value: (row) => row.b,
            cell: (row) => value_cell(row.b, row.unit)},
        {title: 'change', width: '84px', value: (row) => row.change, cell: (row) =>
            row.change === null || row.change === undefined ? '' : signed_share(row.change)},
        {title: '95 % interval', left: true, width: '150px', narrow: false,
            hint: `up to ±${share_text(scale)}`, cell: (row) => row.change === null ||
                row.change === undefined ? '' : interval_svg(row, scale)},
        {title: 'verdict', type: 'text', left: true, width: '104px',
            value: (row) => row.verdict || '', cell: verdict_cell},
    ];
}

function compared_table(table) {
    const all = table.rows.map((row) => row_object(table, row));
    const rows = all.filter((row) => state.differs === 'all' || row.verdict in VERDICTS);
    if (!rows.length)
        return null;
    const most = Math.max(0.05, ...rows.map((row) => Math.abs(row.change || 0)));
    return el('section', {class: 'part'}, view_head(upper_first(table.title || table.name), ''),
        data_table({id: 'compare ' + table.name, label: table.title || table.name, rows,
            columns: compared_columns(Math.min(WIDEST_CHANGE, most)), sort: -1, shown: 15,
            minor: (row) => row.role !== 'plain', notes: table_notes(table)}));
}

/* Tables without both sides are lists of facts. */
const has_sides = (table) => table.rows.length > 0 && ['a', 'b', 'verdict'].every((name) =>
    table.columns.some((column) => column.name === name));

function draw_compare(box) {
    const {compare} = data;
    const tables = compare.tables.filter(has_sides);
    const parts = tables.map(compared_table).filter(Boolean);
    add_to(box, view_head('Compare', `A is ${
        cut_name(compare.file || 'the other recording', 80)}, B is ${
        cut_name(data.facts.file, 80)}, this one`,
    seg('differs', 'Which rows', [['all', 'all'], ['sure', 'significant differences']])),
    ...parts);
    if (!parts.length)
        add_to(box, el('p', {class: 'nothing'}, 'No difference is significant: all may be ' +
            'chance. More recordings per side show smaller changes.'));
}

add_view({key: 'compare', title: 'Compare',
    question: 'What became better or worse, and is that more than chance?',
    has: () => Boolean(data.compare && data.compare.tables.some(has_sides)),
    draw: draw_compare});
