/* SPDX-License-Identifier: MIT */
/* Call graph: each important function once, callers above. */

const CALLS = {least: 0.01, least_native: 0.04, most: 36, height: 42, gap: 18, between: 54,
    letter: 7.3, width: 210};

/* {nodes, edges} of the functions with the most time; a call through others is an edge from the
 * next caller among them. */
function call_graph(tree, most) {
    const sums = function_sums(tree).filter((sum) => sum.one.index >= 0 && sum.total >=
        tree.total * (is_native_leaf(sum.one) ? CALLS.least_native : CALLS.least))
        .sort((a, b) => b.total - a.total).slice(0, most);
    const nodes = new Map(sums.map((sum) => [sum.one, sum]));
    const edges = new Map();
    const open = new Set();
    const visit = (item, caller) => {
        const node = item.cause < 0 ? nodes.get(item.one) : null;
        let key = null;
        if (node && caller && node !== caller)
            key = caller.one.index + ' ' + node.one.index;
        if (key && !open.has(key)) {
            const edge = edges.get(key) || {from: caller, to: node, ns: 0};
            edge.ns += item.total;
            edges.set(key, edge);
            open.add(key);
        } else {
            key = null;
        }
        for (const kid of item.kids)
            visit(kid, node || caller);
        open.delete(key);
    };
    visit(tree, null);
    return {nodes: [...nodes.values()], edges: [...edges.values()]};
}

function is_native_leaf(one) {
    return !one.python && one.owner !== OWNER_OWN && one.owner !== OWNER_ROLE;
}

/* The largest graph that fits the width of the page. */
function fitting_graph(tree, width) {
    for (let most = CALLS.most; ; most -= 4) {
        const {nodes, edges} = call_graph(tree, most);
        const strong = edges.filter((edge) => edge.ns >= tree.total * CALLS.least / 2);
        const joined = nodes.filter((node) => strong.some((edge) => edge.from === node ||
            edge.to === node));
        const graph = layer_graph(joined.length ? joined : nodes, strong, node_width, CALLS.gap);
        const all = graph.layers.flat();
        graph.left = Math.min(...all.map((node) => node.x - node.width / 2)) - 2;
        graph.right = Math.max(...all.map((node) => node.x + node.width / 2)) + 2;
        if (graph.right - graph.left <= width || most <= 8)
            return graph;
    }
}

function node_width(node) {
    return node.bend ? 8 : Math.max(96, Math.min(CALLS.width,
        22 + CALLS.letter * graphemes(label_of({...node, up: true}))));
}

const graphemes = (text) => Math.min(text.length, 40);

// ---- Drawing ------------------------------------------------------------------------------------

const layer_top = (layer) => layer * (CALLS.height + CALLS.between) + 2;

function draw_edge(edge, total) {
    const {points} = edge;
    const first = points[0], last = points[points.length - 1];
    let path = `M${first.x} ${layer_top(first.layer) + CALLS.height}`;
    for (let index = 1; index < points.length; index++) {
        const [from, to] = [points[index - 1], points[index]];
        const top = layer_top(from.layer) + CALLS.height, bottom = layer_top(to.layer);
        const middle = (top + bottom) / 2;
        path += `C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${bottom}`;
        if (to !== last)
            path += `V${bottom + CALLS.height}`;
    }
    return svg_el('path', {d: path, class: 'edge' + (edge.back ? ' back' : ''),
        'data-from': edge.from.one.index, 'data-to': edge.to.one.index,
        'stroke-width': (1 + 9 * Math.min(1, edge.ns / total)).toFixed(1)},
    svg_el('title', {}, `${cut_name(edge.from.one.name)} calls ${cut_name(edge.to.one.name)}: ` +
        `${time_text(edge.ns)}, ${share_text(edge.ns, total)}`));
}

function draw_node(node, total) {
    const {token} = OWNERS[node.one.owner];
    const x = node.x - node.width / 2, y = layer_top(node.layer);
    const room = Math.floor((node.width - 18) / CALLS.letter);
    const name = label_of({...node, up: true});
    const label = name.length > room ? name.slice(0, Math.max(1, room - 1)) + '…' : name;
    const own_share = node.width * node.self / total;
    return svg_el('a', {href: address({view: 'flame', mode: 'sandwich', focus: node.one.index,
        zoom: -1}), class: 'node', 'data-function': node.one.index,
    'aria-label': `${cut_name(node.one.name)}, ${time_text(node.total)}, ` +
        share_text(node.total, total)},
    svg_el('title', {}, `${cut_name(node.one.name)} ${cut_name(node.one.place)}\n` +
        `${time_text(node.total)} with what it calls, ${time_text(node.self)} itself`),
    svg_el('rect', {x, y, width: node.width, height: CALLS.height, rx: 5,
        fill: `var(--${token})`}),
    svg_el('rect', {x, y: y + CALLS.height - 3, width: Math.max(own_share, 0), height: 3,
        fill: 'var(--ink)', opacity: 0.55}),
    svg_el('text', {x: x + 9, y: y + 17, class: 'name', fill: `var(--${token}-ink)`}, label),
    svg_el('text', {x: x + 9, y: y + 33, fill: `var(--${token}-ink)`, class: 'time'},
        time_text(node.total) + '\u2002' + share_text(node.total, total)));
}

/* Highlights the edges of the hovered or focused node. */
function mark_edges(svg, event, on) {
    const node = event.target.closest('.node');
    if (!node)
        return;
    for (const edge of svg.querySelectorAll('.edge'))
        edge.classList.toggle('on', on && (edge.dataset.from === node.dataset.function ||
            edge.dataset.to === node.dataset.function));
}

function draw_calls(box) {
    const tree = stack_tree();
    const graph_width = Math.max(300, box.clientWidth - 18);
    add_to(box, view_head('Call graph', 'the functions with most time, callers above; width of a ' +
        'line is time', time_switch(), own_switch(), frames_switch()));
    if (!tree.kids.length) {
        add_to(box, empty_text(no_time_text()));
        return;
    }
    const graph = fitting_graph(tree, graph_width * 1.25);
    const width = graph.right - graph.left;
    const height = layer_top(graph.layers.length) - CALLS.between + 4;
    const svg = svg_el('svg', {class: 'graph', width, height, role: 'group',
        'aria-label': 'Call graph', viewBox: `${graph.left} 0 ${width} ${height}`},
    [...graph.edges].sort((a, b) => a.ns - b.ns).map((edge) => draw_edge(edge, tree.total)),
    graph.layers.flat().filter((node) => !node.bend).map((node) => draw_node(node, tree.total)));
    for (const [event, on] of [['pointerover', true], ['pointerout', false], ['focusin', true],
        ['focusout', false]])
        svg.addEventListener(event, (happened) => mark_edges(svg, happened, on));
    add_to(box, el('div', {class: 'panel calls'}, svg), notes(OWNERS.slice(0, 5).map((owner) =>
        legend_entry(owner.token, owner.text)), 'The line at a box’s foot is its own time. A ' +
        'click shows all callers and callees.'));
}

add_view({
    key: 'calls', title: 'Call graph',
    question: 'Which functions call each other?',
    has: () => node_count > 1,
    draw: draw_calls,
});
