/* SPDX-License-Identifier: MIT */
/* The recording: its reliability, its contents, and the page's omissions. */

/* A bad value has a mark, so that colour is not the only cue. */
function trust_list() {
    return el('dl', {class: 'trust'}, data.trust.map(({what, text, good}) => [
        el('dt', {}, what), el('dd', {class: good === false ? 'poor' : null},
            good === false ? el('span', {class: 'mark', role: 'img', 'aria-label': 'attention'},
                '!') : null, with_numbers(text))]));
}

function verdict() {
    const poor = data.trust.filter((one) => one.good === false).length;
    if (!data.trust.length)
        return '';
    return poor === 0 ? 'yes, all points are good'
        : `with care: ${poor === 1 ? 'one point' : poor + ' points'} below`;
}

function fact_list() {
    const {facts} = data;
    const entries = [['Command', facts.command && el('code', {dir: 'auto'},
        cut_name(facts.command, 600))], ['Began', began_text(facts.began)],
    ['Lasted', time_text(facts.wall_ns)], ['Processors', facts.cpu_count &&
        String(facts.cpu_count)], ['Host', facts.host], ['Sampling', facts.sampling],
    ['File', facts.file && el('span', {dir: 'auto'}, cut_name(facts.file, 600))],
    ['annot', facts.annot]];
    return el('dl', {}, entries.filter(([, value]) => value).map(([what, value]) =>
        [el('dt', {}, what), el('dd', {}, value)]));
}

function process_rows() {
    return data.processes.map((process, index) => {
        const threads = data.threads.filter((thread) => thread.process === index);
        return {index, process, threads: threads.length,
            cpu_ns: total_of(threads, (thread) => thread.cpu_ns)};
    });
}

const ended_well = (ended) =>
    /^(exit 0|exec|running|still running|not recorded)?$/.test(ended || '');

function process_table() {
    return data_table({id: 'processes', label: 'Processes', rows: process_rows(), shown: 14,
        sort: 3, key: (row) => String(row.index), chosen: (row) => state.process === row.index,
        choose: (row) => toggle('process', row.index), columns: [
            {title: 'process', type: 'text', left: true, value: (row) => row.process.name},
            {title: 'pid', width: '72px', value: (row) => row.process.pid,
                cell: (row) => String(row.process.pid)},
            {title: 'threads', type: 'count', width: '66px', value: (row) => row.threads},
            {title: 'CPU', type: 'time', width: '80px', value: (row) => row.cpu_ns},
            {title: 'began at', type: 'time', width: '80px', narrow: false,
                value: (row) => row.process.begin},
            {title: 'ended', type: 'text', left: true, width: '132px',
                value: (row) => row.process.ended || '', cell: (row) =>
                    el('span', {class: ended_well(row.process.ended) ? 'dim' : null},
                        row.process.ended || '')}]});
}

function draw_recording(box) {
    const left = [data.trust.length ? el('section', {}, view_head('Can I trust it?', verdict()),
        trust_list()) : null, data.processes.length ? el('section', {}, view_head('Processes',
        'a click filters'), process_table()) : null];
    const right = [el('section', {}, view_head('What was recorded', ''), fact_list()),
        data.left_out.length ? el('section', {}, view_head('Not on this page',
            'to keep it small'), el('ul', {class: 'plain'}, data.left_out.map((text) =>
            el('li', {}, with_numbers(text))))) : null];
    add_to(box, el('div', {class: 'columns'}, el('div', {class: 'stack'}, left),
        el('div', {class: 'stack'}, right)));
}

add_view({key: 'recording', title: 'Recording',
    question: 'Can I trust it: way of sampling, losses, precision, cost, completeness?',
    has: () => !data.flame && (data.trust.length > 0 || data.processes.length > 0),
    draw: draw_recording});
