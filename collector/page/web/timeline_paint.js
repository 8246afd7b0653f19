/* SPDX-License-Identifier: MIT */
/* Paints a row of the timeline in a window of time: its pixels, then its labels.
 *
 * Cost grows with pixels, not with ranges: ranges narrower than a pixel are skipped by binary
 * search and become one pixel, shaded by the share they cover. */

const packed_tones = new Map();

/* The colour of a token as a pixel (ABGR), blended over the surface by `pale`. */
function pixel_of(token, pale = 1) {
    const key = token + pale + tone('surface') + tone(token);
    if (!packed_tones.has(key))
        packed_tones.set(key, pale === 1 ? packed_hex(tone(token))
            : mixed(pixel_of('surface'), pixel_of(token), pale));
    return packed_tones.get(key);
}

function packed_hex(text) {
    const digits = text.replace('#', '');
    const full = digits.length === 3 ? digits.replace(/./g, '$&$&') : digits;
    const rgb = parseInt(full, 16);
    return (0xff000000 | (rgb & 0xff) << 16 | rgb & 0xff00 | rgb >> 16) >>> 0;
}

/* Pixel b over pixel a with opacity `share`. */
function mixed(a, b, share) {
    const part = share >= 1 ? 256 : share <= 0 ? 0 : (share * 256) | 0;
    const rest = 256 - part;
    const outer = ((a & 0xff00ff) * rest + (b & 0xff00ff) * part) / 256 & 0xff00ff;
    const green = ((a & 0xff00) * rest + (b & 0xff00) * part) / 256 & 0xff00;
    return (0xff000000 | outer | green) >>> 0;
}

/* All colours for the current theme and filters. */
function timeline_palette() {
    const hues = Array.from({length: 8}, (_, hue) => pixel_of('r' + hue));
    const faint = hues.map((hue) => mixed(pixel_of('surface'), hue, 0.22));
    const query = state.query.toLowerCase();
    const lit = data.names.map((name) => (!state.range || name === state.range) &&
        (!query || (name || '').toLowerCase().includes(query)));
    return {lit, names: Uint32Array.from(data.names, (_, name) =>
        (lit[name] ? hues : faint)[name_hues.hues[name]]),
    surface: pixel_of('surface'), sunk: pixel_of('sunk'), running: pixel_of('run1'),
    runnable: pixel_of('runnable'), hatch: pixel_of('runnable-2'), short: pixel_of('ink3'),
    causes: Uint32Array.from(cause_tokens, (token) => pixel_of(token, 0.38))};
}

// ---- The strip of states ------------------------------------------------------------------------

const sum_at = (sums, bytes, slot) => {
    const whole = Math.floor(slot);
    return whole >= bytes.length ? sums[bytes.length] : sums[whole] +
        (slot - whole) * bytes[whole];
};

/* Mean shares in a column of pixels, from slot `from` to `to`; `most` is the value of a full
 * share. */
function column_states({running, runnable, sums}, from, to, most) {
    const span = (to - from) * 255 * most;
    const share = (bytes, of) => Math.min(1,
        (sum_at(of, bytes, to) - sum_at(of, bytes, from)) / span);
    return [share(running, sums.running), share(runnable, sums.runnable)];
}

function paint_strip(pixels, size, row, view, palette) {
    const slots = data.states.slots, wall = data.facts.wall_ns;
    const step = (view.to - view.from) / size.width;
    const alone = row.threads.length === 1 && row.kind === 'thread';
    const most = alone ? 1 : Math.min(row.threads.length, data.facts.cpu_count || 1);
    const thread = data.threads[row.threads[0]] || {begin: 0, end: wall};
    const known = states_of_row(row);
    if (!known)
        return;
    for (let x = 0; x < size.width; x++) {
        const time = view.from + x * step;
        if (alone && (time + step < thread.begin || time > thread.end))
            continue;
        const [running, runnable] = column_states(known, time / wall * slots,
            Math.min(slots, (time + step) / wall * slots), most);
        const middle = Math.floor((time + step / 2) / wall * slots);
        const waits = known.cause[Math.min(slots - 1, middle)];
        paint_column(pixels, size, x, {running, runnable, palette,
            ground: waits ? palette.causes[waits - 1] : palette.sunk});
    }
}

function paint_column(pixels, size, x, {running, runnable, ground, palette}) {
    const tall = size.strip;
    const run_top = tall - running * tall, runnable_top = run_top - runnable * tall;
    for (let y = 0; y < tall; y++) {
        let pixel = ground;
        if (y + 1 > runnable_top) {
            const yellow = (x + y) % size.hatch < size.hatch / 4 ? palette.hatch : palette.runnable;
            pixel = y >= runnable_top ? yellow : mixed(ground, yellow, y + 1 - runnable_top);
        }
        if (y + 1 > run_top)
            pixel = y >= run_top ? palette.running
                : mixed(pixel, palette.running, y + 1 - run_top);
        pixels[y * size.width + x] = pixel;
    }
}

// ---- Ranges -------------------------------------------------------------------------------------

/* Paints ranges of a level as a line of pixels, and adds ranges wide enough for a label to
 * `labels`. */
function paint_level(line, level, view, palette, labels) {
    const scale = line.length / (view.to - view.from);
    const {begin, end, cover, name} = level;
    let index = lower_bound(end, view.from);
    while (index < begin.length && begin[index] < view.to) {
        const x = (begin[index] - view.from) * scale;
        const width = (end[index] - begin[index]) * scale;
        const color = palette.names[name[index]];
        if (width >= 2) {
            fill_line(line, x, x + width - (width > 4 ? palette.gap : 0), color);
            if (width > palette.label)
                labels.push({index, x, width});
            index++;
            continue;
        }
        const next = end_of_pixel(level, index, view, scale);
        const pixel = Math.max(0, Math.floor(x));
        const share = (cover[next] - cover[index]) * scale;
        if (pixel < line.length)
            line[pixel] = mixed(line[pixel],
                palette.names[name[(index + next) >> 1]], Math.max(0.35, share));
        index = next;
    }
}

/* Like lower_bound, for a nearby result: doubling steps, then binary search. */
function next_bound(values, wanted, low) {
    let step = 1;
    while (low + step < values.length && values[low + step] < wanted) {
        low += step;
        step *= 2;
    }
    return lower_bound(values, wanted, low, Math.min(values.length, low + step));
}

/* The first range after the pixel in which this one begins. The last range of a pixel can reach far
 * beyond it, so it is returned if it is wide enough to be drawn. */
function end_of_pixel(level, index, view, scale) {
    const {begin, end} = level;
    const pixel = Math.max(0, Math.floor((begin[index] - view.from) * scale));
    const next = next_bound(begin, view.from + (pixel + 1) / scale, index + 1);
    const last = next - 1;
    return last > index && (end[last] - begin[last]) * scale >= 2 ? last : next;
}

/* Fills from x to end, with partial pixels at both ends. */
function fill_line(line, x, end, color) {
    const first = Math.max(0, Math.ceil(x)), last = Math.min(line.length, Math.floor(end));
    if (first < last)
        line.fill(color, first, last);
    if (x > 0 && first > x && first <= line.length)
        line[first - 1] = mixed(line[first - 1], color, first - x);
    if (last < line.length && last < end && last >= first)
        line[last] = mixed(line[last], color, end - last);
}

/* Paints the share covered by ranges too short to draw, as a thin line. */
function paint_density(line, density, view, palette) {
    const per_time = density.length / data.facts.wall_ns;
    const step = (view.to - view.from) / line.length;
    for (let x = 0; x < line.length; x++) {
        const slot = Math.floor((view.from + (x + 0.5) * step) * per_time);
        const share = density[Math.max(0, Math.min(density.length - 1, slot))] / 255;
        if (share > 0)
            line[x] = mixed(palette.surface, palette.short, 0.15 + 0.6 * share);
    }
}

/* Paints a row: strip, levels, density. Returns the labels. */
function paint_row(image, row, view, palette, ratio) {
    const heights = row_heights(row);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(palette.surface);
    const size = {width: image.width, strip: Math.round(heights.strip * ratio),
        hatch: Math.round(7 * ratio)};
    if (size.strip)
        paint_strip(pixels, size, row, view, palette);
    const line = new Uint32Array(image.width);
    const labels = row.levels.map((level, depth) => {
        const found = [];
        line.fill(palette.surface);
        paint_level(line, level, view, palette, found);
        const top = heights.tops[depth];
        copy_line(pixels, line, Math.round(top * ratio),
            Math.round((top + heights.sizes[depth] - 1) * ratio));
        return found;
    });
    if (row.density) {
        line.fill(palette.surface);
        paint_density(line, row.density, view, palette);
        copy_line(pixels, line, Math.round((heights.density + 1) * ratio),
            Math.round((heights.density + 4) * ratio));
    }
    return labels;
}

function copy_line(pixels, line, top, bottom) {
    for (let y = top; y < bottom && (y + 1) * line.length <= pixels.length; y++)
        pixels.set(line, y * line.length);
}

// ---- Labels -------------------------------------------------------------------------------------

const label_widths = new Map();

/* Cuts a name to `room`. Widths are measured once per name. */
function short_label(g, name, room) {
    let width = label_widths.get(name);
    if (width === undefined) {
        width = g.measureText(cut_name(name)).width;
        label_widths.set(name, width);
    }
    if (width <= room)
        return cut_name(name);
    const letters = Math.floor(Math.min(name.length, 200) * (room - 10) / width);
    return letters >= 5 ? name.slice(0, letters) + '…' : '';
}

function draw_labels(g, row, labels, palette, width) {
    const heights = row_heights(row);
    g.font = '11px ' + TEXT_FONT;
    g.textBaseline = 'middle';
    row.levels.forEach((level, depth) => {
        if (heights.sizes[depth] < 14)
            return;
        const y = heights.tops[depth] + heights.sizes[depth] / 2;
        for (const one of labels[depth]) {
            const x = Math.max(0, one.x / palette.ratio);
            const end = Math.min(width, (one.x + one.width) / palette.ratio);
            const name = level.name[one.index];
            const text = short_label(g, range_title(data.names[name]), end - x - 8);
            g.fillStyle = tone(palette.lit[name] ? 'ink' : 'ink3');
            if (text)
                g.fillText(text, x + 4, y);
        }
    });
}

/* Labels wide waits, so that colour is not the only cue. */
function draw_causes(g, row, view, width) {
    const known = row.kind === 'thread' && state_of(row.threads[0]);
    if (!known || !known.cause.length)
        return;
    const {cause} = known;
    const per_pixel = (view.to - view.from) / width / data.facts.wall_ns * data.states.slots;
    const first = view.from / data.facts.wall_ns * data.states.slots;
    const thread = data.threads[row.threads[0]];
    const x_of = (time) => (time - view.from) / (view.to - view.from) * width;
    const last = thread ? Math.min(width, x_of(thread.end)) : width;
    g.font = '10.5px ' + TEXT_FONT;
    g.textBaseline = 'middle';
    g.fillStyle = tone('ink2');
    let x = thread ? Math.max(0, x_of(thread.begin)) : 0;
    while (x < last) {
        const at = cause[Math.floor(first + x * per_pixel)];
        const end = Math.min(last, cause_end(row.threads[0], first, x, per_pixel, width));
        if (at && end - x > 64) {
            const text = data.causes[at - 1];
            if (g.measureText(text).width < end - x - 10)
                g.fillText(text, x + 5, row_heights(row).strip / 2 + 0.5);
        }
        x = Math.max(end, x + 4);
    }
}

/* The right end of a stretch with one cause in which the thread hardly runs. */
function cause_end(thread, first, x, per_pixel, width) {
    const {cause, running, runnable} = state_of(thread);
    const start = Math.floor(first + x * per_pixel);
    let slot = start;
    const last = Math.min(cause.length, Math.ceil(first + width * per_pixel));
    while (slot < last && cause[slot] === cause[start] && running[slot] + runnable[slot] < 60)
        slot++;
    return Math.min(width, (slot - first) / per_pixel);
}
