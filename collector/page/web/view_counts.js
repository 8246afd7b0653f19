/* SPDX-License-Identifier: MIT */
/* Counted calls: calls and time of each function, and callers and callees of the chosen one. The
 * numbers are those of the report, for the whole recording. */

const COUNTS_SHOWN = 25;

add_field({name: 'counted', key: 'counted', initial: 0, write: as_is,
    read: number_below(() => table_rows('calls').length)});

const count_row_kind = (owner) => owner === 'own' ? 'own' : owner === 'library' ||
    owner === 'stdlib' ? '' : 'dim';

/* "~" marks numbers with estimates or missing calls. */
const counted_cell = (callee, count) =>
    (callee && callee.known === 'estimated' ? '~' : '') + count_text(count);

const count_column = (title, name, more) => ({title, type: 'time', width: '84px',
    value: (row) => row[name] === undefined ? null : row[name], ...more});

const count_name = (title, name) => ({title, type: 'text', left: true,
    value: (row) => row[name], cell: (row) => el('code', {class: count_row_kind(row.owner),
        dir: 'auto', title: cut_name(String(row[name]), 1000)}, cut_name(row[name]))});

const count_place = (name) => ({title: 'location', type: 'text', left: true, class: 'place',
    width: '26%', value: (row) => row[name], narrow: false});

function functions_counted(rows) {
    const whole = total_of(rows, (row) => row.own_ns) || 1;
    const has_off = rows.some((row) => row.own_off_ns > 0);
    return data_table({id: 'calls', label: 'Functions by calls', rows, shown: COUNTS_SHOWN,
        sort: -1, notes: table_notes(table_of('calls')), key: (row) => String(row.index),
        choose: (row) => go({counted: row.index}), chosen: (row) => row.index === state.counted,
        columns: [
            count_column('own', 'own_ns', {hint: 'without what it called'}),
            {title: '', width: '62px', cell: (row) => share_text(row.own_ns, whole)},
            {title: 'calls', type: 'count', width: '96px', value: (row) => row.call_count,
                cell: (row) => counted_cell(row, row.call_count)},
            count_column('own per call', 'own_per_call_ns', {narrow: false, width: '100px'}),
            count_column('total', 'total_ns', {hint: 'with what it called; recursion once'}),
            count_column('per call', 'per_call_ns'),
            rows.some((row) => row.max_ns > 0) && count_column('longest', 'max_ns',
                {narrow: false}),
            has_off && count_column('off the CPU', 'own_off_ns', {narrow: false,
                hint: 'part of own'}),
            count_name('function', 'name'), count_place('location')].filter(Boolean)});
}

/* Callers or callees of the chosen function, with calls and times. */
function edges_counted(rows, side) {
    const other = side === 'callers' ? 'caller' : 'callee';
    const edges = table_rows('call_edges')
        .filter((row) => row[side === 'callers' ? 'callee_row' : 'caller_row'] === state.counted)
        .map((row) => Object.assign(row, {index: row[other + '_row'],
            owner: (rows[row[other + '_row']] || {}).owner}))
        .sort((a, b) => b.total_ns - a.total_ns);
    const name = rows[state.counted].name;
    const code = el('code', {dir: 'auto'}, cut_name(name, 80));
    const title = side === 'callers' ? ['Who calls ', code] : ['What ', code, ' calls'];
    if (!edges.length)
        return el('section', {class: 'part gapped'}, view_head(title), empty_text(
            side === 'callers' ? `No caller of ${cut_name(name, 80)} was recorded.`
                : `${cut_name(name, 80)} called no function that was counted.`));
    return el('section', {class: 'part gapped'}, view_head(title), data_table({id: side,
        label: side, rows: edges, shown: 12, sort: -1, key: (row) => String(row.index),
        choose: (row) => rows[row.index] && go({counted: row.index}), columns: [
            {title: 'times', type: 'count', width: '96px', value: (row) => row.call_count,
                cell: (row) => counted_cell(rows[row.callee_row], row.call_count)},
            count_column('own', 'own_ns', {narrow: false}), count_column('total', 'total_ns'),
            count_name(other, other), count_place(other + '_location')]}));
}

function counted_by_context() {
    const table = table_of('calls_by_context');
    if (!table || !table.rows.length)
        return null;
    return el('section', {class: 'part gapped'}, view_head('By task and range',
        'the innermost range that was open where a call was made'), report_table(table,
        {shown: 14, narrow: ['total_ns', 'location'], text_widths: {location: '22%'}}));
}

function draw_counts(box) {
    const rows = table_rows('calls').map((row, index) => Object.assign(row, {index}));
    const {title} = table_of('calls');
    add_to(box, view_head('Calls', title.replace(/^.*\((.*)\)$/, '$1') +
        '; a click shows who called a function and what it called'), functions_counted(rows),
    edges_counted(rows, 'callers'), edges_counted(rows, 'callees'),
    ...[counted_by_context()].filter(Boolean));
}

add_view({key: 'counts', title: 'Calls',
    question: 'How often was each function called, by whom, and how long did that take?',
    has: () => !data.flame && table_rows('calls').length > 0,
    draw: draw_counts});
