/* SPDX-License-Identifier: MIT */
/* Time charts shared by several views: dots by duration, and the tail of a distribution. Durations
 * have a logarithmic scale. */

const DOTS_ROUND = 4000; // beyond that, squares: they draw ten times faster

/* Whole decades around the values, in nanoseconds. */
function decades_of(values) {
    let low = Infinity, high = 0;
    for (const value of values) {
        low = Math.min(low, Math.max(100, value));
        high = Math.max(high, value);
    }
    const first = Math.floor(Math.log10(Math.min(low, high || 1000)));
    return {first, last: Math.max(first + 1, Math.ceil(Math.log10(Math.max(high, 1000))))};
}

/* place: {x, y, width, height, from, to, decades}: rectangle, time window, range of durations. */
const dot_x = (place, time) => place.x + (time - place.from) / (place.to - place.from) *
    place.width;
const dot_y = (place, ns) => place.y + place.height * (1 - (Math.log10(Math.max(1, ns)) -
    place.decades.first) / (place.decades.last - place.decades.first));

function draw_decades(g, place) {
    g.font = '11px ' + TEXT_FONT;
    g.textBaseline = 'middle';
    const {first, last} = place.decades;
    for (let decade = first; decade <= last; decade++) {
        const y = Math.round(dot_y(place, 10 ** decade));
        g.fillStyle = tone('line');
        g.fillRect(place.x, y, place.width, 1);
        g.fillStyle = tone('ink3');
        const text = axis_label(10 ** decade, 10 ** decade, 10 ** decade);
        g.fillText(text, place.x - 10 - g.measureText(text).width, y + 1);
    }
}

/* dots: [{time, ns, token}], with few different tokens. */
function draw_dots(g, place, dots) {
    const round = dots.length <= DOTS_ROUND;
    g.save();
    g.beginPath();
    g.rect(place.x - 3, place.y - 4, place.width + 6, place.height + 8);
    g.clip();
    g.globalAlpha = round ? 0.78 : 0.5;
    for (const token of new Set(dots.map((dot) => dot.token))) {
        g.fillStyle = tone(token);
        g.beginPath();
        for (const dot of dots)
            if (dot.token === token && dot.time <= place.to && dot.time >= place.from)
                add_dot(g, dot_x(place, dot.time), dot_y(place, dot.ns), round);
        g.fill();
    }
    g.restore();
}

function add_dot(g, x, y, round) {
    if (!round) {
        g.rect(x - 1, y - 1, 2, 2);
        return;
    }
    g.moveTo(x + 2.4, y);
    g.arc(x, y, 2.4, 0, 2 * Math.PI);
}

/* The nearest dot within seven pixels of a point, or null. */
function dot_near(place, dots, x, y) {
    let best = null, nearest = 49;
    for (const dot of dots) {
        const dx = dot_x(place, dot.time) - x;
        if (Math.abs(dx) > 7)
            continue;
        const distance = dx * dx + (dot_y(place, dot.ns) - y) ** 2;
        if (distance < nearest)
            [best, nearest] = [dot, distance];
    }
    return best;
}

/* Tips of a canvas: what(x, y) returns {tip, ...} or null. */
function chart_pointer(canvas, what, choose) {
    const at = (event) => {
        const box = canvas.getBoundingClientRect();
        return what(event.clientX - box.left, event.clientY - box.top);
    };
    canvas.addEventListener('pointermove', (event) => {
        const found = at(event);
        canvas.style.cursor = found && choose ? 'pointer' : '';
        if (found)
            show_tip(event, found.tip);
        else
            hide_tip();
    });
    canvas.addEventListener('pointerleave', hide_tip);
    if (choose)
        canvas.addEventListener('click', (event) => {
            const found = at(event);
            if (found)
                choose(found.one);
        });
    return canvas;
}

const to_timeline = (begin, length) => go({view: 'timeline', at: window_around(begin, length)});

/* The selected stretch, in nanoseconds. */
const seen_stretch = () => ({from: slot_ns(state.from), to: slot_ns(state.to)});

// ---- Percentiles --------------------------------------------------------------------------------

/* The value not exceeded by a share of the values; `sorted` is ascending and not empty. */
function quantile(sorted, share) {
    return sorted[Math.max(0, Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1))];
}

function quantiles_of(values) {
    const sorted = Float64Array.from(values).sort();
    if (!sorted.length)
        return {count: 0, total_ns: 0, p50_ns: null, p90_ns: null, p99_ns: null, max_ns: null};
    return {count: sorted.length, total_ns: sorted.reduce((sum, value) => sum + value, 0),
        p50_ns: quantile(sorted, 0.5), p90_ns: quantile(sorted, 0.9),
        p99_ns: quantile(sorted, 0.99), max_ns: sorted[sorted.length - 1], sorted};
}

const TAIL_SHARES = [[0, 'least'], [0.5, 'p50'], [0.9, 'p90'], [0.99, 'p99'], [0.999, 'p99.9']];

/* Percentile curves: lines: [{sorted, token, name}]. Each nine has the same width, which keeps the
 * tail off the edge. */
function draw_tail(g, width, height, lines) {
    const most = Math.max(...lines.map((line) => line.sorted.length));
    const nines = Math.min(3, Math.max(1, Math.log10(most)));
    const place = {x: 64, y: 12, width: width - 84, height: height - 40,
        decades: decades_of(lines.flatMap((line) => [line.sorted[0],
            line.sorted[line.sorted.length - 1]]))};
    draw_decades(g, place);
    const at = (share) => place.x + place.width * Math.min(1, -Math.log10(1 - share) / nines);
    for (const [share, text] of TAIL_SHARES) {
        if (-Math.log10(1 - share) > nines + 0.05)
            continue;
        const x = Math.round(at(share)), wide = g.measureText(text).width;
        g.fillStyle = tone('line');
        g.fillRect(x, place.y, 1, place.height + 4);
        g.fillStyle = tone('ink3');
        g.fillText(text, Math.min(width - wide, Math.max(0, x - wide / 2)), height - 14);
    }
    for (const line of lines)
        draw_tail_line(g, place, line, {at, nines});
}

function draw_tail_line(g, place, {sorted, token}, {at, nines}) {
    g.strokeStyle = tone(token);
    g.lineWidth = 2;
    g.lineJoin = 'round';
    g.beginPath();
    const steps = Math.min(240, sorted.length);
    for (let step = 0; step <= steps; step++) {
        const share = Math.min(1 - 1 / sorted.length, 1 - 10 ** (-nines * step / steps));
        g.lineTo(at(share), dot_y(place, quantile(sorted, share)));
    }
    g.stroke();
    const last = sorted[sorted.length - 1];
    const end = at(1 - 1 / (sorted.length + 1));
    g.lineTo(end, dot_y(place, last));
    g.stroke();
    g.fillStyle = tone(token);
    g.beginPath();
    g.arc(end, dot_y(place, last), 3, 0, 2 * Math.PI);
    g.fill();
}
