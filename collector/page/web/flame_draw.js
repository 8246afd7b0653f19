/* SPDX-License-Identifier: MIT */
/* Boxes of a stack tree in a canvas: layout, painting, pointer and keys. */

const ROW_HEIGHT = 21;
const ROWS_MOST = 80;
const BOX_LEAST = 0.6; // narrower boxes and their callees are not drawn
const DEPTH_LEAST = 9; // least width of a box that counts for the graph's height

/* Lays out `top` and its descendants in a width: [{item, x, width, row}], preceded by callers of
 * `top` at full width. */
function lay_out(top, width, with_callers) {
    const boxes = [];
    const callers = with_callers ? callers_of(top) : [];
    callers.forEach((item, row) => boxes.push({item, x: 0, width, row, around: true}));
    let rows = callers.length;
    const place = (item, x, wide, row) => {
        if (wide < BOX_LEAST || row >= ROWS_MOST)
            return;
        boxes.push({item, x, width: wide, row, around: false});
        if (wide >= DEPTH_LEAST || row === callers.length)
            rows = Math.max(rows, row + 1);
        let at = x;
        for (const kid of item.kids) {
            const part = item.total ? wide * kid.total / item.total : 0;
            place(kid, at, part, row + 1);
            at += part;
        }
    };
    place(top, 0, width, callers.length);
    return {boxes: boxes.filter((box) => box.row < rows), rows};
}

// ---- Painting -----------------------------------------------------------------------------------

function item_colors(item) {
    if (item.cause >= 0)
        return [tone(cause_tokens[item.cause]), tone('wait-ink')];
    const {token, ink} = OWNERS[item.one.owner];
    return [tone(token), tone(ink)];
}

let code_letter = 0; // width of a letter in the boxes' font

/* Setting a font makes the browser compute styles, so it is set once per canvas. */
function box_font(g) {
    if (g.known_font !== CODE_FONT) {
        g.font = '12px ' + CODE_FONT;
        g.textBaseline = 'middle';
        g.known_font = CODE_FONT;
    }
    code_letter = code_letter || g.measureText('0').width;
}

/* graph: {layout, upward, whole, matches, hover, selected, unit}. */
function paint_boxes(g, graph) {
    box_font(g);
    for (const box of graph.layout.boxes)
        paint_box(g, graph, box);
    if (graph.selected)
        outline_box(g, graph, graph.selected);
}

function box_top(graph, box) {
    const row = graph.upward ? graph.rows - 1 - box.row : box.row;
    return row * ROW_HEIGHT;
}

function paint_box(g, graph, box) {
    const {item, x, width} = box;
    const y = box_top(graph, box);
    const faded = graph.matches && !box.around && !in_match_or_below(graph, item);
    const [fill, ink] = item_colors(item);
    g.globalAlpha = faded ? 0.28 : box.around ? 0.5 : 1;
    g.fillStyle = fill;
    g.fillRect(x, y, Math.max(BOX_LEAST, width > 3 ? width - 1 : width), ROW_HEIGHT - 1);
    if (graph.hover && graph.hover.one === item.one) {
        g.globalAlpha = graph.hover === item ? 0.26 : 0.14;
        g.fillStyle = tone('ink');
        g.fillRect(x, y, Math.max(BOX_LEAST, width - 1), ROW_HEIGHT - 1);
    }
    g.globalAlpha = 1;
    if (width < 5 * code_letter + 8)
        return;
    g.fillStyle = faded || box.around ? tone(faded ? 'ink3' : 'ink') : ink;
    paint_label(g, graph, box, y);
}

/* The text of an item: a module's own code shows its file, the root its root_text. */
function label_of(item) {
    if (!item.up && item.root_text !== undefined)
        return item.root_text;
    return item.one.name === '<module>' ? '<module> ' + item.one.file : item.one.name;
}

function paint_label(g, graph, box, y) {
    const {item, x, width} = box;
    const name = label_of(item);
    const room = width - 12;
    const label = plain_letters.test(name) ? fit_code(name, room, code_letter)
        : fit_label(g, name, room);
    const middle = y + ROW_HEIGHT / 2 + 0.5;
    g.fillText(label, x + 6, middle);
    const used = label === name ? name.length * code_letter : Infinity;
    const share = share_text(item.total, graph.whole).replace(NARROW, ' ');
    const {place} = item.one;
    const both = place && !name.includes(place) ? place + '  ' + share : share;
    const rest = room - used - 24;
    const more = both.length * code_letter <= rest && width > 240 ? both
        : share.length * code_letter <= rest ? share : '';
    if (more)
        g.fillText(more, x + width - 8 - more.length * code_letter, middle);
}

/* True if the item or one of its callers matches. */
function in_match_or_below(graph, item) {
    if (item.cause >= 0)
        return in_match_or_below(graph, item.up);
    if (item.found_by !== graph.matches) {
        item.found_by = graph.matches;
        item.found = graph.matches(item.one) ||
            (item.up !== null && in_match_or_below(graph, item.up));
    }
    return item.found;
}

function outline_box(g, graph, item) {
    const box = graph.layout.boxes.find((one) => one.item === item);
    if (!box)
        return;
    g.strokeStyle = tone('accent');
    g.lineWidth = 2;
    g.strokeRect(box.x + 1, box_top(graph, box) + 1, Math.max(2, box.width - 3), ROW_HEIGHT - 3);
    g.lineWidth = 1;
}

// ---- One canvas ---------------------------------------------------------------------------------

/* options: {tree, top, whole, callers: draw those of `top` too, upward, matches, label,
 * choose(item), tip(item)}. Sets `graph` of the canvas; to zoom, change graph.top and call
 * redraw(). */
function flame_canvas(options) {
    const graph = {...options, hover: null, selected: null, layout: {boxes: [], rows: 1}, rows: 1};
    const canvas = canvas_box({label: options.label,
        height: (width) => {
            if (graph.laid !== graph.top || graph.width !== width) {
                graph.layout = lay_out(graph.top, width, graph.callers);
                [graph.laid, graph.width] = [graph.top, width];
                graph.rows = Math.max(graph.rows, graph.layout.rows);
            }
            return graph.rows * ROW_HEIGHT; // never shrinks, so that content below does not jump
        },
        draw: (g) => paint_boxes(g, graph)});
    canvas.graph = graph;
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('tabindex', '0');
    follow_pointer(canvas, graph);
    canvas.addEventListener('keydown', (event) => graph_key(event, canvas, graph));
    canvas.addEventListener('blur', () => select_item(canvas, graph, null));
    return canvas;
}

function box_at(canvas, graph, event) {
    const place = canvas.getBoundingClientRect();
    const x = event.clientX - place.left, y = event.clientY - place.top;
    return graph.layout.boxes.findLast((box) => x >= box.x && x < box.x + box.width &&
        y >= box_top(graph, box) && y < box_top(graph, box) + ROW_HEIGHT);
}

function follow_pointer(canvas, graph) {
    const hover = (item) => {
        if (graph.hover === item)
            return;
        graph.hover = item;
        canvas.style.cursor = item ? 'pointer' : '';
        redraw(canvas);
    };
    canvas.addEventListener('mousemove', (event) => {
        const box = box_at(canvas, graph, event);
        hover(box ? box.item : null);
        if (box)
            show_tip(event, graph.tip(box.item));
        else
            hide_tip();
    });
    canvas.addEventListener('mouseleave', () => {
        hover(null);
        hide_tip();
    });
    canvas.addEventListener('click', (event) => {
        const box = box_at(canvas, graph, event);
        if (box)
            graph.choose(box.item);
    });
}

function select_item(canvas, graph, item) {
    graph.selected = item;
    redraw(canvas);
    const box = item && graph.layout.boxes.find((one) => one.item === item);
    if (!box)
        return hide_tip();
    const place = canvas.getBoundingClientRect();
    show_tip({clientX: place.left + box.x + Math.min(box.width / 2, 80),
        clientY: place.top + box_top(graph, box)}, graph.tip(item));
    return undefined;
}

/* Down selects a callee, up the caller, left and right other callees of the caller. */
function graph_key(event, canvas, graph) {
    const drawn = (item) => graph.layout.boxes.some((box) => box.item === item);
    const here = graph.selected && drawn(graph.selected) ? graph.selected : null;
    const [deeper, higher] = graph.upward ? ['ArrowUp', 'ArrowDown'] : ['ArrowDown', 'ArrowUp'];
    const kids = here && here.up ? here.up.kids.filter(drawn) : [];
    let next = null;
    if (event.key === 'Enter' && here) {
        event.preventDefault();
        graph.choose(here);
        return;
    }
    if (event.key === deeper)
        next = here ? here.kids.find(drawn) : graph.top;
    else if (event.key === higher)
        next = here && here.up && drawn(here.up) ? here.up : here || graph.top;
    else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft')
        next = kids[kids.indexOf(here) + (event.key === 'ArrowRight' ? 1 : -1)] || here ||
            graph.top;
    else
        return;
    event.preventDefault();
    select_item(canvas, graph, next || here);
}
