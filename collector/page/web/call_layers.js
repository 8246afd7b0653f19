/* SPDX-License-Identifier: MIT */
/* Layered layout of a call graph: callers above, cycles broken, few crossings. */

const SWEEPS = 24;

/* edges: [{from, to, ns}] of node objects. Sets `layer` and `x` of each node and returns {layers,
 * edges}. An edge gets `points`, nodes and bends from top to bottom, and `back` if it is drawn
 * against its direction. size(node) is its width; gap the space between two nodes. */
function layer_graph(nodes, edges, size, gap) {
    break_circles(nodes, edges);
    set_layers(nodes, edges);
    const layers = [];
    for (const node of nodes)
        (layers[node.layer] = layers[node.layer] || []).push(node);
    for (const edge of edges)
        edge.points = bend_edge(edge, layers);
    join_neighbours(edges);
    for (let sweep = 0; sweep < SWEEPS; sweep++)
        sort_layers(layers, sweep % 2 === 0);
    place_layers(layers, size, gap);
    return {layers, edges};
}

/* An edge to a node still being visited closes a cycle. */
function break_circles(nodes, edges) {
    const out = new Map(nodes.map((node) => [node, []]));
    for (const edge of [...edges].sort((a, b) => b.ns - a.ns))
        out.get(edge.from).push(edge);
    const done = new Map();
    const visit = (node) => {
        done.set(node, 1);
        for (const edge of out.get(node)) {
            edge.back = done.get(edge.to) === 1;
            if (!done.get(edge.to))
                visit(edge.to);
        }
        done.set(node, 2);
    };
    for (const node of nodes)
        if (!done.get(node))
            visit(node);
}

const upper_of = (edge) => edge.back ? edge.to : edge.from;
const lower_of = (edge) => edge.back ? edge.from : edge.to;

/* As high as callers permit, then as low as callees permit, to shorten edges. */
function set_layers(nodes, edges) {
    for (const node of nodes)
        node.layer = 0;
    for (let round = 0, moved = true; moved && round <= nodes.length; round++) {
        moved = false;
        for (const edge of edges) {
            const least = upper_of(edge).layer + 1;
            if (lower_of(edge).layer < least) {
                lower_of(edge).layer = least;
                moved = true;
            }
        }
    }
    for (const node of nodes) {
        const below = edges.filter((edge) => upper_of(edge) === node);
        const above = edges.some((edge) => lower_of(edge) === node);
        if (!above && below.length)
            node.layer = Math.min(...below.map((edge) => lower_of(edge).layer)) - 1;
    }
}

/* The nodes of an edge from top to bottom, with a bend in each layer between. */
function bend_edge(edge, layers) {
    const points = [upper_of(edge)];
    for (let layer = upper_of(edge).layer + 1; layer < lower_of(edge).layer; layer++) {
        const bend = {bend: true, layer, ns: edge.ns};
        layers[layer] = layers[layer] || [];
        layers[layer].push(bend);
        points.push(bend);
    }
    points.push(lower_of(edge));
    return points;
}

function join_neighbours(edges) {
    for (const {points, ns} of edges)
        for (let index = 1; index < points.length; index++) {
            const [upper, lower] = [points[index - 1], points[index]];
            (upper.below = upper.below || []).push({node: lower, ns});
            (lower.above = lower.above || []).push({node: upper, ns});
        }
}

/* The mean of f over the neighbours, weighted by their edges. */
function mean_of(near, f) {
    let sum = 0, weight = 0;
    for (const {node, ns} of near) {
        sum += f(node) * (ns || 1);
        weight += ns || 1;
    }
    return sum / weight;
}

function sort_layers(layers, downward) {
    layers.forEach((layer) => layer.forEach((node, index) => {
        node.order = (index + 0.5) / layer.length;
    }));
    for (const layer of downward ? layers : [...layers].reverse()) {
        for (const node of layer) {
            const near = downward ? node.above : node.below;
            node.wanted = near ? mean_of(near, (one) => one.order) : node.order;
        }
        layer.sort((a, b) => a.wanted - b.wanted);
        layer.forEach((node, index) => {
            node.order = (index + 0.5) / layer.length;
        });
    }
}

/* Places nodes side by side, then moves each towards the middle of its neighbours if there is
 * room. */
function place_layers(layers, size, gap) {
    for (const layer of layers) {
        let x = 0;
        for (const node of layer) {
            node.width = size(node);
            node.x = x + node.width / 2;
            x += node.width + gap;
        }
        const middle = (x - gap) / 2;
        layer.forEach((node) => {
            node.x -= middle;
        });
    }
    for (let sweep = 0; sweep < SWEEPS; sweep++)
        for (const layer of sweep % 2 ? [...layers].reverse() : layers)
            pull_layer(layer, gap);
}

function pull_layer(layer, gap) {
    for (const node of layer) {
        const near = [...(node.above || []), ...(node.below || [])];
        node.wanted = near.length ? mean_of(near, (one) => one.x) : node.x;
    }
    layer.forEach((node, index) => {
        const before = layer[index - 1], after = layer[index + 1];
        const least = before ? before.x + (before.width + node.width) / 2 + gap : -Infinity;
        const most = after ? after.x - (after.width + node.width) / 2 - gap : Infinity;
        node.x = Math.max(least, Math.min(Math.max(most, least), node.wanted));
    });
}
