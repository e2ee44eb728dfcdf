/* The timeline: one lane per thread, one bar per call, drawn as a fixed number of paths. */

const ROW = 20;
const BAR = 12;
const AXIS = 22;

class Timeline {
  constructor(root) {
    this.fold = true;
    this.zoom = 1;
    this.selected = null;
    this.ring = null; // until it is drawn, when its size is known
    this.labels = make('div', { class: 'lane-labels', 'aria-hidden': 'true' });
    this.plot = make('div', {
      class: 'plot',
      tabindex: '0',
      role: 'application',
      'aria-label': `Timeline of ${count(calls.length)} calls. Arrow keys select a call, Enter opens it.`,
    });
    this.box = make('div', { class: 'timeline' }, this.labels, this.plot);
    root.append(this.box);
    this.tip = new Tip(root);
    this.root = root;
    this.lanes = placed();
    this.inOrder = this.lanes
      .flatMap((lane) => lane.bars)
      .sort((a, b) => a.call.started - b.call.started);
    this.listen();
    whenResized(this.plot, () => this.draw());
  }

  listen() {
    this.plot.addEventListener('pointermove', (event) => this.select(this.under(event)));
    this.plot.addEventListener('pointerleave', () => {
      if (document.activeElement !== this.plot) this.select(null);
    });
    this.plot.addEventListener('click', (event) => {
      const bar = this.under(event);
      if (bar && event.pointerType !== 'touch') openCall(bar.call.key);
      else this.select(bar);
    });
    this.plot.addEventListener('dblclick', (event) => {
      const bar = this.under(event);
      if (bar) openCall(bar.call.key);
    });
    this.plot.addEventListener('blur', () => this.select(null));
    this.plot.addEventListener('keydown', (event) => this.key(event));
  }

  key(event) {
    const here = this.inOrder.indexOf(this.selected);
    const go = {
      ArrowRight: () => this.inOrder[Math.min(here + 1, this.inOrder.length - 1)],
      ArrowLeft: () => this.inOrder[Math.max(here - 1, 0)],
      Home: () => this.inOrder[0],
      End: () => this.inOrder.at(-1),
      ArrowDown: () => this.beside(1),
      ArrowUp: () => this.beside(-1),
      Escape: () => null,
    }[event.key];
    if (event.key === 'Enter' && this.selected) openCall(this.selected.call.key);
    else if (go) this.select(go(), true);
    else return;
    event.preventDefault();
  }

  /* The call nearest in time in the next lane up or down. */
  beside(step) {
    if (!this.selected) return this.inOrder[0];
    const lane = this.lanes[this.lanes.findIndex((one) => one.bars.includes(this.selected)) + step];
    if (!lane) return this.selected;
    const away = (bar) => Math.abs(bar.call.started - this.selected.call.started);
    return lane.bars.reduce((best, bar) => (away(bar) < away(best) ? bar : best));
  }

  under(event) {
    const frame = this.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const away = (bar) => Math.max(bar.x - x, x - bar.x - bar.width, 0);
    const near = this.inOrder.filter(
      (bar) => Math.abs(bar.y + BAR / 2 - y) <= ROW / 2 && away(bar) < 8,
    );
    return near.length ? near.reduce((best, bar) => (away(bar) < away(best) ? bar : best)) : null;
  }

  select(bar, scroll) {
    if (!this.ring || (bar === this.selected && !scroll)) return;
    this.selected = bar;
    this.ring.toggleAttribute('hidden', !bar);
    if (!bar) {
      this.tip.hide();
      return;
    }
    const ring = { x: bar.x - 2, y: bar.y - 2, width: bar.width + 4, height: BAR + 4 };
    for (const [name, value] of Object.entries(ring)) this.ring.setAttribute(name, value);
    if (scroll) {
      this.plot.scrollLeft +=
        Math.max(0, bar.x + 40 - this.plot.scrollLeft - this.plot.clientWidth) ||
        Math.min(0, bar.x - 40 - this.plot.scrollLeft);
    }
    const x = this.labels.offsetWidth + bar.x - this.plot.scrollLeft;
    this.tip.show(x, this.box.offsetTop + bar.y - this.box.scrollTop + ROW, ...callNotes(bar.call));
  }

  draw() {
    const last = this.lanes.at(-1);
    const height = last ? last.top + last.rows * ROW + 8 : AXIS;
    const width = Math.max(200, this.plot.clientWidth * this.zoom - 1);
    const scale = timeScale(this.fold, width);
    this.svg = draw('svg', { width, height, 'aria-hidden': 'true' });
    for (const gap of scale.gaps) {
      this.svg.append(
        draw(
          'rect',
          { class: 'gap', x: gap.x, y: AXIS, width: gap.width, height: height - AXIS },
          draw('title', {}, `idle for ${duration(gap.seconds)}`),
        ),
        draw(
          'text',
          { class: 'axis', x: gap.x + gap.width / 2, y: AXIS - 8, 'text-anchor': 'middle' },
          gap.width < 16 ? null : '⋯',
        ),
      );
    }
    for (const tick of scale.ticks) {
      this.svg.append(
        draw('path', { class: 'grid', d: `M${tick.x} ${AXIS - 4}V${height}` }),
        draw('text', { class: 'axis', x: tick.x + 3, y: AXIS - 8 }, tick.text),
      );
    }
    for (const lane of this.lanes.slice(1)) {
      this.svg.append(draw('path', { class: 'rule', d: `M0 ${lane.top - 4.5}H${width}` }));
    }
    const shapes = {
      'bar answered': '',
      'bar retried': '',
      'bar failed': '',
      'wait answered': '',
      'wait retried': '',
      'wait failed': '',
      first: '',
      cross: '',
      again: '',
    };
    for (const bar of this.inOrder) trace(bar, scale, shapes);
    for (const [name, d] of Object.entries(shapes))
      if (d) this.svg.append(draw('path', { class: name, d }));
    this.ring = draw('rect', { class: 'ring', rx: 3, hidden: true });
    this.svg.append(this.ring);
    this.labels.replaceChildren(
      ...this.lanes.map((lane) => {
        const label = make('div', { title: laneTitle(lane) }, lane.name);
        label.style.top = `${lane.top - 2}px`;
        return label;
      }),
    );
    this.plot.replaceChildren(this.svg);
    this.selected = null;
    this.tip.hide();
  }
}

/* The bars of each lane; overlapping calls are placed on separate rows. */
function placed() {
  let top = AXIS + 8;
  return lanes.flatMap((lane) => {
    const ends = [];
    const bars = calls
      .filter((call) => call.lane === lane.id)
      .sort((a, b) => a.started - b.started)
      .map((call) => {
        const free = ends.findIndex((end) => end <= call.started);
        const row = free < 0 ? ends.length : free;
        ends[row] = call.ended ?? call.started;
        return { call, row, y: top + row * ROW };
      });
    if (!bars.length) return [];
    const found = { ...lane, bars, top, rows: ends.length };
    top += ends.length * ROW + 9;
    return [found];
  });
}

/* Adds a call's bar: pale while waiting, a tick at the first byte, solid while streaming. */
function trace(bar, scale, shapes) {
  const { call } = bar;
  const end = Math.max(call.ended ?? call.started, call.started);
  const heard =
    call.first_byte_ms == null ? end : Math.min(call.started + call.first_byte_ms / 1000, end);
  bar.x = scale.place(call.started);
  bar.width = Math.max(2, scale.place(end) - bar.x);
  const wait = Math.min(Math.max(0, scale.place(heard) - bar.x), bar.width);
  const kind =
    call.outcome === 'answered' ? 'answered' : call.outcome === 'retried' ? 'retried' : 'failed';
  const box = (x, width) =>
    `M${x.toFixed(2)} ${bar.y}h${width.toFixed(2)}v${BAR}h${(-width).toFixed(2)}z`;
  if (wait > 0) shapes[`wait ${kind}`] += box(bar.x, wait);
  if (bar.width > wait) shapes[`bar ${kind}`] += box(bar.x + wait, bar.width - wait);
  if (call.first_byte_ms != null && bar.width >= 5)
    shapes.first += `M${(bar.x + wait).toFixed(2)} ${bar.y - 2}v${BAR + 4}`;
  const [x, y] = [bar.x + bar.width + 7, bar.y + BAR / 2];
  if (kind === 'failed') shapes.cross += `M${x - 3} ${y - 3}l6 6m-6 0l6 -6`;
  if (kind === 'retried')
    shapes.again += `M${x + 3} ${y}a3.2 3.2 0 1 1 -1.6 -2.8m.4 -2.4l-.2 2.8l-2.6 -.6`;
}

function callNotes(call) {
  const waited = call.first_byte_ms == null ? null : call.first_byte_ms / 1000;
  const spent = took(call);
  const timing =
    spent == null
      ? 'not finished'
      : !isCaptured
        ? call.is_timed
          ? `written ${duration(spent)} after the record before`
          : 'no record before it'
        : waited == null
        ? `${duration(spent)}, no response`
        : `${duration(spent)}: first byte after ${duration(waited)}, then ${duration(Math.max(0, spent - waited))}`;
  const counts = GROUPS.map(({ label }, place) => `${label} ${tokensOf(call, place)}`).join(
    ' · ',
  );
  return [
    `Call ${call.sequence} · ${laneTitles.get(call.lane)} · ${shortModel(call.model)}`,
    [
      `${clock(call.started)}, ${timing}`,
      call.tokens.some(Boolean) ? counts : null,
      call.outcome === 'answered' ? null : `${call.outcome}: ${call.evidence.join('; ')}`,
      make('span', { class: call.tone }, `${mark(call)} ${call.label}`),
    ],
  ];
}

function showTimeline() {
  if (!calls.length) {
    byId('timeline').hidden = true;
    return;
  }
  const chart = new Timeline(byId('timeline-chart'));
  const zoomed = (factor) => () => {
    chart.zoom = Math.min(32, Math.max(1, factor ? chart.zoom * factor : 1));
    chart.draw();
  };
  const folded = make('input', {
    type: 'checkbox',
    checked: true,
    onchange: () => {
      chart.fold = folded.checked;
      chart.draw();
    },
  });
  byId('timeline-tools').append(
    make('label', { class: 'choice' }, folded, make('span', {}, 'fold idle time')),
    make(
      'span',
      { class: 'group', role: 'group', 'aria-label': 'Zoom' },
      make('button', { type: 'button', 'aria-label': 'Zoom out', onclick: zoomed(0.5) }, '−'),
      make('button', { type: 'button', onclick: zoomed(0) }, 'Fit'),
      make('button', { type: 'button', 'aria-label': 'Zoom in', onclick: zoomed(2) }, '+'),
    ),
  );
  const key = (kind, text) =>
    make('li', {}, make('span', { class: `key ${kind}`, 'aria-hidden': 'true' }), text);
  const outcomes = new Set(calls.map((call) => call.outcome));
  byId('timeline-legend').append(
    ...(isCaptured
      ? [key('wait', 'waiting'), key('first', 'first byte'), key('stream', 'streaming')]
      : [key('wait', 'from the record before a turn to its last line')]),
    ...(timeScale(true, 1000).gaps.length ? [key('idle', 'idle, folded')] : []),
    ...(outcomes.has('retried') ? [key('retried', '↻ failed or cut, then retried')] : []),
    ...(['failed', 'aborted', 'cut'].some((name) => outcomes.has(name))
      ? [key('failed', '✕ failed, aborted or cut')]
      : []),
  );
}
