/* SPDX-License-Identifier: MIT */
/* Tables of the views: sortable columns, rows selected by arrow keys and Enter, a remainder at the
 * end, and more rows on demand.
 *
 * data_table({id, label, columns, rows, rest, notes, shown, sort, down, choose, chosen, key}):
 *   columns  [{title, type, width, narrow: false to hide it at 800 pixels, hint, class,
 *              value: (row) => sort key, cell: (row) => nodes or a text}]; with a type
 *              ('time', 'count', 'share', 'bytes', 'value', 'text') `cell` comes from `value`
 *   rows     anything; rest: rows of the same kind, not sorted and always last
 *   shown    number of rows shown initially
 *   minor    (row) => true if it is not shown initially
 *   sort     the index of a column, and down: the largest first
 *   choose   called with a row by Enter and click; chosen: (row) => true to highlight it
 *   key      (row) => a unique text, by which the focus survives a redraw */

const table_orders = new Map(); // by id: the user's sort order, and if all rows are shown
let table_focus = null; // {id, key}: the row that had the focus before a redraw

const TYPED_CELLS = {
    time: (value) => time_cell(value), count: (value) => count_text(value),
    share: (value) => share_text(value), bytes: (value) => size_text(value),
    value: (value) => value_text(value), text: (value) => cut_name(String(value)),
};

const is_left = (column) => column.left || column.type === 'text';

function data_table(spec) {
    const box = el('div', {class: 'tablebox'});
    const order = table_orders.get(spec.id) || {sort: spec.sort, down: spec.down !== false};
    table_orders.set(spec.id, order);
    const draw = (focus_head) => {
        box.replaceChildren(...table_parts(spec, order, draw));
        if (focus_head)
            box.querySelectorAll('thead button')[focus_head - 1].focus();
    };
    draw();
    keep_table_focus(spec, box);
    return box;
}

function table_parts(spec, order, draw) {
    const all = sorted_rows(spec, order);
    const rows = order.all ? all : first_rows(spec, all);
    const hidden = all.length - rows.length;
    const body = el('tbody', {}, rows.map((row, index) => table_row_el(spec, row, index === 0)));
    const rest = (spec.rest || []).map((row) => el('tr', {class: 'rest'}, row_cells(spec, row)));
    body.append(...rest);
    walk_rows(spec, body);
    const table = el('table', {class: 'fixed', 'aria-label': spec.label},
        el('colgroup', {}, spec.columns.map((column) => el('col', {class: narrow_class(column),
            css: column.width ? {width: column.width} : {}}))),
        el('thead', {}, el('tr', {}, spec.columns.map((column, index) =>
            head_cell(spec, order, draw, {column, index})))), body);
    const parts = [table];
    if (hidden || order.all && first_rows(spec, all).length < all.length)
        parts.push(more_button(order, hidden, draw));
    return parts.concat((spec.notes || []).map((note) => el('p', {class: 'sub note'}, note)));
}

const MINOR_SHOWN = 10; // if all rows are minor

/* The rows shown initially. Shows all if only one or two would be hidden by `shown`. */
function first_rows(spec, all) {
    const important = spec.minor ? all.filter((row) => !spec.minor(row)) : all;
    const major = important.length ? important : all.slice(0, MINOR_SHOWN);
    return major.length - (spec.shown || Infinity) > 2 ? major.slice(0, spec.shown) : major;
}

function sorted_rows(spec, order) {
    const column = spec.columns[order.sort];
    if (!column || !column.value)
        return spec.rows.slice();
    const sign = order.down ? -1 : 1;
    const compare = (a, b) => {
        const [x, y] = [column.value(a), column.value(b)];
        if (x === y)
            return 0;
        if (x === null || x === undefined || y === null || y === undefined)
            return x === null || x === undefined ? 1 : -1;
        return typeof x === 'string' ? sign * x.localeCompare(y) : sign * (x - y);
    };
    return spec.rows.map((row, index) => ({row, index}))
        .sort((a, b) => compare(a.row, b.row) || a.index - b.index).map((one) => one.row);
}

const narrow_class = (column) => column.narrow === false ? 'wide' : null;

function head_cell(spec, order, draw, {column, index}) {
    const sorted = order.sort === index && column.value;
    const classes = [is_left(column) ? 'l' : '', narrow_class(column) || ''].join(' ').trim();
    const flip = () => {
        order.down = sorted ? !order.down : column.type !== 'text';
        order.sort = index;
        draw(index + 1 - spec.columns.slice(0, index).filter((one) => !one.value).length);
    };
    const sort = sorted ? (order.down ? 'descending' : 'ascending') : null;
    if (!column.title)
        return el('td', {class: classes || null});
    return el('th', {class: classes || null, scope: 'col', 'aria-sort': sort,
        title: column.hint}, column.value && spec.rows.length > 1
        ? el('button', {class: sorted ? 'sorted' : null, on: {click: flip}}, column.title,
            sorted ? el('span', {class: 'sortmark', 'aria-hidden': 'true'},
                order.down ? ' ↓' : ' ↑') : null)
        : column.title);
}

function table_row_el(spec, row, first) {
    const chosen = spec.chosen && spec.chosen(row);
    const attributes = {class: [chosen ? 'on' : '', spec.row_class ? spec.row_class(row) : '']
        .join(' ').trim() || null, 'data-key': spec.key ? spec.key(row) : null};
    if (spec.choose) {
        Object.assign(attributes, {tabindex: first ? 0 : -1,
            'aria-selected': spec.chosen ? String(Boolean(chosen)) : null});
        attributes.on = {click: (event) => event.target.closest('a, button') ||
            String(getSelection()) || spec.choose(row)};
    }
    const line = el('tr', attributes, row_cells(spec, row));
    line.row = row;
    return line;
}

function row_cells(spec, row) {
    return spec.columns.map((column) => {
        const classes = [is_left(column) ? 'l' : '', column.class || '', narrow_class(column) || '']
            .join(' ').trim();
        return el('td', {class: classes || null, dir: column.type === 'text' ? 'auto' : null},
            cell_content(column, row));
    });
}

function cell_content(column, row) {
    if (column.cell)
        return column.cell(row);
    const value = column.value(row);
    if (value === null || value === undefined)
        return '';
    return TYPED_CELLS[column.type || 'text'](value);
}

function more_button(order, hidden, draw) {
    return el('button', {class: 'more', on: {click: (event) => {
        const box = event.target.parentNode;
        order.all = !order.all;
        draw();
        box.querySelector('button.more').focus();
    }}}, hidden ? `Show ${count_text(hidden)} more` : 'Show fewer');
}

/* One row is in the tab order; arrow keys move from there. */
function walk_rows(spec, body) {
    if (!spec.choose)
        return;
    body.addEventListener('focusin', (event) => {
        const line = event.target.closest('tr');
        for (const other of body.querySelectorAll('tr[tabindex="0"]'))
            other.tabIndex = -1;
        line.tabIndex = 0;
        table_focus = {id: spec.id, key: line.dataset.key};
    });
    body.addEventListener('focusout', (event) => {
        if (event.relatedTarget)
            table_focus = null;
    });
    body.addEventListener('keydown', (event) => row_key(spec, body, event));
}

function row_key(spec, body, event) {
    const line = event.target.closest('tr');
    const lines = [...body.querySelectorAll('tr[tabindex]')];
    const at = lines.indexOf(line);
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== line)
        return;
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1,
        PageDown: at + 10, PageUp: at - 10}[event.key];
    if (event.key === 'Enter' || event.key === ' ')
        spec.choose(line.row);
    else if (to === undefined)
        return;
    else
        lines[Math.max(0, Math.min(lines.length - 1, to))].focus();
    event.preventDefault();
    event.stopPropagation();
}

/* Restores the focus of a row after its choice redrew the view. */
function keep_table_focus(spec, box) {
    if (!table_focus || table_focus.id !== spec.id || table_focus.key === undefined)
        return;
    const {key} = table_focus;
    requestAnimationFrame(() => {
        const line = [...box.querySelectorAll('tr[tabindex]')]
            .find((one) => one.dataset.key === key);
        if (line && box.isConnected)
            line.focus({preventScroll: true});
    });
}

// ---- Report tables ------------------------------------------------------------------------------

const COLUMN_WIDTHS = {time: '84px', count: '72px', bytes: '84px', number: '72px', value: '84px',
    flag: '60px', share: '64px'};

/* Columns of a report table by name: {name: index}. */
function column_indexes(table) {
    return Object.fromEntries(table.columns.map((column, index) => [column.name, index]));
}

/* A report table with its own titles; empty columns are omitted. options: {id, shown, without:
 * [names], narrow: [names hidden at 800 pixels], text_widths: {name: width}} */
function report_table(table, options = {}) {
    const shows = (column, index) => column.title && !(options.without || [])
        .includes(column.name) && (column.type === 'share' ? column.whole > 0
        : table.rows.some((row) => !is_empty(row.cells[index])));
    const columns = [];
    table.columns.forEach((column, index) => {
        if (shows(column, index))
            columns.push(report_column(column, index, options));
    });
    const plain = table.rows.filter((row) => row.role !== 'rest');
    const rest = table.rows.filter((row) => row.role === 'rest');
    return data_table({id: options.id || table.name, label: table.title, columns, rows: plain,
        rest, shown: options.shown || 25, sort: -1, notes: table_notes(table),
        row_class: (row) => row.role === 'part' ? 'part' : ''});
}

function table_notes(table) {
    const notes = (table.notes || []).map((note) => String(note));
    if (table.more > 0)
        notes.push(`${count_text(table.more)} more rows are in the recording.`);
    return notes;
}

const is_empty = (cell) => cell === null || cell === undefined || cell === '' || cell === 0;

function report_column(column, index, options) {
    const type = column.type;
    const made = {title: column.title, width: (options.text_widths || {})[column.name] ||
        COLUMN_WIDTHS[type], narrow: !(options.narrow || []).includes(column.name)};
    if (type === 'share') {
        const part = (row) => Number(row.cells[column.of]) / column.whole;
        return Object.assign(made, {value: part, cell: (row) => share_text(part(row))});
    }
    made.type = type === 'number' ? 'text' : type === 'flag' ? 'count' : type;
    made.left = type === 'text';
    made.value = (row) => is_empty(row.cells[index]) && type === 'text' ? null
        : type === 'text' ? range_title(String(row.cells[index])) : row.cells[index];
    if (type === 'number')
        made.left = false;
    return made;
}
