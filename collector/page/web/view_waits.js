/* SPDX-License-Identifier: MIT */
/* Waits by cause, place and own function: the report's tables, or filtered sums. */

add_field({name: 'waits_of', key: 'waits', initial: 'own', read: words('own', 'all'),
    write: as_is});

/* [{token, text, ns, count, max}] by cause, largest first. */
function waits_by_cause() {
    const rows = is_filtered() ? seen_causes() : report_causes();
    return rows.filter((row) => row.ns > 0).sort((a, b) => b.ns - a.ns);
}

function report_causes() {
    return table_rows('waits').filter((row) => row.role !== 'rest' &&
        token_of_text(String(row.reason)) !== 'runnable').map((row) => {
        const cause = data.causes.indexOf(row.reason);
        return {token: cause < 0 ? token_of_text(row.reason) : cause_tokens[cause],
            text: row.reason, ns: row.total_ns, count: row.count, max: row.max_ns};
    });
}

const token_of_text = (text) => (CAUSES.find((one) => one[0].test(text)) ||
    [null, 'w-other'])[1];

function seen_causes() {
    const rows = data.causes.map((text, cause) => ({token: cause_tokens[cause], text, ns: 0,
        count: 0, max: 0}));
    for (const wait of filtered().off) {
        const row = rows[wait.cause];
        row.ns += wait.ns;
        row.count += wait.count;
        row.max = Math.max(row.max, wait.max);
    }
    return rows.filter((row, cause) => cause !== runnable_cause);
}

// ---- Places -------------------------------------------------------------------------------------

/* By place and cause. own: the innermost own function on the stack, else the waiting function
 * itself. */
function waits_by_place(own) {
    if (own && !is_filtered() && table_of('wait_places'))
        return report_places();
    const places = new Map();
    for (const wait of filtered().off) {
        if (wait.cause === runnable_cause)
            continue;
        const inner = own ? node_own[wait.node] : -1;
        const one = functions[inner < 0 ? node_function[wait.node] : inner];
        const key = one.index + ' ' + wait.cause;
        const place = places.get(key) || {name: one.name, place: one.place, one,
            token: cause_tokens[wait.cause], text: cause_text(wait.cause), ns: 0, count: 0,
            max: 0, owner: one.owner};
        place.ns += wait.ns;
        place.count += wait.count;
        place.max = Math.max(place.max, wait.max);
        places.set(key, place);
    }
    return [...places.values()];
}

function report_places() {
    return table_rows('wait_places').filter((row) => row.role !== 'rest').map((row) => {
        const cause = data.causes.indexOf(row.reason);
        return {name: row.name || row.function || '', place: row.location || '',
            token: cause < 0 ? token_of_text(String(row.reason)) : cause_tokens[cause],
            text: row.reason, ns: row.total_ns, count: row.count, max: row.max_ns,
            owner: owner_number(row.owner), helper: row.in_helpers};
    });
}

const OWNER_WORDS = {own: 0, stdlib: 1, library: 1, interpreter: 2, native: 3, kernel: 4};
const owner_number = (owner) => typeof owner === 'number' ? owner
    : owner in OWNER_WORDS ? OWNER_WORDS[owner] : 1;

function place_table(whole) {
    const rows = waits_by_place(state.waits_of === 'own');
    const rest = whole - total_of(rows, (row) => row.ns);
    const kind = (row) => row.owner === OWNER_OWN ? 'own' : row.owner === 1 ? '' : 'dim';
    return data_table({id: 'wait places', label: 'Waits by place', rows, shown: 20, sort: 0,
        minor: (row) => row.helper === 1 || row.helper === true,
        rest: rest > 0.001 * whole ? [{ns: rest, name: 'elsewhere: helper threads that wait ' +
            'for work, code of others', text: '', place: '', owner: 2}] : [],
        columns: [...wait_numbers(whole),
            {title: 'waits for', type: 'text', left: true, width: '150px',
                value: (row) => row.text, cell: (row) => row.token
                    ? [swatch(row.token), ' ', row.text] : ''},
            {title: 'in', type: 'text', left: true, width: '30%', value: (row) => row.name,
                cell: (row) => el(row.token ? 'code' : 'span', {class: kind(row), dir: 'auto',
                    title: cut_name(row.name, 1000)}, cut_name(row.name))},
            {title: 'location', type: 'text', left: true, class: 'place',
                value: (row) => row.place}]});
}

const wait_numbers = (whole) => [
    {title: 'time', type: 'time', width: '80px', value: (row) => row.ns},
    {title: '', width: '62px', cell: (row) => share_text(row.ns, whole)},
    {title: 'times', type: 'count', width: '68px', value: (row) => row.count},
    {title: 'longest', type: 'time', width: '80px', narrow: false, value: (row) => row.max}];

function draw_waits(box) {
    const causes = waits_by_cause();
    const whole = total_of(causes, (row) => row.ns);
    const head = view_head('Waits', whole > 0 ? `${time_text(whole)} of all threads together; ` +
        'time spent runnable, without a processor, is not in it' : '');
    if (!(whole > 0)) {
        add_to(box, head, empty_text('No thread waited in this selection.'));
        return;
    }
    add_to(box, head, ...share_bar(causes, whole, 'Waits by cause'),
        el('div', {class: 'gapped'}, view_head('By place', state.waits_of === 'own'
            ? 'the innermost function of your own that waited'
            : 'the function that waited, in any code',
        seg('waits_of', 'Whose code', [['own', 'your code'], ['all', 'where it happened']])),
        place_table(whole)));
}

add_view({key: 'waits', title: 'Waits',
    question: 'What do threads wait for, where, in whose code?',
    has: () => !data.flame && (report_causes().some((row) => row.ns > 0) ||
        data.off.ns.some((ns, index) => ns > 0 && data.off.cause[index] !== runnable_cause)),
    draw: draw_waits});
