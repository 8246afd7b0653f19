/* SPDX-License-Identifier: MIT */
/* Treemap: area is time, by file, function, and owner of the running code. */

const TREEMAP_HEIGHT = 560, TREEMAP_STRIP = 20, TREEMAP_GAP = 6;

/* {label, value, kids, item}: files contain functions, which contain running code: the function
 * itself and the native leaves below it. */
function treemap_groups(tree) {
    const files = new Map();
    const group = (map, key, label) => {
        if (!map.has(key))
            map.set(key, {label, value: 0, map: new Map(), item: null});
        return map.get(key);
    };
    const visit = (item, holder) => {
        const one = holds_time(item) ? item.one : holder;
        if (item.self > 0) {
            const place = (one || item.one).file || (one || item.one).module || 'other';
            const file = group(files, place, place);
            const whole = group(file.map, one || item.one, (one || item.one).name);
            const key = item.cause >= 0 ? 'wait ' + item.cause : 'owner ' + item.one.owner;
            const piece = group(whole.map, key, item.cause >= 0 ? item.one.name
                : OWNERS[item.one.owner].text);
            piece.item = item;
            whole.one = one || item.one;
            for (const part of [file, whole, piece])
                part.value += item.self;
        }
        for (const kid of item.kids)
            visit(kid, one);
    };
    visit(tree, null);
    return group_list(files);
}

/* Native leaves and waits belong to the function above them. */
function holds_time(item) {
    return item.cause < 0 && (item.one.owner === OWNER_OWN || item.one.python ||
        (!in_python(item.id) && item.one.owner !== OWNER_ROLE));
}

function group_list(map) {
    const list = [...map.values()].sort((a, b) => b.value - a.value);
    for (const group of list)
        group.kids = group_list(group.map);
    return list;
}

/* Packs rectangles in rows, as square as possible. Returns {group, x, y, width, height} of each. */
function squarify(groups, area) {
    const placed = [];
    const total = groups.reduce((sum, group) => sum + group.value, 0);
    let {x, y, width, height} = area;
    let scale = total > 0 ? width * height / total : 0;
    for (let begin = 0; begin < groups.length && scale > 0;) {
        const side = Math.min(width, height);
        let end = begin, sum = 0, worst = Infinity;
        for (; end < groups.length; end++) {
            const more = sum + groups[end].value * scale;
            const next = worst_ratio(groups[begin].value * scale, groups[end].value * scale, more,
                side);
            if (next > worst)
                break;
            [sum, worst] = [more, next];
        }
        const thick = side > 0 ? sum / side : 0;
        place_row(placed, groups.slice(begin, end), {x, y, thick, scale, down: width >= height});
        if (width >= height)
            [x, width] = [x + thick, width - thick];
        else
            [y, height] = [y + thick, height - thick];
        begin = end;
        scale = Math.min(width, height) > 0.5 ? scale : 0;
    }
    return placed;
}

function worst_ratio(largest, smallest, sum, side) {
    const thick = sum / side;
    return Math.max(largest / thick / thick, thick * thick / Math.max(1e-9, smallest));
}

function place_row(placed, groups, row) {
    let at = row.down ? row.y : row.x;
    for (const group of groups) {
        const length = row.thick > 0 ? group.value * row.scale / row.thick : 0;
        placed.push(row.down ? {group, x: row.x, y: at, width: row.thick, height: length}
            : {group, x: at, y: row.y, width: length, height: row.thick});
        at += length;
    }
}

// ---- Painting -----------------------------------------------------------------------------------

function inner_area(place, strip) {
    return {x: place.x + TREEMAP_GAP / 2, y: place.y + strip,
        width: Math.max(0, place.width - TREEMAP_GAP),
        height: Math.max(0, place.height - strip - TREEMAP_GAP / 2)};
}

/* Draws a level and its inner levels. Returns the positions of functions. */
function paint_treemap(g, groups, width, height, matches) {
    const functions_at = [];
    for (const file of squarify(groups, {x: 0, y: 0, width, height})) {
        const strip = file.width > 60 && file.height > 44 ? TREEMAP_STRIP : 0;
        if (strip) {
            g.font = '600 12px ' + TEXT_FONT;
            g.textBaseline = 'middle';
            g.fillStyle = tone('ink2');
            g.fillText(fit_label(g, file.group.label, file.width - 10), file.x + 4,
                file.y + strip / 2 + 1);
        }
        for (const one of squarify(file.group.kids, inner_area(file, strip))) {
            paint_function(g, one, matches);
            functions_at.push(one);
        }
    }
    return functions_at;
}

function paint_function(g, place, matches) {
    const area = {x: place.x, y: place.y, width: Math.max(0.5, place.width - 2),
        height: Math.max(0.5, place.height - 2)};
    g.globalAlpha = matches && !matches(place.group.one) ? 0.28 : 1;
    const pieces = squarify(place.group.kids, area);
    for (const piece of pieces) {
        g.fillStyle = item_colors(piece.group.item)[0];
        g.fillRect(piece.x, piece.y, Math.max(0.5, piece.width), Math.max(0.5, piece.height));
    }
    g.globalAlpha = 1;
    if (area.width < 46 || area.height < 18 || !pieces.length)
        return;
    paint_function_label(g, place.group, area);
}

/* The label has a tag in the function's own colour, as its area has the colours of code below
 * it. */
function paint_function_label(g, group, area) {
    const {token} = OWNERS[group.one.owner] || OWNERS[OWNER_KERNEL];
    g.font = '12px ' + CODE_FONT;
    g.textBaseline = 'middle';
    const time = '  ' + time_text(group.value).replace(NARROW, ' ');
    const name = fit_label(g, group.label, area.width - 14);
    const both = name === group.label && g.measureText(name + time).width < area.width - 14
        ? name + time : name;
    if (!both)
        return;
    const tag = token === 'interp' || token === 'role' ? ['surface', 'ink'] : [token,
        token + '-ink'];
    g.fillStyle = tone(tag[0]);
    g.fillRect(area.x + 3, area.y + 3, g.measureText(both).width + 8, 18);
    g.fillStyle = tone(tag[1]);
    g.fillText(both, area.x + 7, area.y + 12.5);
}

function draw_treemap(box, tree, matches) {
    const groups = treemap_groups(tree);
    let places = [];
    const canvas = canvas_box({height: TREEMAP_HEIGHT,
        label: 'Treemap of time by file and function; the call tree has the same as a table',
        draw: (g, width, height) => {
            places = paint_treemap(g, groups, width, height, matches);
        }});
    const at = (event) => {
        const place = canvas.getBoundingClientRect();
        const x = event.clientX - place.left, y = event.clientY - place.top;
        return places.find((one) => x >= one.x && x < one.x + one.width && y >= one.y &&
            y < one.y + one.height);
    };
    canvas.addEventListener('mousemove', (event) => {
        const place = at(event);
        if (place)
            show_tip(event, treemap_tip(place.group, tree));
        else
            hide_tip();
    });
    canvas.addEventListener('mouseleave', hide_tip);
    canvas.addEventListener('click', (event) => {
        const place = at(event);
        if (place && place.group.one.index >= 0)
            go({mode: 'sandwich', focus: place.group.one.index});
    });
    box.append(el('div', {class: 'panel'}, canvas));
}

function treemap_tip(group, tree) {
    return [el('b', {dir: 'auto'}, cut_name(group.label)), ' ',
        el('span', {class: 'dim'}, cut_name(group.one.place)), el('br'),
        time_text(group.value) + ' without the Python functions it calls, ' +
            share_text(group.value, tree.total),
        group.kids.length > 1 ? group.kids.map((piece) => [el('br'), time_text(piece.value) + ' ' +
            piece.label]) : null];
}
