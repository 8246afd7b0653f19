/* SPDX-License-Identifier: MIT */
/* Call tree by CPU or wall time. */

const tree_view = {open: new Map(), all: new Set(), at: null};
const TREE_SMALL = 0.004; // of all time: smaller rows are folded into one
const TREE_SMALL_LEAF = 0.015; // the same for native and interpreter leaves
const TREE_DEEP = 60;

const item_key = (item) => item.id + ' ' + item.cause;

/* A row is open if the user opened it, or by default if it has much of the time. */
function is_open(item, tree, matches) {
    const chosen = tree_view.open.get(item_key(item));
    if (chosen !== undefined)
        return chosen;
    if (matches)
        return item.kids.some((kid) => matched_ns(kid, matches) > 0);
    return item.depth < 3 || (item.total > 0.1 * tree.total && item.depth < 14);
}

/* Visible rows: {item, open} or {small: folded kids, up}. */
function tree_rows(tree, matches) {
    const rows = [];
    const visit = (item) => {
        const open = item.kids.length > 0 && is_open(item, tree, matches);
        rows.push({item, open});
        if (open && item.depth < TREE_DEEP)
            add_kids(item);
    };
    const add_kids = (item) => {
        const all = tree_view.all.has(item_key(item));
        const least = (kid) => all ? 0 : tree.total * (kid.kids.length || kid.cause >= 0 ||
            kid.one.owner < OWNER_INTERPRETER ? TREE_SMALL : TREE_SMALL_LEAF);
        const shown = item.kids.filter((kid) => kid.total >= least(kid) &&
            (!matches || tree_view.open.get(item_key(item)) || matches(item.one) ||
                matched_ns(kid, matches) > 0 || in_match(item, matches)));
        shown.forEach(visit);
        const small = item.kids.filter((kid) => !shown.includes(kid));
        if (small.length === 1 && !matches)
            visit(small[0]);
        else if (small.length)
            rows.push({small, up: item});
    };
    add_kids(tree);
    return rows;
}

function in_match(item, matches) {
    for (let up = item; up; up = up.up)
        if (matches(up.one))
            return true;
    return false;
}

// ---- Rows ---------------------------------------------------------------------------------------

const TREE_INDENT = 14, TREE_INDENT_MOST = 22;

function indent_of(depth) {
    return Math.min(depth - 1, TREE_INDENT_MOST) * TREE_INDENT + 'px';
}

function item_token(item) {
    return item.cause >= 0 ? cause_tokens[item.cause] : item.one.owner === OWNER_ROLE ? 'ink3'
        : OWNERS[item.one.owner].token;
}

function item_name(item) {
    if (item.cause >= 0)
        return [swatch(cause_tokens[item.cause]), ' ', item.one.name];
    return item.one.owner === OWNER_ROLE ? el('b', {dir: 'auto'}, cut_name(item.one.name))
        : name_el(item.one);
}

function item_row(row, tree, matches) {
    const {item, open} = row;
    const found = matches && matches(item.one);
    return el('div', {class: 'row' + (found ? ' found' : matches && !in_match(item, matches)
        ? ' faded' : ''), role: 'treeitem', tabindex: -1, 'aria-level': item.depth,
    'aria-expanded': item.kids.length ? String(open) : null, 'data-key': item_key(item),
    on: {click: () => set_open(row, !open)}},
    el('span', {class: 'number'}, time_cell(item.total)),
    el('span', {class: 'number' + (item.self ? '' : ' dim')}, time_cell(item.self)),
    el('span', {class: 'number'}, share_text(item.total, tree.total)),
    mini_bar([[item_token(item), item.total / (tree.total || 1)]], '100%'),
    el('span', {css: {'padding-left': indent_of(item.depth)}},
        el('span', {class: 'twist', 'aria-hidden': 'true'}, item.kids.length
            ? open ? '▾' : '▸' : ''), item_name(item),
        item.one.place ? el('span', {class: 'place', title: cut_name(item.one.place, 1000)},
            short_place(item.one.place)) : null));
}

function small_row(row, tree) {
    const total = row.small.reduce((sum, kid) => sum + kid.total, 0);
    const show = () => {
        tree_view.all.add(item_key(row.up));
        tree_view.open.set(item_key(row.up), true);
        render_page();
    };
    return el('div', {class: 'row dim', role: 'treeitem', tabindex: -1,
        'aria-level': row.up.depth + 1, 'data-key': 'small ' + item_key(row.up),
        on: {click: show}},
    el('span', {class: 'number'}, time_cell(total)), el('span'),
    el('span', {class: 'number'}, share_text(total, tree.total)), el('span'),
    el('span', {css: {'padding-left': indent_of(row.up.depth + 1)}}, el('span', {class: 'twist'}),
        count_text(row.small.length) + (state.query ? ' others' : ' smaller')));
}

function set_open(row, open) {
    tree_view.at = item_key(row.item);
    if (!row.item.kids.length)
        return;
    tree_view.open.set(item_key(row.item), open);
    render_page();
}

// ---- Keys ---------------------------------------------------------------------------------------

function tree_keys(box, rows) {
    const items = [...box.querySelectorAll('[role=treeitem]')];
    const focus = (index) => {
        const item = items[Math.max(0, Math.min(items.length - 1, index))];
        if (!item)
            return;
        items.forEach((one) => one.setAttribute('tabindex', one === item ? '0' : '-1'));
        tree_view.at = item.dataset.key;
        item.focus();
    };
    const at = items.findIndex((item) => item.dataset.key === tree_view.at);
    if (items.length)
        items[Math.max(0, at)].setAttribute('tabindex', '0');
    box.addEventListener('keydown', (event) => {
        const index = items.indexOf(event.target);
        if (index < 0)
            return;
        const action = tree_key(event.key, rows, index, focus) ||
            (event.key === 'Enter' || event.key === ' ' ? () => items[index].click() : null);
        if (action) {
            event.preventDefault();
            tree_view.at = items[index].dataset.key;
            action();
        }
    });
}

function tree_key(key, rows, index, focus) {
    const {item, open, up} = rows[index];
    const above = item ? item.up : up;
    const parent = rows.findIndex((row) => row.item && row.item === above);
    switch (key) {
    case 'ArrowDown': return () => focus(index + 1);
    case 'ArrowUp': return () => focus(index - 1);
    case 'Home': return () => focus(0);
    case 'End': return () => focus(rows.length - 1);
    case 'ArrowRight': return () => item && item.kids.length && !open
        ? set_open(rows[index], true) : focus(index + 1);
    case 'ArrowLeft': return () => item && open ? set_open(rows[index], false) : focus(parent);
    default: return null;
    }
}

const TREE_HEADS = [['total', 'the function with all that it calls'],
    ['self', 'the function itself, without what it calls'],
    ['share', 'total as a share of the selected time']];

// ---- The view -----------------------------------------------------------------------------------

function draw_tree(box) {
    const tree = stack_tree();
    const matches = matcher();
    add_to(box, view_head('Call tree', tree_sentence(tree, matches), time_switch(), own_switch(),
        frames_switch()));
    if (!tree.kids.length) {
        add_to(box, empty_text(no_time_text()));
        return;
    }
    const rows = tree_rows(tree, matches);
    const head = el('div', {class: 'row head', 'aria-hidden': 'true'},
        TREE_HEADS.map(([text, title]) => el('span', {class: 'number', title}, text)), el('span'),
        el('span', {}, 'function and where it is'));
    const list = el('div', {role: 'tree', 'aria-label': 'Call tree: total, self, share'},
        rows.map((row) => row.item ? item_row(row, tree, matches) : small_row(row, tree)));
    add_to(box, el('div', {class: 'panel tree'}, head, list), tree_notes(tree));
    tree_keys(list, rows);
}

function no_time_text() {
    return state.time === 'cpu' ? 'No sample under these filters: nothing ran for long enough.'
        : 'Nothing under these filters.';
}

function frames_switch() {
    return state.own || !functions.some((one) => one.python) ? null : seg('frames', 'Frames', [
        ['python', 'Python + leaf',
            'Python functions, and the native code that they call as one leaf'],
        ['all', 'every frame', 'all native frames too']]);
}

function tree_sentence(tree, matches) {
    const what = data.gpu ? `${time_text(tree.total)} of GPU time, by the code that launched it`
        : state.time === 'cpu' ? `${time_text(tree.total)} of CPU time` +
        `, ${counted(tree.samples, 'sample')}` : `${time_text(tree.total)} of all threads, ` +
        'running, runnable and blocked';
    if (!matches)
        return what;
    return `${what}; “${cut_name(state.query, 40)}”: ` +
        `${share_text(matched_ns(tree, matches), tree.total)}`;
}

function tree_notes(tree) {
    return notes('Total: with all that a function calls. Self: without.',
        [0, 1, 2, 3].map((owner) => legend_entry(OWNERS[owner].token,
        OWNERS[owner].text)), idle_note(tree));
}

/* The idle time omitted from wall time, with a button to show it. */
function idle_note(tree) {
    if (state.time !== 'wall' || !(tree.idle_ns > 0 || state.idle))
        return null;
    return state.idle ? ['Idle threads are shown. ', el('button', {type: 'button', class: 'link',
        on: {click: () => go({idle: false})}}, 'Hide them')]
        : [`${time_text(tree.idle_ns)} of threads that waited for work are left out. `,
            el('button', {type: 'button', class: 'link', on: {click: () => go({idle: true})}},
                'Show them')];
}

add_view({
    key: 'tree', title: 'Call tree', searches: true,
    question: 'Who called it, on the CPU or in wall time?',
    has: () => node_count > 1,
    draw: draw_tree,
});
