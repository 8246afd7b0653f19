/* SPDX-License-Identifier: MIT */
/* The chart of a pool: tasks of each worker over time, and below each task's run time. */

const WORKER_TOKENS = ['run1', 'own'];

/* Converts the columns of a pool's tasks to objects. */
function pool_tasks(pool) {
    if (!pool.list) {
        const {tasks} = pool;
        pool.list = tasks.begin.map((begin, index) => ({index, begin, run: tasks.run[index],
            worker: tasks.worker[index], submitted: tasks.submitted[index],
            unpickle: tasks.unpickle[index], send: tasks.send[index],
            read: tasks.read[index], fetch: tasks.fetch[index],
            name: data.names[tasks.name_of[index]] || ''}));
        pool.by_worker = new Map(pool.workers.map((worker) => [worker, []]));
        for (const task of pool.list)
            if (pool.by_worker.has(task.worker))
                pool.by_worker.get(task.worker).push(task);
        for (const list of pool.by_worker.values())
            list.sort((a, b) => a.begin - b.begin);
    }
    return pool.list;
}

/* Tasks that begin in the selected stretch. */
function tasks_in_stretch(pool) {
    const {from, to} = seen_stretch();
    return pool_tasks(pool).filter((task) => task.begin >= from && task.begin < to);
}

/* Those of them on the selected thread or process. */
function seen_tasks(pool) {
    return tasks_in_stretch(pool).filter((task) => (state.thread < 0 ||
        task.worker === state.thread) && (state.process < 0 ||
        data.threads[task.worker] && data.threads[task.worker].process === state.process));
}

/* The selected stretch, else the time in which the pool has tasks. */
function pool_stretch(pool) {
    const tasks = pool_tasks(pool);
    if (state.stretch || !tasks.length)
        return seen_stretch();
    const begin = Math.min(...tasks.map((task) => task.begin));
    const end = Math.max(...tasks.map((task) => task.begin + task.unpickle + task.run + task.send));
    const margin = Math.max(1e6, (end - begin) * 0.02);
    return {from: Math.max(0, begin - margin), to: Math.min(span_ns(), end + margin)};
}

function pool_chart_size(pool) {
    const count = pool.workers.length;
    const step = count <= 8 ? 32 : count <= 24 ? 18 : 8;
    return {step, bar: step - (step > 20 ? 9 : 2), dots: 150, lanes: count * step};
}

function pool_chart(pool) {
    const size = pool_chart_size(pool), tasks = seen_tasks(pool);
    const place = {x: 128, y: size.lanes + 22, height: size.dots - 20, ...pool_stretch(pool),
        decades: decades_of(tasks.map((task) => task.run))};
    const two = pool.workers.length === 2;
    const dots = tasks.map((task) => ({time: task.begin, ns: task.run, task, token:
        two ? WORKER_TOKENS[pool.workers.indexOf(task.worker)] : 'run1'}));
    const canvas = canvas_box({height: size.lanes + size.dots + 30,
        label: 'Tasks on the workers over time, and how long each ran; the tables below have ' +
            'their numbers', draw: (g, width) => {
            place.x = width < 620 ? 74 : 128;
            place.width = width - place.x - 4;
            draw_workers(g, pool, place, size);
            draw_decades(g, place);
            draw_dots(g, place, dots);
            draw_axis(g, {x: place.x, y: place.y + place.height + 8, width: place.width},
                place.from, place.to);
        }});
    return chart_pointer(canvas, (x, y) => {
        const task = y < size.lanes ? task_at(pool, place, size, {x, y})
            : (dot_near(place, dots, x, y) || {}).task;
        return task ? {one: task, tip: task_tip(pool, task)} : null;
    }, (task) => to_timeline(task.begin, task.run));
}

function draw_workers(g, pool, place, size) {
    g.textBaseline = 'middle';
    pool.workers.forEach((worker, lane) => {
        const y = 4 + lane * size.step;
        if (size.step >= 16) {
            g.font = '12.5px ' + TEXT_FONT;
            g.fillStyle = tone(state.thread === worker ? 'accent' : 'ink');
            g.fillText(fit_label(g, thread_name(worker), place.x - 12), 0, y + size.bar / 2);
        }
        g.fillStyle = tone('sunk');
        g.fillRect(place.x, y, place.width, size.bar);
        draw_tasks(g, pool.by_worker.get(worker) || [], place, {y, height: size.bar});
    });
}

/* Draws neighbours alternately light and dark, and joins those narrower than a pixel. */
function draw_tasks(g, tasks, place, {y, height}) {
    const x_of = (time) => Math.max(place.x, Math.min(place.x + place.width,
        dot_x(place, time)));
    let last = -1;
    tasks.forEach((task, index) => {
        const end = task.begin + task.run;
        if (end < place.from || task.begin > place.to)
            return;
        const x = x_of(task.begin), width = x_of(end) - x;
        if (width < 0.5 && x - last < 0.5)
            return;
        last = x + width;
        g.fillStyle = tone('run1');
        g.globalAlpha = index % 2 ? 1 : 0.68;
        g.fillRect(x, y, Math.max(0.5, width - (width > 2 ? 0.5 : 0)), height);
        g.globalAlpha = 1;
        const send = x_of(end + task.send) - (x + width);
        if (send > 0.5) {
            g.fillStyle = tone('w-gil');
            g.fillRect(x + width, y, send, height);
        }
    });
}

function task_at(pool, place, size, {x, y}) {
    const worker = pool.workers[Math.floor((y - 4) / size.step)];
    const tasks = pool.by_worker.get(worker) || [];
    if (x < place.x)
        return null;
    const time = place.from + (x - place.x) / place.width * (place.to - place.from);
    const next = lower_bound(tasks.map((task) => task.begin), time);
    const task = tasks[next - 1];
    return task && time <= task.begin + task.run + task.send ? task : null;
}

function task_tip(pool, task) {
    const queued = task.begin - task.unpickle - task.submitted;
    return [el('b', {dir: 'auto'}, cut_name(task.name || pool.function, 120)), el('br'),
        'ran ', time_text(task.run), ', sent its result in ', time_text(task.send), el('br'),
        el('span', {class: 'dim'}, thread_name(task.worker), ', at ', time_text(task.begin),
            task.submitted >= 0 && queued > 0 ? ', queued ' + time_text(queued) : '')];
}
