/* SPDX-License-Identifier: MIT */
/* Flame graph: the shape of the time, and all places of a function. */

const flame_view = {canvas: null, tree: null, box: null};

const FLAME_MODES = [['icicle', 'icicle', 'callers above, callees below'],
    ['flame', 'flame', 'callers below, callees above'],
    ['sandwich', 'sandwich', 'all callers and all callees of one function'],
    ['treemap', 'treemap', 'by file and function']];

function item_tip(item, whole) {
    const self = item.cause >= 0 || item.self === 0 ? null : [el('br'),
        time_text(item.self) + ' itself, ' + share_text(item.self, whole)];
    return [el('b', {dir: 'auto'}, cut_name(item.one.name)), ' ',
        el('span', {class: 'dim'}, cut_name(item.one.place)), el('br'), time_text(item.total) +
            (item.kids.length ? ' with what it calls, ' : ', ') + share_text(item.total, whole),
    self, item.recursive ? [el('br'), 'It calls itself; that is shown once.'] : null];
}

function draw_flame(box) {
    const tree = stack_tree();
    const matches = matcher();
    tree.root_text = 'all  ' + time_text(tree.total).replace(NARROW, ' ');
    flame_view.tree = tree;
    flame_view.box = box;
    flame_view.canvas = null;
    const mode = FLAME_MODES.find((one) => one[0] === state.mode);
    add_to(box, view_head('Flame graph', `${tree_sentence(tree, null)}; ${mode[2]}`,
        seg('mode', 'Shape', FLAME_MODES)),
    el('div', {class: 'viewhead second'}, el('p', {class: 'sub hint', role: 'status'},
        flame_status(tree, matches)), el('span', {class: 'space'}), time_switch(), own_switch(),
    frames_switch()));
    if (!tree.kids.length)
        add_to(box, empty_text(no_time_text()));
    else
        FLAME_DRAWERS[state.mode](box, tree, matches);
    add_to(box, flame_legend(tree));
}

/* The status line: result of the search, or the zoom. */
function flame_status(tree, matches) {
    const top = zoomed_item(tree);
    if (matches && tree.total)
        return [el('b', {}, `“${cut_name(state.query, 40)}”`), ': ',
            share_text(matched_ns(top, matches), top.total), top === tree ? ' of the time'
                : ' of what is shown'];
    if (top !== tree && state.mode !== 'treemap')
        return [el('button', {type: 'button', class: 'link', on: {click: () => go({zoom: -1})}},
            'Show all'), ' (Esc)'];
    return {sandwich: 'A click on a function shows its callers and callees.',
        treemap: 'A click shows who calls the function.'}[state.mode] ||
        'A click zooms, Esc goes back, / searches.';
}

function zoomed_item(tree) {
    return (state.zoom > 0 && find_item(tree, state.zoom)) || tree;
}

function choose_item(item) {
    const shown = item.cause >= 0 ? item.up : item;
    go({zoom: shown.up ? shown.id : -1});
}

function draw_icicle(box, tree, matches) {
    const canvas = flame_canvas({tree, top: zoomed_item(tree), whole: tree.total, callers: true,
        upward: state.mode === 'flame', matches, choose: choose_item,
        label: 'Flame graph; the call tree has the same content as a table',
        tip: (item) => item_tip(item, tree.total)});
    flame_view.canvas = canvas;
    add_to(box, el('div', {class: 'panel'}, canvas));
}

/* Zooming only updates the canvas and the status line. */
function follow_flame(changes) {
    const {canvas, tree, box} = flame_view;
    if (!canvas || !canvas.isConnected || Object.keys(changes).join() !== 'zoom')
        return false;
    const zoomed = canvas.graph.top !== tree;
    canvas.graph.top = zoomed_item(tree);
    canvas.graph.hover = null;
    if (state.query || zoomed !== (canvas.graph.top !== tree)) // else the status is unchanged
        box.querySelector('.second .sub').replaceChildren(
            ...[flame_status(tree, matcher())].flat());
    draw_canvas(canvas);
    return true;
}

// ---- Sandwich -----------------------------------------------------------------------------------

const SANDWICH_ROWS = 24;

/* Items of `tree` with this function that have no caller with it. */
function outermost_items(tree, one) {
    const found = [];
    const visit = (item) => {
        if (item.one === one)
            found.push(item);
        else
            item.kids.forEach(visit);
    };
    visit(tree);
    return found;
}

function merge_callees(into, item) {
    into.total += item.total;
    into.self += item.self;
    for (const kid of item.kids) {
        const key = kid.cause >= 0 ? 'wait ' + kid.cause : kid.one.index;
        let merged = into.map.get(key);
        if (!merged) {
            merged = new_item(kid.one, kid.id, into);
            merged.cause = kid.cause;
            into.map.set(key, merged);
        }
        merge_callees(merged, kid);
    }
}

/* Adds the callers of `item`, weighted by `ns`. */
function merge_up(into, item, ns) {
    into.total += ns;
    if (!item.up || !item.up.up)
        return;
    merge_up(kid_of(into, item.up.one.index, item.up.id), item.up, ns);
}

function draw_sandwich(box, tree, matches) {
    const sums = function_sums(tree).filter((sum) => sum.one.index >= 0 &&
        sum.one.owner !== OWNER_ROLE && (!matches || matches(sum.one)))
        .sort((a, b) => b.self - a.self || b.total - a.total);
    const focus = sums.find((sum) => sum.one.index === state.focus) ||
        sums[0];
    if (!focus) {
        add_to(box, empty_text('This function has no samples here.'));
        return;
    }
    add_to(box, el('div', {class: 'sandwich'}, sandwich_list(sums, focus, tree),
        sandwich_graphs(tree, focus)));
}

function sandwich_list(sums, focus, tree) {
    const shown = sums.slice(0, SANDWICH_ROWS);
    if (!shown.includes(focus))
        shown[shown.length - 1] = focus;
    const rows = shown.map((sum) => table_row([cell(time_cell(sum.self)),
        cell(share_text(sum.self, tree.total)), cell(time_cell(sum.total)),
        left_cell(name_el(sum.one))],
    () => go({focus: sum.one.index, zoom: -1}), sum === focus, sum.one.place));
    const more = sums.length - shown.length;
    return el('section', {}, simple_table([['self', '', '72px'], ['share', '', '52px'],
        ['total', '', '72px'], ['function', 'l']], rows, more > 0 ? [cell(), cell(), cell(),
        left_cell(count_text(more) + ' more; search for them')] : null),
    notes('Shares are of ' + time_text(tree.total) + '.'));
}

function sandwich_graphs(tree, focus) {
    const {one} = focus;
    const callers = new_item(one, -1, null), callees = new_item(one, -1, null);
    for (const item of outermost_items(tree, one)) {
        merge_callees(callees, item);
        merge_up(callers, item, item.total);
    }
    finish_item(callers, 0);
    finish_item(callees, 0);
    const options = {tree, whole: tree.total, callers: false, matches: null,
        choose: (item) => item.one.index >= 0 && item.one.owner !== OWNER_ROLE &&
            go({focus: item.one.index, zoom: -1}),
        tip: (item) => item_tip(item, tree.total)};
    return el('section', {}, el('p', {class: 'sub above'}, 'Who calls ', name_el(one)),
        el('div', {class: 'panel'}, flame_canvas({...options, top: callers, upward: true,
            label: 'Callers of ' + cut_name(one.name)})),
        el('p', {class: 'sub above'}, 'What it calls, ', el('b', {}, time_text(focus.total)), ', ',
            time_text(focus.self), ' itself'),
        el('div', {class: 'panel'}, flame_canvas({...options, top: callees, upward: false,
            label: 'Callees of ' + cut_name(one.name)})));
}

// ---- Legend -------------------------------------------------------------------------------------

/* CPU time by owner, from the report if there is no filter. */
function flame_legend(tree) {
    const sums = owner_sums();
    const total = sums.reduce((sum, ns) => sum + ns, 0);
    const drawn = drawn_owners(tree);
    const owners = OWNERS.map((owner, index) => owner.text && drawn.has(index) ? legend_entry(
        owner.token, owner.text, sums[index] > 0 ? [el('b', {}, time_text(sums[index])),
            el('span', {}, share_text(sums[index], total))] : null) : null);
    const rest = sums[OWNER_ROLE] > 0 ? legend_entry('role', 'unknown',
        el('b', {}, time_text(sums[OWNER_ROLE]))) : null;
    const causes = state.time === 'wall' ? cause_legend(tree) : [];
    const label = el('span', {class: 'dim'}, data.gpu
        ? 'GPU time lies below the code that launched it, whenever it ran: ' +
            'no stretch of time can be chosen, and there is no source view.'
        : 'The code itself, without what it calls:');
    return el('div', {class: 'legends'}, notes(label, owners, rest),
        causes.length || idle_note(tree) ? notes(causes, idle_note(tree)) : null);
}

/* Owners of functions in the graph, or of code below them. */
function drawn_owners(tree) {
    const owners = new Set();
    const visit = (item) => {
        owners.add(item.one.owner);
        item.kids.forEach(visit);
    };
    visit(tree);
    owner_sums().forEach((ns, owner) => ns > 0 && owners.add(owner));
    return owners;
}

function cause_legend(tree) {
    const sums = new Float64Array(data.causes.length);
    const visit = (item) => {
        if (item.cause >= 0)
            sums[item.cause] += item.self;
        item.kids.forEach(visit);
    };
    visit(tree);
    return [...sums.keys()].filter((cause) => sums[cause] > 0)
        .sort((a, b) => sums[b] - sums[a]).map((cause) => legend_entry(cause_tokens[cause],
            cause_text(cause), el('b', {}, time_text(sums[cause]))));
}

const FLAME_DRAWERS = {
    icicle: draw_icicle, flame: draw_icicle, sandwich: draw_sandwich,
    treemap: (box, tree, matches) => draw_treemap(box, tree, matches),
};

add_view({
    key: 'flame', title: 'Flame graph', searches: true,
    question: 'What is the shape of it; where else is this function?',
    has: () => node_count > 1,
    draw: draw_flame, follow: follow_flame,
});
