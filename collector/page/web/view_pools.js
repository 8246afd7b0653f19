/* SPDX-License-Identifier: MIT */
/* Pools: the stages of tasks from submission to result, and the balance of the work. */

const STAGES = {
    'hand over': 'the pool’s thread pickles and writes the task',
    'worker start': 'a worker starts because of it', queued: 'waits for a worker',
    unpickle: 'the worker reads the task', run: 'your function',
    send: 'the worker hands the result over', waiting: 'the result waits to be read',
    fetch: 'the main process reads it',
};
const EVEN_SHARE = 0.05; // of a pool's time, between the ends of its workers

const times_differ = () => state.stretch !== '' || state.thread >= 0 || state.process >= 0;

/* The report's rows with the parts of a function. */
function stage_rows(function_name) {
    const rows = table_rows('tasks');
    const first = rows.findIndex((row) => row.role === 'plain' && row.function === function_name);
    if (first < 0)
        return [];
    const next = rows.findIndex((row, index) => index > first && row.role !== 'part');
    return rows.slice(first + 1, next < 0 ? rows.length : next);
}

/* The same for filtered tasks, for each part over tasks that have it. */
function seen_stage_rows(tasks) {
    const known = (values) => quantiles_of(values.filter((value) => value >= 0));
    return [['queued', (task) => task.submitted < 0 ? -1 : task.begin - task.unpickle -
        task.submitted], ['unpickle', (task) => task.unpickle], ['run', (task) => task.run],
    ['send', (task) => task.send]].map(([part, value]) =>
        ({part, ...known(tasks.map(value))}));
}

/* Tasks of a pool by function, largest total first. */
function functions_of(pool, tasks) {
    return [...grouped(tasks, (task) => task.name || pool.function)].map(([name, list]) =>
        ({name, list, ...quantiles_of(list.map((task) => task.run))}))
        .sort((a, b) => b.total_ns - a.total_ns);
}

/* The report's table joins a function's tasks of all pools. */
function is_in_other_pool(pool, name) {
    return data.pools.some((other) => other !== pool &&
        pool_tasks(other).some((task) => task.name === name));
}

const STAGE_TABLES_MOST = 4;

function stage_tables(pool, tasks) {
    const groups = functions_of(pool, tasks);
    const tables = groups.slice(0, STAGE_TABLES_MOST).map((group) =>
        stage_table(pool, group, groups.length > 1));
    return groups.length > 1 ? [function_table(pool, groups), ...tables] : tables;
}

function function_table(pool, groups) {
    return el('section', {}, view_head('Functions', 'what the tasks of this pool run'),
        data_table({id: 'functions' + pool.name, label: 'Functions of the pool', rows: groups,
            shown: 12, sort: -1, columns: [
                {title: 'function', type: 'text', left: true, value: (row) => row.name,
                    cell: (row) => el('code', {dir: 'auto'}, cut_name(row.name))},
                {title: 'tasks', type: 'count', width: '60px', value: (row) => row.count},
                {title: 'run', type: 'time', width: '80px', value: (row) => row.total_ns},
                {title: 'p50', type: 'time', width: '80px', value: (row) => row.p50_ns},
                {title: 'max', type: 'time', width: '80px', value: (row) => row.max_ns}]}));
}

function stage_table(pool, group, several) {
    const rows = times_differ() || is_in_other_pool(pool, group.name)
        ? seen_stage_rows(group.list) : stage_rows(group.name);
    if (!rows.length)
        return null;
    const time = (title, name, narrow) => ({title, type: 'time', width: '84px', narrow,
        value: (row) => row[name]});
    return el('section', {}, view_head('From submission to result', several
        ? 'of ' + cut_name(group.name, 60) : 'how long each stage took'),
        data_table({id: 'stages' + pool.name + group.name, label: 'Stages of a task', rows,
            sort: -1, row_class: (row) => row.part === 'run' ? 'main' : '',
            columns: [{title: 'stage', type: 'text', width: '88px', value: (row) => row.part},
                {title: 'what it is', class: 'place', left: true,
                    cell: (row) => STAGES[row.part] || ''},
                rows.some((row) => row.cpu_ns > 0) ? time('CPU', 'cpu_ns', false) : null,
                time('p50', 'p50_ns'), time('p90', 'p90_ns'), time('max', 'max_ns')]
                .filter(Boolean),
            notes: ['Tasks that are submitted all at once wait in the queue by design: a long ' +
                'time there is no cost.']}));
}

// ---- Workers ------------------------------------------------------------------------------------

function worker_rows(pool, tasks) {
    return pool.workers.map((worker) => {
        const own = tasks.filter((task) => task.worker === worker);
        const last = own.reduce((end, task) => Math.max(end, task.begin + task.run), 0);
        return {worker, thread: data.threads[worker], count: own.length, last,
            run: total_of(own, (task) => task.run), send: total_of(own, (task) => task.send)};
    });
}

function worker_table(pool) {
    const rows = worker_rows(pool, tasks_in_stretch(pool));
    const most = Math.max(1, ...rows.map((row) => row.run));
    const time = (title, value, more) => ({title, type: 'time', width: '80px', value, ...more});
    return el('section', {}, view_head('Workers', 'a click filters by the worker'),
        data_table({id: 'workers' + pool.name, label: 'Workers', rows, shown: 16, sort: -1,
            key: (row) => String(row.worker), chosen: (row) => state.thread === row.worker,
            choose: (row) => toggle('thread', row.worker),
            columns: [{title: 'worker', type: 'text', left: true,
                value: (row) => thread_name(row.worker)},
            {title: 'tasks', type: 'count', width: '60px', value: (row) => row.count},
            time('run', (row) => row.run),
            {title: '', left: true, width: '76px', narrow: false,
                cell: (row) => mini_bar([['run1', row.run / most]], '62px')},
            time('send', (row) => row.send, {narrow: false}),
            times_differ() ? null : time('CPU', (row) => row.thread.cpu_ns),
            times_differ() ? null : time('runnable', (row) => row.thread.runnable_ns,
                {hint: 'could have run, but no processor was free', narrow: false}),
            time('last end', (row) => row.last)].filter(Boolean)}));
}

/* Checks that the workers end together: the longest tasks should not come last. */
function evenness(pool) {
    const tasks = tasks_in_stretch(pool);
    const rows = worker_rows(pool, tasks).filter((row) => row.count > 0);
    if (rows.length < 2)
        return null;
    const begin = tasks.reduce((least, task) => Math.min(least, task.begin), Infinity);
    const last = Math.max(...rows.map((row) => row.last));
    const early = rows.reduce((a, b) => a.last < b.last ? a : b);
    const gap = last - early.last;
    const idle = total_of(rows, (row) => last - row.last);
    return gap <= EVEN_SHARE * (last - begin)
        ? `The last tasks of all workers end within ${time_text(gap)}: the work is even.`
        : `${thread_name(early.worker)} has nothing to do for the last ${time_text(gap)}: ` +
            `workers are idle for ${time_text(idle)} in all. Submit the longest tasks first.`;
}

const names_of = (pool) => new Set(pool_tasks(pool).map((task) => task.name)).size;

// ---- Longest tasks ------------------------------------------------------------------------------

function longest_table(pool, tasks) {
    const median = quantiles_of(tasks.map((task) => task.run)).p50_ns;
    const longest = tasks.slice().sort((a, b) => b.run - a.run).slice(0, 60);
    return el('section', {}, view_head('Longest tasks', 'a click shows one on the timeline'),
        data_table({id: 'longest' + pool.name, label: 'Longest tasks', rows: longest, shown: 12,
            sort: 0, key: (task) => String(task.index),
            choose: (task) => to_timeline(task.begin, task.run),
            columns: [{title: 'run', type: 'time', width: '80px', value: (task) => task.run},
                {title: '× p50', width: '60px', value: (task) => task.run / median,
                    hint: 'how many times as long as the median of the tasks here',
                    cell: (task) => fixed(task.run / median, 1)},
                {title: 'task', type: 'text', left: true, value: (task) => task.name,
                    cell: (task) => task.name && names_of(pool) > 1
                        ? el('code', {}, cut_name(task.name))
                        : el('span', {class: 'dim'}, `number ${count_text(task.index + 1)}`)},
                {title: 'worker', type: 'text', left: true, width: '132px', narrow: false,
                    value: (task) => thread_name(task.worker)},
                {title: 'began at', type: 'time', width: '80px', value: (task) => task.begin}]}));
}

/* For functions that only this pool runs. */
function unfinished_note(pool) {
    const names = new Set(pool_tasks(pool).map((task) => task.name));
    const rows = table_rows('tasks').filter((row) => row.role === 'plain' &&
        row.unfinished_count > 0 && names.has(row.function) &&
        !is_in_other_pool(pool, row.function));
    const count = total_of(rows, (row) => row.unfinished_count);
    return count > 0 ? el('b', {}, counted(count, 'more task') + ' began and did not end.') : null;
}

function draw_pool(box, pool) {
    const tasks = seen_tasks(pool);
    const workers = pool.workers.length === 1 ? '1 worker' : pool.workers.length + ' workers';
    const names = functions_of(pool, tasks).map((group) => group.name);
    const what = names.length > 2 ? `${count_text(names.length)} functions`
        : names.map((name) => cut_name(name, 80)).join(' and ') || cut_name(pool.function, 80);
    const head = view_head(pool.name, `${counted(tasks.length, 'task')} of ${what} on ${workers}`);
    if (!tasks.length) {
        add_to(box, el('section', {class: 'part'}, head,
            empty_text('No task began in this selection.')));
        return;
    }
    const two = pool.workers.length === 2;
    add_to(box, el('section', {class: 'part'}, head,
        el('div', {class: 'panel chart'}, pool_chart(pool)),
        notes(legend_entry('run1', 'tasks, in turn light and dark'),
            legend_entry('w-gil', 'sending the result'),
            two ? [legend_entry('run1', 'dots: ' + thread_name(pool.workers[0])),
                legend_entry('own', thread_name(pool.workers[1]))] : null,
            evenness(pool), unfinished_note(pool), pool.more > 0
                ? counted(pool.more, 'more task') + ' in the tables only.' : null),
        el('div', {class: 'columns gapped'}, el('div', {class: 'stack'}, stage_tables(pool, tasks),
            worker_table(pool)), longest_table(pool, tasks))));
}

/* Functions of executors without a chart. */
function other_tasks() {
    const shown = new Set(data.pools.flatMap((pool) =>
        functions_of(pool, pool_tasks(pool)).slice(0, STAGE_TABLES_MOST).map((one) => one.name)));
    const table = table_of('tasks');
    const others = table && table.rows.some((row) => row.role === 'plain' &&
        !shown.has(row_object(table, row).function));
    return others ? el('section', {class: 'part'}, view_head(table.title, ''),
        report_table(table, {id: 'all tasks'})) : null;
}

add_view({key: 'pools', title: 'Pools',
    question: 'How does a task travel; is the work even?',
    has: () => data.pools.length > 0 || table_rows('tasks').length > 0,
    draw: (box) => {
        add_to(box, ignored_filters('range', 'task') || '');
        for (const pool of data.pools)
            draw_pool(box, pool);
        add_to(box, ...[other_tasks()].filter(Boolean));
    }});
