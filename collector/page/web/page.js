/* SPDX-License-Identifier: MIT */
/* The page around the views: head, headline, wall bar, findings, tabs, keys, theme, search. */

const boxes = {}; // parts made once

// ---- Headline and wall bar ----------------------------------------------------------------------

const WALL_TOKENS = {runnable: 'runnable', short: 'w-other', other: 'w-other'};

const WALL_ORDER = ['running', 'runnable', 'blocked', 'short', 'other'];
const WALL_LEAST = 0.001; // of the whole: smaller parts are joined

/* The parts of the wall bar: [{token, text, ns}], ordered by state, then by size. */
function wall_parts() {
    const whole = data.wall.reduce((sum, part) => sum + part.ns, 0);
    const large = data.wall.filter((part) => part.ns >= WALL_LEAST * whole);
    large.sort((a, b) => WALL_ORDER.indexOf(a.state) - WALL_ORDER.indexOf(b.state) ||
        (a.state === 'running' ? 0 : b.ns - a.ns));
    const parts = large.map((part) => {
        let token = WALL_TOKENS[part.state] || 'w-other';
        if (part.state === 'running')
            token = /\ball\b/.test(part.text) ? 'run2'
                : /several|others/.test(part.text) ? 'run-several' : 'run1';
        else if (part.state === 'blocked')
            token = cause_tokens[part.cause] || 'w-other';
        return {token, text: part.text, ns: part.ns};
    });
    const rest = whole - parts.reduce((sum, part) => sum + part.ns, 0);
    if (rest > 0)
        parts.push({token: 'w-other', text: 'anything else', ns: rest});
    return parts;
}

function bar_part(part, whole) {
    const show = (event) => show_tip(event, el('b', {}, cut_name(part.text)), ' ',
        time_text(part.ns), ', ', share_text(part.ns, whole));
    return el('i', {class: part.token === 'runnable' ? 'hatch' : null,
        css: {flex: part.ns / whole + ' 0 auto', 'background-color': `var(--${part.token})`},
        on: {mousemove: show, mouseleave: hide_tip}});
}

const LEGEND_MOST = 7;

function bar_legend(parts, whole) {
    const shown = parts.slice(0, LEGEND_MOST);
    const rest = parts.slice(LEGEND_MOST).reduce((sum, part) => sum + part.ns, 0);
    if (rest > 0)
        shown.push({token: 'w-other', text: 'other waits', ns: rest});
    return el('div', {class: 'legend'}, shown.map((part) => el('span', {}, swatch(part.token),
        el('span', {dir: 'auto'}, cut_name(part.text, 60)), el('b', {}, share_text(part.ns, whole)),
        el('span', {class: 'dim'}, time_text(part.ns)))));
}

/* A stacked bar with its legend. */
function share_bar(parts, whole, label) {
    return [el('div', {class: 'bar', role: 'img', 'aria-label': label + ': ' + parts.map((part) =>
        cut_name(part.text, 60) + ' ' + share_text(part.ns, whole)).join(', ')},
    parts.map((part) => bar_part(part, whole))), bar_legend(parts, whole)];
}

/* "Hottest: render (io_bound.py:17)" with numbers in bold. */
function with_numbers(text) {
    return text.split(/(<?\d[\d.,]*\s(?:%|s|ms|us|µs|ns)(?!\w))/).map((part, index) =>
        index % 2 ? el('b', {}, part.replace(/\s/g, NARROW).replace('us', 'µs')) : part);
}

/* The first sentence of the headline is the title; the others stand below it. */
function make_hero(title) {
    const [first, ...more] = data.headline.join(' ').split(/(?<=[.!?])\s+(?=[A-Z0-9])/);
    title.replaceChildren(cut_name(first || data.title, 400)
        .replace(/(\d)\s(?=(?:%|s|ms|us|ns)(?!\w))/g, '$1' + NARROW));
    const whole = data.wall.reduce((sum, part) => sum + part.ns, 0);
    return el('section', {class: 'hero', 'aria-label': 'Where the time went'}, title,
        more.length ? el('p', {class: 'lede'}, with_numbers(cut_name(more.join(' '),
            1000))) : null,
        whole > 0 ? share_bar(wall_parts(), whole, 'Wall time') : null);
}

// ---- Findings -----------------------------------------------------------------------------------

/* The view with the details of each kind of finding (docs/guides/findings.md). */
const FINDING_VIEWS = {host: 'timeline', oversubscribed: 'timeline', serial: 'timeline',
    gil: 'timeline', blocked: 'waits', page_faults: 'waits', loop: 'tasks', overhead: 'pools',
    imbalance: 'pools', few_tasks: 'pools', idle_worker: 'pools', gc: 'tree', imports: 'tree',
    gpu_starved: 'gpu', gpu_launches: 'gpu', gpu_pageable: 'gpu'};
const CARDS_MOST = 3;

function make_cards() {
    const findings = table_rows('findings').slice(0, CARDS_MOST);
    if (!findings.length)
        return null;
    return el('div', {class: 'cards', role: 'list', 'aria-label': 'Findings'},
        findings.map(make_card));
}

/* "of the wall time sleeps in call_api ...": the share is shown above the text. */
function make_card(finding) {
    const share = finding.whole > 0 ? finding.cost / finding.whole : finding.share;
    const whole = /^(of (?:the |all )?[\w ]*?time|of [\w ]+?)\s(.*)$/s.exec(finding.finding) ||
        [null, '', finding.finding];
    const [sentence, ...more] = whole[2].split(/(?<=[:.])\s/);
    const view = views.find((one) => one.key === FINDING_VIEWS[finding.kind] && one.has());
    return el('div', {class: 'card', role: 'listitem'},
        el('div', {class: 'severity'}, el('i', {class: 'gauge'}, el('i', {css: {
            width: Math.max(6, 100 * share) + '%'}})), share_text(share), ' ', whole[1]),
        el('h2', {}, upper_first(cut_name(sentence.replace(/[:.]$/, ''), 300))),
        el('p', {}, with_numbers(cut_name(upper_first([...more, finding.evidence].filter(Boolean)
            .join(' ')), 600))),
        finding.advice ? el('p', {class: 'try'}, /^try /.test(finding.advice)
            ? [el('em', {}, 'Try'), finding.advice.slice(3)] : upper_first(finding.advice), ' ',
        view ? el('a', {href: address({view: view.key})}, view.title) : null) : null);
}

const upper_first = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// ---- Head, tabs, search -------------------------------------------------------------------------

function make_top() {
    const {facts} = data;
    const busy = data.threads.length === 1 ? '1 thread' : `${count_text(data.threads.length)} ` +
        `threads in ${count_text(data.processes.length)} ` +
        (data.processes.length === 1 ? 'process' : 'processes');
    boxes.search = el('input', {type: 'search', placeholder: 'Search functions  /',
        'aria-label': 'Search functions', maxlength: 1000, on: {input: search_input}});
    return el('div', {class: 'top'}, el('span', {class: 'brand'}, 'annot'),
        el('span', {class: 'slash', 'aria-hidden': 'true'}, '/'),
        el('b', {class: 'title', dir: 'auto', title: cut_name(facts.command, 1000)},
            cut_name(data.title, 120)),
        el('span', {class: 'meta'}, [busy, facts.sampling, began_text(facts.began)]
            .filter(Boolean).join(' · ')),
        el('span', {class: 'space'}), boxes.search,
        tool_button('Theme', 'light or dark (T)', switch_theme),
        el('button', {type: 'button', class: 'tool', title: 'keys (?)', 'aria-label': 'Keys',
            on: {click: () => boxes.help.showModal()}}, '?'));
}

function began_text(began) {
    return (began || '').replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');
}

function search_input(event) {
    const heeds = views.find((view) => view.key === state.view);
    const changes = {query: event.target.value};
    if (!(heeds && heeds.searches))
        changes.view = 'flame';
    go(changes);
}

let views_shown = null;

/* Views that have data. Cached, as it does not change and checking the tables takes as long as a
 * step of a zoom. */
function shown_views() {
    views_shown = views_shown || views.filter((view) => view.has());
    return views_shown;
}

/* Tabs are links, so that they can be opened in a new browser tab. They keep the filters, not the
 * zoom. */
function fill_tabs() {
    boxes.tabs.replaceChildren(...shown_views().map((view, index) => el('a', {
        href: address({view: view.key, zoom: -1}), title: view.question + (index < 9
            ? ` (${index + 1})` : ''), 'aria-current': state.view === view.key ? 'page' : null},
    view.title)));
    const current = boxes.tabs.querySelector('[aria-current]');
    if (current && boxes.tabs.scrollWidth > boxes.tabs.clientWidth)
        boxes.tabs.scrollLeft = current.offsetLeft - 60;
}

// ---- Theme --------------------------------------------------------------------------------------

const dark_scheme = matchMedia('(prefers-color-scheme: dark)');

function apply_theme() {
    const root = document.documentElement;
    const theme = state.theme || (dark_scheme.matches ? 'dark' : 'light');
    if (root.dataset.theme !== theme) {
        root.dataset.theme = theme;
        tones = {};
    }
}

function switch_theme() {
    const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    go({theme: theme === (dark_scheme.matches ? 'dark' : 'light') ? '' : theme});
}

// ---- Keys ---------------------------------------------------------------------------------------

const KEYS = [['/', 'search functions'], ['1 … 9', 'views'],
['← →', 'in the strip of time: move the stretch'],
['↑ ↓ ← → Enter', 'walk the call tree and the flame graph'],
['C', 'CPU or wall time'], ['M', 'my code only'], ['W S A D', 'zoom and move the timeline'],
['0 F', 'timeline: all of it, the chosen range'],
['Esc', 'one step back: search, zoom, filters'], ['T', 'light or dark'], ['?', 'this list']];

function make_help() {
    return el('dialog', {'aria-label': 'Keys'}, el('h2', {}, 'Keys'), el('dl', {},
        KEYS.map(([keys, what]) => [el('dt', {}, keys.split(/ (?=[^…])/).map((key) =>
            [el('kbd', {}, key), ' '])), el('dd', {}, what)])),
    el('form', {method: 'dialog'}, el('button', {class: 'tool'}, 'Close')));
}

function step_back() {
    if (state.query)
        go({query: ''});
    else if (state.zoom >= 0)
        go({zoom: -1});
    else if (is_filtered())
        clear_filters();
}

const PAGE_KEYS = {
    '/': () => boxes.search.focus(),
    '?': () => boxes.help.open ? boxes.help.close() : boxes.help.showModal(),
    Escape: step_back,
    c: () => data.off.slot.length > 0 && go({time: state.time === 'cpu' ? 'wall' : 'cpu'}),
    m: () => go({own: !state.own}),
    t: switch_theme,
};

function page_key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
        return;
    if (event.target.matches('input, select, textarea')) {
        if (event.key === 'Escape' && event.target === boxes.search) {
            event.target.blur();
            go({query: ''});
        }
        return;
    }
    if (boxes.help.open && event.key !== '?')
        return;
    const view = views.find((one) => one.key === state.view);
    const named = shown_views()[Number(event.key) - 1];
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = (view && view.keys && view.keys[key]) || PAGE_KEYS[key] ||
        (/^[1-9]$/.test(key) && named ? () => go({view: named.key, zoom: -1}) : null);
    if (action) {
        event.preventDefault();
        action(event);
    }
}

// ---- Drawing ------------------------------------------------------------------------------------

/* changes: the argument of go(), or null for a full redraw. */
function render(changes = null) {
    hide_tip();
    const view = shown_views().find((one) => one.key === state.view) || shown_views()[0];
    if (!view) {
        boxes.view.replaceChildren(empty_text('There is no sample here.'));
        return;
    }
    if (changes && !('view' in changes) && view.follow && view.follow(changes))
        return;
    apply_theme();
    document.body.classList.toggle('deep', view.key !== 'summary');
    if (boxes.search.value !== state.query)
        boxes.search.value = state.query;
    fill_dock();
    fill_tabs();
    const focused = focus_mark();
    boxes.view.replaceChildren();
    boxes.view.setAttribute('aria-label', view.title);
    view.draw(boxes.view);
    if (focused)
        restore_focus(focused);
    redraw_all();
}

/* The focused element of a view to be redrawn, as its index among elements of its kind. */
function focus_mark() {
    const node = document.activeElement;
    if (!node || !boxes.view.contains(node) || node === boxes.view)
        return null;
    const like = node.tagName.toLowerCase() + (node.getAttribute('role')
        ? `[role="${node.getAttribute('role')}"]` : '');
    return {like, index: [...boxes.view.querySelectorAll(like)].indexOf(node)};
}

function restore_focus(mark) {
    const node = boxes.view.querySelectorAll(mark.like)[mark.index];
    if (node)
        node.focus({preventScroll: true});
}

function build_page() {
    const heading = document.querySelector('h1').cloneNode(true);
    boxes.tabs = el('nav', {'aria-label': 'Views'});
    boxes.view = el('main', {tabindex: -1});
    boxes.help = make_help();
    const [hero, cards] = [make_hero(heading), make_cards() || ''];
    document.body.replaceChildren(
        el('header', {class: 'wrap'}, make_top(), hero, cards),
        el('div', {class: 'dock', role: 'region', 'aria-label': 'Time and views'},
            el('div', {class: 'wrap'}, make_dock(), boxes.tabs)),
        el('div', {class: 'wrap'}, boxes.view, make_colophon()), boxes.help, tip);
}

function make_colophon() {
    const {facts} = data;
    return el('footer', {class: 'colophon'}, data.left_out.map((text) => el('p', {}, text)),
        el('p', {}, ['annot ' + (facts.annot || ''), facts.file, facts.host].filter(Boolean)
            .join(' · ')));
}

/* Called by the last script file. If it fails, the static content of the page remains. */
async function start_page() {
    try {
        await open_page();
    } catch (error) {
        document.body.append(el('p', {}, 'This page could not be drawn: ' + error.message));
        throw error;
    }
}

async function open_page() {
    index_data(await decode_data(document.getElementById('data').textContent));
    if (data.gpu) {
        OWNERS[OWNER_KERNEL].text = 'GPU';
        data.wall = [];
    }
    add_fields();
    read_address();
    render_page = render;
    build_page();
    render();
    const follow = () => {
        forget_address();
        read_address();
        render();
    };
    addEventListener('click', (event) => event.target.closest('a[href^="#"]') && pending.timer &&
        write_address(), true);
    addEventListener('hashchange', follow);
    addEventListener('popstate', follow);
    addEventListener('keydown', page_key);
    dark_scheme.addEventListener('change', () => render());
    addEventListener('beforeprint', () => print_theme(true));
    addEventListener('afterprint', () => print_theme(false));
    document.documentElement.dataset.ready = '1';
}

/* Prints use the light theme, in canvases too. */
function print_theme(printing) {
    if (printing)
        document.documentElement.dataset.theme = 'light';
    else
        apply_theme();
    tones = {};
    redraw_all();
}
