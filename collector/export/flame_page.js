'use strict';
// SPDX-License-Identifier: MIT
// What a flame graph does when one touches it: fits the window, zooms, searches, tells, takes keys.
// Each frame is a group with data-d="start width self samples depth" in the tree's own unit and a
// title whose lines are label, place, time, self time.
(() => {
  const root = document.documentElement;
  const layer = document.getElementById('frames');
  const tip = document.getElementById('tip');
  const label = document.getElementById('matched');
  const input = document.getElementById('search');
  const reset = document.getElementById('reset');
  const margin = 12, charWidth = 7.3, rowHeight = 18;
  const frames = [];
  let pixels = 1200, view = null, at = null;

  const columns = (text) => {
    let sum = 0;
    for (const c of text) sum += c.codePointAt(0) >= 0x1100 ? 2 : 1;
    return sum;
  };

  // As much of the text as fits, with an ellipsis for the rest.
  const fit = (text, width) => {
    const room = Math.floor((width - 6) / charWidth);
    if (room < 3) return '';
    if (columns(text) <= room) return text;
    let out = '', used = 0;
    for (const c of text) {
      used += c.codePointAt(0) >= 0x1100 ? 2 : 1;
      if (used > room - 1) break;
      out += c;
    }
    return out + '\u2026';
  };

  const collect = () => {
    for (const group of layer.children) {
      const [start, width, self, samples, depth] = group.dataset.d.split(' ').map(Number);
      const title = group.querySelector('title');
      const lines = title.textContent.split('\n');
      title.remove(); // the tip tells it at once
      const rect = group.querySelector('rect');
      frames.push({group, rect, text: group.querySelector('text'), start, end: start + width,
                   self, samples, depth, lines, y: Number(rect.getAttribute('y'))});
      group.setAttribute('role', 'treeitem');
      group.setAttribute('tabindex', '-1');
      group.__frame = frames[frames.length - 1];
    }
    view = at = frames[0];
  };

  const place = (frame, x, width) => {
    frame.group.style.display = '';
    frame.rect.setAttribute('x', x.toFixed(2));
    frame.rect.setAttribute('width', Math.max(width - 0.5, 0.3).toFixed(2));
    const shown = fit(frame.lines[0], width);
    if (!frame.text) {
      if (!shown) return;
      frame.text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
      frame.text.setAttribute('y', frame.y + 13);
      frame.group.appendChild(frame.text);
    }
    frame.text.setAttribute('x', (x + 3).toFixed(2));
    frame.text.textContent = shown;
  };

  const layout = () => {
    const span = view.end - view.start || 1, scale = (pixels - 2 * margin) / span;
    for (const frame of frames) {
      const from = Math.max(frame.start, view.start), to = Math.min(frame.end, view.end);
      const around = frame.depth < view.depth && frame.start <= view.start && frame.end >= view.end;
      const inside = frame.depth >= view.depth && frame.start >= view.start &&
                     frame.end <= view.end;
      frame.group.classList.toggle('around', around);
      if ((around || inside) && (to - from) * scale >= 0.05 || frame === view)
        place(frame, margin + (from - view.start) * scale, (to - from) * scale);
      else
        frame.group.style.display = 'none';
    }
    reset.disabled = view === frames[0];
  };

  const resize = () => {
    pixels = Math.max(root.clientWidth || window.innerWidth, 400);
    root.setAttribute('width', pixels);
    document.getElementById('panel').setAttribute('x', pixels - 412);
    layout();
  };

  const zoom = (frame) => {
    view = frame;
    layout();
  };

  const percent = (part, whole) => `${(100 * part / (whole || 1)).toFixed(2)} %`;

  // ---- Telling -------------------------------------------------------------------------------

  const tellLines = (frame) => {
    const lines = frame.lines.slice();
    if (view !== frames[0])
      lines.push(`${percent(frame.end - frame.start, view.end - view.start)} of what is shown`);
    return lines.filter((line) => line);
  };

  const wrap = (text) => {
    const all = Array.from(text), out = [];
    for (let i = 0; i < all.length && out.length < 6; i += 110) out.push(all.slice(i, i + 110).join(''));
    return out;
  };

  const showTip = (frame, x, y) => {
    const lines = tellLines(frame).flatMap(wrap);
    tip.replaceChildren();
    const box = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    tip.appendChild(box);
    lines.forEach((line, i) => {
      const text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
      text.setAttribute('x', 8);
      text.setAttribute('y', 18 + 17 * i);
      if (i === 0) text.setAttribute('class', 'first');
      text.textContent = line;
      tip.appendChild(text);
    });
    const width = Math.max(...lines.map(columns)) * charWidth + 18, height = 17 * lines.length + 12;
    box.setAttribute('width', width);
    box.setAttribute('height', height);
    box.setAttribute('rx', 4);
    const left = Math.max(4, Math.min(x + 14, pixels - width - 6));
    const bottom = window.scrollY + window.innerHeight;
    const top = y + 18 + height > bottom ? y - height - 10 : y + 18;
    tip.setAttribute('transform', `translate(${left},${Math.max(2, top)})`);
    tip.style.display = '';
  };

  const hideTip = () => { tip.style.display = 'none'; };

  // ---- Searching -----------------------------------------------------------------------------

  const matcher = (wanted) => {
    const small = wanted === wanted.toLowerCase();
    try {
      const pattern = new RegExp(wanted, small ? 'iu' : 'u');
      return (text) => pattern.test(text);
    } catch {
      const plain = small ? wanted.toLowerCase() : wanted;
      return (text) => (small ? text.toLowerCase() : text).includes(plain);
    }
  };

  // The share of time in frames that match; those inside of others count once.
  const search = () => {
    const wanted = input.value, matches = wanted ? matcher(wanted) : () => false;
    let sum = 0, until = -1, count = 0;
    for (const frame of frames) { // in preorder
      const found = frame !== frames[0] && matches(`${frame.lines[0]} ${frame.lines[1]}`);
      frame.group.classList.toggle('match', found);
      if (!found) continue;
      count++;
      if (frame.start >= until) {
        sum += frame.end - frame.start;
        until = frame.end;
      }
    }
    label.textContent = wanted ? `${percent(sum, frames[0].end)} in ${count}` : '';
    label.title = wanted ? `${count} frames match` : '';
  };

  // ---- Keys ----------------------------------------------------------------------------------

  const visible = (frame) => frame.group.style.display !== 'none';

  const focus = (frame) => {
    at.group.classList.remove('at');
    at.group.setAttribute('tabindex', '-1');
    at = frame;
    at.group.classList.add('at');
    at.group.setAttribute('tabindex', '0');
    at.group.setAttribute('aria-label', tellLines(at).join(', '));
    at.group.focus({preventScroll: false});
    const box = at.rect.getBoundingClientRect();
    showTip(at, box.left + window.scrollX, box.bottom + window.scrollY - 16);
  };

  const step = (key) => {
    const here = frames.indexOf(at), down = root.dataset.root === 'top';
    const inwards = key === (down ? 'ArrowDown' : 'ArrowUp');
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const row = frames.filter((f) => f.depth === at.depth && visible(f));
      const next = row.indexOf(at) + (key === 'ArrowLeft' ? -1 : 1);
      return row[next] || at;
    }
    if (inwards) { // the widest callee
      let best = at;
      for (let i = here + 1; i < frames.length && frames[i].depth > at.depth; i++) {
        const f = frames[i];
        if (f.depth === at.depth + 1 && visible(f) &&
            (best === at || f.end - f.start > best.end - best.start)) best = f;
      }
      return best;
    }
    for (let i = here - 1; i >= 0; i--) if (frames[i].depth < at.depth) return frames[i];
    return at;
  };

  const onKey = (event) => {
    if (event.key === 'Escape') {
      if (input.value) { input.value = ''; search(); } else zoom(frames[0]);
      if (event.target === input) at.group.focus();
      hideTip();
      return;
    }
    if (event.target === input || event.target === reset) return;
    if (event.ctrlKey && event.key === 'f' || event.key === '/') {
      event.preventDefault();
      input.focus();
    } else if (event.key.startsWith('Arrow') && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      focus(step(event.key));
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      zoom(at);
      focus(at);
    }
  };

  const frameOf = (event) => event.target.closest && event.target.closest('#frames > g')?.__frame;

  collect();
  layer.addEventListener('click', (event) => { const f = frameOf(event); if (f) { zoom(f); } });
  layer.addEventListener('mousemove', (event) => {
    const f = frameOf(event);
    if (f) showTip(f, event.pageX, event.pageY);
  });
  layer.addEventListener('mouseleave', hideTip);
  input.addEventListener('input', search);
  reset.addEventListener('click', () => zoom(frames[0]));
  document.addEventListener('keydown', onKey);
  window.addEventListener('resize', resize);
  frames[0].group.setAttribute('tabindex', '0');
  layer.setAttribute('role', 'tree');
  hideTip();
  resize();
  if (root.dataset.root === 'bottom') window.scrollTo(0, document.body?.scrollHeight || 1e7);
})();
