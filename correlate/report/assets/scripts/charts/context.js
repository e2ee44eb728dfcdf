/* Context over time: the tokens of each call of a thread, stacked by token class. */

const HIGH = 220;
const LEFT = 44;
const TOP = 24;
const FOOT = 20;

class ContextChart {
  constructor(root) {
    this.root = root;
    this.plot = make('div', { class: 'plot', tabindex: '0', role: 'application' });
    root.append(this.plot);
    this.tip = new Tip(root);
    this.plot.addEventListener('pointermove', (event) => this.select(this.under(event)));
    this.plot.addEventListener('pointerleave', () => {
      if (document.activeElement !== this.plot) this.select(null);
    });
    this.plot.addEventListener('click', (event) => {
      const index = this.under(event);
      if (index != null && event.pointerType !== 'touch') openCall(this.calls[index].key);
      else this.select(index);
    });
    this.plot.addEventListener('blur', () => this.select(null));
    this.plot.addEventListener('keydown', (event) => this.key(event));
    whenResized(this.plot, () => this.draw());
  }

  of(lane) {
    this.calls = calls.filter((call) => call.lane === lane && call.tokens.some(Boolean));
    this.plot.setAttribute(
      'aria-label',
      `Context of ${count(this.calls.length)} calls of ${laneNames.get(lane)}. Arrow keys select a call, Enter opens it.`,
    );
    this.draw();
  }

  key(event) {
    const last = this.calls.length - 1;
    const here = this.index ?? -1;
    const go = {
      ArrowRight: Math.min(here + 1, last),
      ArrowLeft: Math.max(here - 1, 0),
      Home: 0,
      End: last,
    }[event.key];
    if (event.key === 'Enter' && this.index != null) openCall(this.calls[this.index].key);
    else if (event.key === 'Escape') this.select(null);
    else if (go != null) this.select(go);
    else return;
    event.preventDefault();
  }

  under(event) {
    const frame = this.plot.getBoundingClientRect();
    const index = Math.floor((event.clientX - frame.left - LEFT) / this.step);
    return index >= 0 && index < this.calls.length ? index : null;
  }

  select(index) {
    this.index = index;
    this.cursor.toggleAttribute('hidden', index == null);
    if (index == null) {
      this.tip.hide();
      return;
    }
    const call = this.calls[index];
    const x = LEFT + index * this.step;
    this.cursor.setAttribute('x', x);
    this.cursor.setAttribute('width', Math.max(1.5, this.step));
    const prompt = promptOf(call.tokens);
    this.tip.show(
      x + this.step,
      TOP,
      `Call ${call.sequence} · ${clock(call.started)} · ${shortModel(call.model)}`,
      [
        ...GROUPS.map(({ label, color }, place) =>
          make(
            'span',
            { class: 'pair' },
            swatch(color),
            label,
            make('b', {}, tokensOf(call, place)),
          ),
        ).reverse(),
        `context ${count(prompt)}, ${percent(call.tokens[READ], prompt)} of it cached`,
        call.drop
          ? make(
              'span',
              { class: 'warn' },
              '▼ cache drop: less than half of the cached prefix was read',
            )
          : null,
      ],
    );
  }

  draw() {
    if (!this.calls) return;
    const width = Math.max(200, this.plot.clientWidth);
    const most = Math.max(1, ...this.calls.map((call) => sum(call.tokens)));
    const grid = niceStep(most / 4);
    const ceiling = Math.ceil(most / grid) * grid;
    const y = (tokens) => TOP + HIGH * (1 - tokens / ceiling);
    this.step = Math.min(64, (width - LEFT - 8) / Math.max(1, this.calls.length));
    this.bar = this.step > 6 ? this.step - Math.min(6, this.step * 0.2) : this.step;
    const svg = draw('svg', { width, height: TOP + HIGH + FOOT, 'aria-hidden': 'true' });
    for (let value = 0; value <= ceiling; value += grid) {
      svg.append(
        draw('path', { class: 'grid', d: `M${LEFT} ${y(value).toFixed(1)}H${width}` }),
        draw(
          'text',
          { class: 'axis', x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' },
          compact(value),
        ),
      );
    }
    this.cursor = draw('rect', { class: 'cursor', y: TOP - 4, height: HIGH + 4, hidden: true });
    svg.append(this.cursor, ...this.stacks(y), ...this.marks(y), ...this.numbers());
    this.plot.replaceChildren(svg);
    this.select(null);
  }

  stacks(y) {
    const shapes = GROUPS.map(() => '');
    this.calls.forEach((call, index) => {
      let below = 0;
      call.tokens.forEach((tokens, place) => {
        if (!tokens) return;
        const [bottom, top] = [y(below), y(below + tokens)];
        shapes[place] +=
          `M${(LEFT + index * this.step).toFixed(2)} ${bottom.toFixed(2)}h${this.bar.toFixed(2)}V${top.toFixed(2)}h${(-this.bar).toFixed(2)}z`;
        below += tokens;
      });
    });
    return shapes.map((d, place) => draw('path', { d, fill: paint(GROUPS[place].color) }));
  }

  /* Compactions are marked before the first call after them, cache drops above their call. */
  marks(y) {
    const marks = [];
    let labelled = -Infinity;
    for (const at of data.compactions) {
      const after = this.calls.findIndex((call) => call.started > at);
      const x = LEFT + (after < 0 ? this.calls.length : after) * this.step - 1;
      marks.push(draw('path', { class: 'compaction', d: `M${x} ${TOP - 8}V${TOP + HIGH}` }));
      if (x - labelled < 64) continue;
      labelled = x;
      marks.push(draw('text', { class: 'axis strong', x: x + 4, y: TOP - 10 }, 'compacted'));
    }
    const drops = this.calls
      .map((call, index) => {
        const x = LEFT + index * this.step + this.bar / 2;
        const top = y(sum(call.tokens)) - 10;
        return call.drop ? `M${(x - 4).toFixed(1)} ${top.toFixed(1)}h8l-4 7z` : '';
      })
      .join('');
    if (drops) marks.push(draw('path', { class: 'drop', d: drops }));
    return marks;
  }

  numbers() {
    const every = Math.max(1, Math.ceil(44 / this.step));
    return this.calls.flatMap((call, index) =>
      index % every
        ? []
        : [
            draw(
              'text',
              {
                class: 'axis',
                x: LEFT + index * this.step + this.bar / 2,
                y: TOP + HIGH + 14,
                'text-anchor': 'middle',
              },
              `#${call.sequence}`,
            ),
          ],
    );
  }
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
}

function showContext() {
  const having = lanes.filter((lane) =>
    calls.some((call) => call.lane === lane.id && call.tokens.some(Boolean)),
  );
  if (!having.length) {
    byId('context').hidden = true;
    return;
  }
  const chart = new ContextChart(byId('context-chart'));
  if (having.length > 1) {
    byId('context-tools').append(
      choice(
        'Thread',
        having.map((lane) => [lane.id, laneTitle(lane)]),
        (lane) => chart.of(lane),
      ),
    );
  }
  byId('context-legend').append(
    ...GROUPS.map(({ label, color }) => make('li', {}, swatch(color), label)),
    ...(calls.some((call) => call.drop)
      ? [make('li', {}, make('span', { class: 'key drop', 'aria-hidden': 'true' }), 'cache drop')]
      : []),
    ...(data.compactions.length
      ? [
          make(
            'li',
            {},
            make('span', { class: 'key compaction', 'aria-hidden': 'true' }),
            'compaction',
          ),
        ]
      : []),
  );
  chart.of(having[0].id);
}
