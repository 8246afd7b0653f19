/* SPDX-License-Identifier: MIT */
/* Input of the timeline: wheel, drag, click, keys; and the text of the tip. */

const DRAG_PIXELS = 4;

function listen_to_timeline(body) {
    body.addEventListener('wheel', timeline_wheel, {passive: false});
    body.addEventListener('pointerdown', timeline_press);
    body.addEventListener('pointermove', timeline_pointer);
    body.addEventListener('pointerleave', () => {
        timeline.marks.pointer.hidden = true;
        timeline.pointer_share = undefined;
        hide_tip();
    });
    body.addEventListener('keydown', timeline_key);
}

/* {row, share: of the width, time} of an event over the drawings, or null. */
function timeline_place(event) {
    const box = timeline.axis.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    if (share < 0 || share > 1)
        return null;
    const line = event.target.closest('.tl-row');
    return {row: line && line.row, share, time: timeline.from +
        share * (timeline.to - timeline.from)};
}

function timeline_wheel(event) {
    const place = timeline_place(event);
    if (!place || event.altKey)
        return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 24 : 1;
    const span = timeline.to - timeline.from;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const by = (event.deltaX || event.deltaY) * unit / 900 * span;
        set_window(timeline.from + by, timeline.to + by);
    } else {
        const by = Math.max(-240, Math.min(240, event.deltaY * unit));
        zoom_window(Math.exp(by / (event.ctrlKey ? 100 : 420)), place.share);
    }
}

// ---- Drag and click -----------------------------------------------------------------------------

function timeline_press(event) {
    const place = timeline_place(event);
    if (!place || event.button !== 0)
        return;
    const began = {x: event.clientX, time: place.time, pointer: event.pointerId};
    const move = (now) => timeline_drag(began, now);
    const end = (now) => {
        removeEventListener('pointermove', move);
        removeEventListener('pointerup', end);
        removeEventListener('pointercancel', end);
        timeline.marks.drag.hidden = true;
        if (now.type === 'pointerup')
            finish_drag(began, place, now);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
    addEventListener('pointercancel', end);
}

const time_at = (x) => {
    const box = timeline.axis.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (x - box.left) / box.width));
    return timeline.from + share * (timeline.to - timeline.from);
};

/* A drag selects and shows whole slots of the time filter. */
function dragged_slots(began, event) {
    const times = [began.time, time_at(event.clientX)].sort((a, b) => a - b);
    const slots = times.map((time) => time / data.facts.wall_ns * data.slots);
    return [Math.max(0, Math.floor(slots[0])), Math.min(data.slots, Math.ceil(slots[1]))];
}

function timeline_drag(began, event) {
    if (Math.abs(event.clientX - began.x) < DRAG_PIXELS)
        return;
    hide_tip();
    const {drag} = timeline.marks;
    const times = [began.time, time_at(event.clientX)].sort((a, b) => a - b);
    const percent = (time) => 100 * (time - timeline.from) / (timeline.to - timeline.from);
    drag.hidden = false;
    drag.style.left = percent(times[0]) + '%';
    drag.style.width = percent(times[1]) - percent(times[0]) + '%';
    drag.firstChild.textContent = time_text(times[1] - times[0]);
}

function finish_drag(began, place, event) {
    if (Math.abs(event.clientX - began.x) >= DRAG_PIXELS) {
        const [from, to] = dragged_slots(began, event);
        save_window();
        go({from, to});
        return;
    }
    const hit = place.row && range_at(place.row, place.time, event);
    if (hit)
        pick_range(place.row, hit.depth, hit.index);
    else
        unpick_range();
}

// ---- Hit testing and tips -----------------------------------------------------------------------

/* The index of the range of a level that is open at a time, or within two pixels of it, or -1. */
function range_in_level(level, time) {
    const near = 2 * (timeline.to - timeline.from) / Math.max(1, timeline.axis.clientWidth);
    const index = lower_bound(level.end, time - near);
    return index < level.begin.length && level.begin[index] <= time + near ? index : -1;
}

/* {depth, index} of the range below the pointer. */
function range_at(row, time, event) {
    const heights = row_heights(row);
    if (!row.canvas)
        return null;
    const y = event.clientY - row.canvas.getBoundingClientRect().top;
    const depth = heights.tops.findLastIndex((top) => y >= top);
    if (depth < 0 || y >= heights.tops[depth] + heights.sizes[depth])
        return null;
    const index = range_in_level(row.levels[depth], time);
    return index < 0 ? null : {depth, index};
}

function timeline_pointer(event) {
    const place = timeline_place(event);
    const {pointer} = timeline.marks;
    pointer.hidden = !place;
    timeline.pointer_share = place ? place.share : undefined;
    if (!place) {
        hide_tip();
        return;
    }
    pointer.style.left = 100 * place.share + '%';
    pointer.firstChild.textContent = clock_text(place.time);
    pointer.classList.toggle('left', place.share > 0.9);
    if (place.row && timeline.marks.drag.hidden)
        show_tip(event, timeline_tip(place.row, place.time, event));
    else
        hide_tip();
}

/* A time of the recording, as precise as a pixel. */
function clock_text(time) {
    const per_pixel = (timeline.to - timeline.from) / Math.max(1, timeline.axis.clientWidth);
    return axis_label(Math.round(time), 10 ** Math.floor(Math.log10(Math.max(1, per_pixel))),
        timeline.to);
}

function timeline_tip(row, time, event) {
    const hit = range_at(row, time, event);
    const lines = [el('b', {dir: 'auto'}, cut_name(row.name, 80)), ' ',
        el('span', {class: 'dim'}, row.note && row.kind === 'thread' ? row.note : '')];
    if (row.kind === 'thread')
        lines.push(el('br'), state_words(row.threads[0], time));
    else if (row.closed && states_of_row(row))
        lines.push(el('br'), sum_words(row, time));
    const open = hit ? [hit] : row.levels.map((level, depth) =>
        ({depth, index: range_in_level(level, time)})).filter((one) => one.index >= 0);
    for (const {depth, index} of open.slice(0, 12)) {
        const level = row.levels[depth];
        lines.push(el('div', {class: 'tl-open', css: hit ? {} : {'padding-left':
            Math.min(depth, 8) * 9 + 'px'}}, el('span', {dir: 'auto'},
            cut_name(range_title(data.names[level.name[index]]), 120)),
        ' ', el('span', {class: 'dim'}, time_text(level.end[index] - level.begin[index]))));
    }
    if (hit)
        lines.push(el('span', {class: 'dim'}, 'at ' + clock_text(
            row.levels[hit.depth].begin[hit.index])));
    return lines;
}

function state_words(thread, time) {
    const facts = data.threads[thread] || {begin: 0, end: data.facts.wall_ns};
    if (time < facts.begin || time > facts.end)
        return el('span', {class: 'dim'}, time < facts.begin ? 'not begun yet' : 'ended');
    const slot = time / data.facts.wall_ns * data.states.slots;
    const [running, runnable] = state_share(thread, slot, slot + 1e-9);
    const cause = state_of(thread) && state_of(thread).cause[Math.floor(slot)];
    const waits = 1 - running - runnable;
    const parts = [[running, 'running'], [runnable, 'runnable, no processor'], [waits, cause
        ? 'waits: ' + data.causes[cause - 1] : 'waits']].filter(([share]) => share > 0.03);
    return parts.map(([share, text]) => parts.length > 1 ? share_text(share) + ' ' + text : text)
        .join(', ');
}

/* The number of running and runnable threads of a folded group. */
function sum_words(row, time) {
    const {running, runnable} = states_of_row(row);
    const slot = Math.min(data.states.slots - 1,
        Math.floor(time / data.facts.wall_ns * data.states.slots));
    return `${count_text(row.threads.length)} threads: ${fixed(running[slot] / 255, 1)} running, ${
        fixed(runnable[slot] / 255, 1)} runnable`;
}

// ---- The chosen range ---------------------------------------------------------------------------

function pick_range(row, depth, index) {
    const before = timeline.picked;
    timeline.picked = {row, depth, index};
    for (const one of [before && before.row, row])
        if (one && one.canvas && one.canvas.isConnected)
            redraw(one.canvas);
    const level = row.levels[depth];
    const name = data.names[level.name[index]], length = level.end[index] - level.begin[index];
    const button = (text, run) => el('button', {class: 'tool small', on: {click: run}}, text);
    timeline.detail.replaceChildren(
        el('span', {class: 'tl-where', dir: 'auto'}, open_path(row, depth, index)),
        el('b', {dir: 'auto'}, cut_name(range_title(name), 120)),
        el('span', {class: 'tl-length'},
            time_text(length)), el('span', {class: 'sub'}, `at ${clock_text(level.begin[index])}, ${
            cut_name(row_name(row), 60)}`), el('span', {class: 'space'}),
        button('Zoom to it', zoom_to_picked),
        button(state.range === name ? 'All ranges' : 'Only this range', () =>
            toggle('range', name)));
}

function row_name(row) {
    return row.threads.length === 1 && !row.merged ? thread_name(row.threads[0]) : row.name;
}

/* The names of the enclosing ranges: "process_file › file ›". */
function open_path(row, depth, index) {
    const time = row.levels[depth].begin[index];
    if (row.kind !== 'thread' || depth === 0)
        return '';
    const names = row.levels.slice(0, depth).map((level) => {
        const at = lower_bound(level.end, time + 1);
        return at < level.begin.length && level.begin[at] <= time
            ? cut_name(range_title(data.names[level.name[at]]), 40) : null;
    }).filter(Boolean);
    return names.map((name) => name + ' › ').join('');
}

function unpick_range() {
    const {picked} = timeline;
    timeline.picked = null;
    timeline.detail.replaceChildren();
    if (picked && picked.row.canvas)
        redraw(picked.row.canvas);
}

function zoom_to_picked() {
    const {picked} = timeline;
    if (!picked)
        return;
    const level = picked.row.levels[picked.depth];
    const [from, to] = window_around(level.begin[picked.index], level.end[picked.index] -
        level.begin[picked.index]).split('-').map(Number);
    set_window(from, to);
}

// ---- Keys ---------------------------------------------------------------------------------------

function timeline_key(event) {
    if (event.target !== timeline.body || event.ctrlKey || event.metaKey || event.altKey)
        return;
    const {key} = event;
    if (key === 'ArrowRight' || key === 'ArrowLeft')
        step_in_level(key === 'ArrowRight' ? 1 : -1);
    else if (key === 'ArrowDown' || key === 'ArrowUp')
        step_level(key === 'ArrowDown' ? 1 : -1);
    else if (key === 'Enter')
        zoom_to_picked();
    else if (key === 'Escape' && timeline.picked)
        unpick_range();
    else
        return;
    event.preventDefault();
    event.stopPropagation();
}

function step_in_level(by) {
    if (!timeline.picked) {
        step_level(1);
        return;
    }
    const {row, depth, index} = timeline.picked;
    const level = row.levels[depth];
    const next = Math.max(0, Math.min(level.begin.length - 1, index + by));
    pick_range(row, depth, next);
    show_picked(level.begin[next], level.end[next]);
}

/* Moves the choice down and up through all levels of all rows, at the time of the chosen range. */
function step_level(by) {
    const places = timeline.rows.flatMap((row) => row.levels.map((_, depth) => ({row, depth})))
        .filter(({row, depth}) => row.levels[depth].begin.length > 0);
    if (!places.length)
        return;
    const {picked} = timeline;
    const at = places.findIndex((one) => picked && one.row === picked.row &&
        one.depth === picked.depth);
    const place = places[Math.max(0, Math.min(places.length - 1, at + by))];
    const time = picked ? picked.row.levels[picked.depth].begin[picked.index] : timeline.from;
    const level = place.row.levels[place.depth];
    const index = Math.min(level.begin.length - 1, lower_bound(level.end, time + 1));
    pick_range(place.row, place.depth, index);
    show_picked(level.begin[index], level.end[index]);
    place.row.line.scrollIntoView({block: 'nearest'});
}

/* Moves the window to a range outside of it. */
function show_picked(begin, end) {
    const span = timeline.to - timeline.from;
    if (begin > timeline.to || end < timeline.from) {
        const from = (begin + end) / 2 - span / 2;
        set_window(from, from + span);
    }
}
