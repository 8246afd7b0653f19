/* SPDX-License-Identifier: MIT */
/* Counters: the program's own numbers over time. Each is a line of last values in a band from least
 * to greatest, with 240 points over the whole time. */

const COUNTER_HEIGHT = 132;

/* [{slot, least, greatest, last}] of slots that have a value. */
function counter_points(counter) {
    if (!counter.points)
        counter.points = counter.last.map((last, slot) => ({slot, last,
            least: counter.least[slot], greatest: counter.greatest[slot]}))
            .filter((point) => point.last !== null && point.last !== undefined);
    return counter.points;
}

function counter_title(counter) {
    const [place, ...more] = counter.devices || [];
    if (place)
        return `${place.counter} · ${place.device} · ${process_name(place.process)}${
            more.length ? ', …' : ''}`;
    const others = data.counters.filter((one) => one.name === counter.name).length > 1;
    const name = range_title(counter.name);
    return others ? `${name} · ${process_name(counter.process)}` : name;
}

const with_unit = (value, counter) => value_text(value) + (counter.unit
    ? NARROW + cut_name(counter.unit, 12) : '');

function counter_card(counter, title) {
    const points = counter_points(counter);
    const least = Math.min(...points.map((point) => point.least));
    const greatest = Math.max(...points.map((point) => point.greatest));
    const {last} = points[points.length - 1];
    const caption = el('span', {class: 'dim'});
    const show_point = (point) => {
        caption.textContent = point ? `${with_unit(point.last, counter)} at ${
            time_text(point.slot / counter.last.length * data.facts.wall_ns)}`
            : `max ${with_unit(greatest, counter)} · last ${with_unit(last, counter)}`;
    };
    show_point(null);
    const scale = {low: Math.min(0, least), high: greatest > Math.min(0, least) ? greatest : 1};
    const chart = {marked: null};
    const canvas = canvas_box({height: COUNTER_HEIGHT, label: `${cut_name(counter.name, 200)}: ${
        caption.textContent}`, draw: (g, width, height) =>
        draw_counter(g, {width, height, scale, points, counter, chart})});
    const mark = (event) => {
        const share = event && event.offsetX / canvas.clientWidth;
        const slot = share * counter.last.length;
        chart.marked = event ? points.findLast((point) => point.slot <= slot) || points[0] : null;
        show_point(chart.marked);
        redraw(canvas);
    };
    canvas.addEventListener('pointermove', mark);
    canvas.addEventListener('pointerleave', () => mark(null));
    return el('figure', {class: 'panel counter'}, el('figcaption', {},
        el('b', {dir: 'auto', title: cut_name(counter.name, 1000)},
            cut_name(title || counter_title(counter), 80)), caption), canvas);
}

function draw_counter(g, {width, height, scale, points, counter, chart}) {
    const bottom = height - 20, top = 14, slots = counter.last.length;
    const x_of = (slot) => slot / slots * width;
    const y_of = (value) => bottom - (bottom - top) * (value - scale.low) /
        (scale.high - scale.low);
    g.fillStyle = tone('line');
    g.fillRect(0, Math.round(y_of(scale.high)), width, 1);
    g.fillStyle = tone('ink3');
    g.font = '11px ' + TEXT_FONT;
    g.textBaseline = 'alphabetic';
    g.fillText(with_unit(scale.high, counter), 0, top - 3);
    g.fillStyle = tone('run1');
    g.globalAlpha = 0.24;
    for (const point of points)
        g.fillRect(x_of(point.slot), y_of(point.greatest), width / slots + 0.3,
            Math.max(0, y_of(point.least) - y_of(point.greatest)));
    g.globalAlpha = 1;
    draw_counter_line(g, points, x_of, y_of,
        {width, ground: y_of(Math.max(0, scale.low))});
    veil_outside(g, width, bottom);
    draw_axis(g, {x: 0, y: Math.round(y_of(Math.max(0, scale.low))), width}, 0,
        data.facts.wall_ns);
    if (chart.marked) {
        g.fillStyle = tone('ink');
        g.fillRect(Math.round(x_of(chart.marked.slot)), top, 1, bottom - top);
    }
}

/* A value holds until the next one. */
function draw_counter_line(g, points, x_of, y_of, {width, ground}) {
    const path = new Path2D();
    points.forEach((point, index) => {
        if (index)
            path.lineTo(x_of(point.slot), y_of(points[index - 1].last));
        path.lineTo(x_of(point.slot), y_of(point.last));
    });
    path.lineTo(width, y_of(points[points.length - 1].last));
    const area = new Path2D(path);
    area.lineTo(width, ground);
    area.lineTo(x_of(points[0].slot), ground);
    g.fillStyle = g.strokeStyle = tone('run1');
    g.globalAlpha = 0.08;
    g.fill(area);
    g.globalAlpha = 1;
    g.lineWidth = 1.5;
    g.lineJoin = 'round';
    g.stroke(path);
}

function veil_outside(g, width, bottom) {
    if (!state.stretch)
        return;
    const from = state.from / data.slots * width, to = state.to / data.slots * width;
    g.fillStyle = tone('surface');
    g.globalAlpha = 0.72;
    g.fillRect(0, 0, from, bottom);
    g.fillRect(to, 0, width - to, bottom);
    g.globalAlpha = 1;
}

function draw_counters(box) {
    const shown = data.counters.filter((counter) => counter_points(counter).length > 0 &&
        (state.process < 0 || counter.process === state.process ||
            (counter.devices || []).some((place) => place.process === state.process)));
    add_to(box, view_head('Counters', 'a line of the last values; the band is the least and the ' +
        'greatest in each 1/240 of the time'));
    add_to(box, ignored_filters('thread', 'range', 'task') || '');
    if (!shown.length) {
        add_to(box, empty_text('No counter of this process.'));
        return;
    }
    add_to(box, el('div', {class: 'grid3'}, shown.map((counter) => counter_card(counter))));
    const table = table_of('counters');
    if (table && table.rows.length)
        add_to(box, el('div', {class: 'gapped'},
            view_head('Numbers', 'over the whole recording, of all processes'),
            report_table(table, {shown: 12, narrow: ['count', 'value_mean']})));
}

add_view({key: 'counters', title: 'Counters',
    question: 'How did counters of the program change?',
    has: () => data.counters.some((counter) => counter_points(counter).length > 0),
    draw: draw_counters});
