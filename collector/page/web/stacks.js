/* SPDX-License-Identifier: MIT */
/* The displayed stack tree, filtered and with frames folded. Its items are {one: a function, id: a
 * node, self, total, kids: largest first, up, cause, lines}. */

/* Native functions that only forward calls; the next one is more informative. As in
 * chosen_frames.c. */
const GLUE = new RegExp('^(_?PyObject_(Vectorcall|Call|FastCall|MakeTpCall|CallOneArg)|_PyEval_|' +
    'PyEval_|_PyFunction_|cfunction_|method_vectorcall|vectorcall_|slot_tp_|type_call|' +
    'object_vacall|_PyObject_(FastCall|Call|MakeTpCall|Vectorcall)|call_recorded|observed_call|' +
    '_PyVectorcall_|PyVectorcall_|_?PyCFunction_|wrap_|clone|start_thread|Py_RunMain|' +
    'Py_BytesMain|_PyRun_|run_mod|PyEval_EvalCode|_start|__libc_start|entry_SYSCALL_|' +
    'do_syscall_64|x64_sys_call|__x64_sys_|el0t_|el0_|invoke_syscall|__arm64_sys_|asm_exc_|' +
    'asm_sysvec_)');

const tree_cache = new Map();
const TREES_KEPT = 6;

/* The tree for `time` ('cpu' or 'wall'); options: {own, frames, idle}. */
function stack_tree(time = state.time, options = state) {
    const sums = filtered();
    const key = [sums.key, time, options.own, options.frames, options.idle].join('\u0001');
    let tree = tree_cache.get(key);
    if (!tree) {
        tree = make_tree(sums, time, options);
        if (tree_cache.size >= TREES_KEPT)
            tree_cache.delete(tree_cache.keys().next().value);
        tree_cache.set(key, tree);
    }
    return tree;
}

function new_item(one, id, up) {
    return {one, id, up, self: 0, total: 0, map: new Map(), kids: null, cause: -1, depth: 0,
        recursive: false};
}

function make_tree(sums, time, options) {
    const root = new_item(functions[node_function[0]], 0, null);
    const place = make_places(root, options);
    for (let node = 0; node < node_count; node++)
        if (sums.cpu[node])
            add_self(place.run(node), sums.cpu[node]);
    root.idle_ns = 0;
    if (time === 'wall')
        for (const wait of sums.off)
            add_wait_item(root, place, wait, options);
    finish_item(root, 0);
    root.cpu_ns = sums.cpu_ns;
    root.samples = sums.samples;
    return root;
}

function add_self(item, ns) {
    item.self += ns;
    for (let up = item; up; up = up.up)
        up.total += ns;
}

function add_wait_item(root, place, wait, options) {
    if (!options.idle && wait.idle) {
        root.idle_ns += wait.ns;
        return;
    }
    const item = place.wait(wait.node);
    const key = 'wait ' + wait.cause;
    let leaf = item.map.get(key);
    if (!leaf) {
        const name = wait.cause === runnable_cause ? cause_text(wait.cause)
            : 'waits: ' + cause_text(wait.cause);
        leaf = new_item({name, file: '', line: 0, python: false, owner: OWNER_WAIT, module: '',
            place: '', index: -1}, wait.node, item);
        leaf.cause = wait.cause;
        item.map.set(key, leaf);
    }
    add_self(leaf, wait.ns);
}

/* {run, wait}: functions that map a node to the item for its time, making the callers. A wait is
 * put directly below the Python function, as the entry to the kernel is irrelevant. */
function make_places(root, options) {
    const known = new Array(node_count).fill(null);
    known[0] = root;
    const leaf_owner = options.frames === 'python' && !options.own;
    const upper = (node) => {
        if (known[node])
            return known[node];
        const up = upper(node_parent[node]);
        if (is_folded(node, options))
            return known[node] = up;
        if (up.one === functions[node_function[node]] && options.frames === 'python') {
            up.recursive = true;
            return known[node] = up;
        }
        return known[node] = kid_of(up, node_function[node], node);
    };
    if (!leaf_owner)
        return {run: upper, wait: upper};
    return {run: (node) => place_leaf(node, upper), wait: (node) => upper(python_above(node))};
}

/* The innermost function of the stack shown as its own item. */
function python_above(node) {
    let at = node;
    while (in_python(node) && at > 0 && is_native(at))
        at = node_parent[at];
    return at;
}

function kid_of(up, index, node) {
    let item = up.map.get(index);
    if (!item) {
        item = new_item(functions[index], node, up);
        up.map.set(index, item);
    }
    return item;
}

function is_folded(node, options) {
    const one = functions[node_function[node]];
    if (one.owner === OWNER_ROLE)
        return false;
    if (options.own)
        return !one.mine;
    if (options.frames === 'python' && one.file.startsWith('<frozen importlib.'))
        return true;
    return options.frames === 'python' && !one.python && one.owner !== OWNER_OWN &&
        in_python(node);
}

let python_stacks = null; // by node: see in_python()

/* True for native code on a stack that runs Python: above, between or below its functions. */
function in_python(node) {
    if (!python_stacks)
        python_stacks = find_python_stacks();
    return python_stacks[node];
}

function find_python_stacks() {
    const found = new Uint8Array(node_count);
    const one_of = (node) => functions[node_function[node]];
    for (let node = node_count - 1; node > 0; node--)
        if ((found[node] || one_of(node).python) && one_of(node).owner !== OWNER_ROLE)
            found[node] = found[node_parent[node]] = 1;
    for (let node = 1; node < node_count; node++)
        if (found[node_parent[node]] && one_of(node_parent[node]).owner !== OWNER_ROLE)
            found[node] = 1;
    return found;
}

/* Native leaves below the last Python function become one item per owner, named by that owner's
 * outermost function, the one called by Python. So an owner's area equals its time. */
function place_leaf(node, upper) {
    const owner = functions[node_function[node]].owner;
    if (owner === OWNER_OWN || owner === OWNER_ROLE || !in_python(node))
        return upper(node);
    let called = -1, any = -1, at = node;
    for (; at > 0 && is_native(at); at = node_parent[at]) {
        const one = functions[node_function[at]];
        if (one.owner !== owner)
            continue;
        any = at;
        if (!GLUE.test(one.name))
            called = at;
    }
    const named = called < 0 ? any : called;
    return named < 0 ? upper(node) : kid_of(upper(at), node_function[named], named);
}

function is_native(node) {
    const one = functions[node_function[node]];
    return one.owner !== OWNER_ROLE && one.owner !== OWNER_OWN && !one.python;
}

function finish_item(item, depth) {
    item.depth = depth;
    item.kids = [...item.map.values()].sort((a, b) => b.total - a.total || a.id - b.id);
    item.map = null;
    for (const kid of item.kids)
        finish_item(kid, depth + 1);
}

/* The drawn item for a node, or null. */
function find_item(tree, id) {
    if (!tree.by_id) {
        tree.by_id = new Map();
        add_ids(tree, tree.by_id);
    }
    return tree.by_id.get(id) || null;
}

function add_ids(item, by_id) {
    if (item.cause < 0 && !by_id.has(item.id))
        by_id.set(item.id, item);
    for (const kid of item.kids)
        add_ids(kid, by_id);
}

/* The item's callers, outermost first. */
function callers_of(item) {
    const callers = [];
    for (let up = item.up; up; up = up.up)
        callers.unshift(up);
    return callers;
}

// ---- Search -------------------------------------------------------------------------------------

/* Returns f(function): true if its name or location contains the query, ignoring case. Null without
 * a query. */
function matcher(query = state.query) {
    const wanted = query.trim().toLowerCase();
    if (!wanted)
        return null;
    const known = new Map();
    return (one) => {
        let matches = known.get(one);
        if (matches === undefined) {
            matches = one.name.toLowerCase().includes(wanted) ||
                one.place.toLowerCase().includes(wanted);
            known.set(one, matches);
        }
        return matches;
    };
}

/* Time of stacks with a match, each counted once. */
function matched_ns(item, matches) {
    if (matches(item.one))
        return item.total;
    return item.kids.reduce((sum, kid) => sum + matched_ns(kid, matches), 0);
}

// ---- Sums by owner ------------------------------------------------------------------------------

/* CPU time by owner of the running function, as in the report. */
function owner_sums() {
    const {cpu} = filtered();
    const sums = new Float64Array(OWNERS.length);
    for (let node = 0; node < node_count; node++)
        sums[functions[node_function[node]].owner] += cpu[node];
    return sums;
}

/* Times of each function: [{one, self, total, own_self}] by index. Recursion counts once. */
function function_sums(tree) {
    const sums = new Map();
    const open = new Map();
    const visit = (item) => {
        let sum = sums.get(item.one);
        if (!sum)
            sums.set(item.one, sum = {one: item.one, self: 0, total: 0});
        sum.self += item.self;
        const depth = open.get(item.one) || 0;
        if (depth === 0)
            sum.total += item.total;
        open.set(item.one, depth + 1);
        item.kids.forEach(visit);
        open.set(item.one, depth);
    };
    tree.kids.forEach(visit);
    return [...sums.values()];
}
