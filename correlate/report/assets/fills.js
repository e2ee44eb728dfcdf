/* What fills a request, by size, and two sessions side by side. */

const PART_COLORS = ['--part-1', '--part-2', '--part-3', '--part-4', '--part-5', '--part-6', '--part-7', '--part-8', '--part-9', '--part-10', '--part-11'];
const fillName = (fill, names = laneNames) => `${names.get(fill.lane) || fill.lane}: ${fill.roles.join(' and ')} request (call ${fill.sequence})`;

function showFills() {
  const { fills } = data;
  if (!fills.length) {
    byId('fills-chart').append(make('p', { class: 'quiet' }, 'No request file is at hand, so there is nothing to weigh.'));
    return;
  }
  const best = Math.max(0, fills.findIndex((fill) => fill.roles.includes('largest')));
  if (fills.length > 1) {
    const pick = choice('Request', fills.map((fill, index) => [String(index), fillName(fill)]), (value) => showFill(fills[Number(value)]));
    pick.querySelector('select').value = String(best);
    byId('fills-tools').append(pick);
  }
  showFill(fills[best]);
}

function showFill(fill) {
  const whole = sum(fill.sizes);
  const parts = data.parts.map((name, index) => ({ name, size: fill.sizes[index], n: fill.counts[index], color: PART_COLORS[index] })).filter((part) => part.size);
  const strip = make('div', { class: 'strip', role: 'img', 'aria-label': parts.map((part) => `${part.name} ${percent(part.size, whole)}`).join(', ') },
    parts.map((part) => {
      const piece = make('span', { title: `${part.name}: ${bytes(part.size)}, ${percent(part.size, whole)}` });
      piece.style.flexGrow = String(part.size);
      piece.style.background = `var(${part.color})`;
      return piece;
    }));
  const right = (name) => ({ name, right: true });
  const byPart = table([{ name: 'Part' }, right('How many'), right('Size'), right('Share')],
    [...parts.map((part) => ({ cells: [make('span', {}, swatch(part.color), part.name), part.n ? count(part.n) : '–', bytes(part.size), percent(part.size, whole)] })),
      { class: 'sum', cells: ['request', '', bytes(whole), ''] }]);
  const color = (name) => PART_COLORS[data.parts.indexOf(name)];
  const items = table([{ name: 'The largest single things' }, right('Size'), right('Share')],
    fill.items.map((item) => ({ cells: [make('span', {}, swatch(color(item.part)), item.name), bytes(item.size), percent(item.size, whole)] })));
  const servers = Object.entries(fill.servers);
  const mcp = servers.length ? table([{ name: 'MCP server' }, right('Size'), right('Share')],
    servers.map(([name, size]) => ({ cells: [name, bytes(size), percent(size, whole)] }))) : null;
  byId('fills-chart').replaceChildren(strip, make('div', { class: 'halves' }, make('div', {}, byPart, ...(mcp ? [mcp] : [])), items),
    make('p', { class: 'quiet' }, 'Sizes are bytes of JSON as sent: the API tells no tokens by part.'));
}

function showCompare() {
  const other = data.compare;
  if (!other) return;
  byId('compare').hidden = false;
  const mine = { reconcile, about: data.about, calls: calls.length, fills: data.fills };
  const name = (side) => side.about.title || side.reconcile.session_id.slice(0, 8);
  const right = (text) => ({ name: text, right: true });
  const line = (what, of, write) => {
    const [a, b] = [of(mine), of(other)];
    const apart = typeof a === 'number' && typeof b === 'number' ? b - a : null;
    return { cells: [what, write(a), write(b), apart == null ? '–' : apart === 0 ? '=' : `${apart > 0 ? '+' : '−'}${write(Math.abs(apart))}`] };
  };
  const numbers = [
    line('calls', (side) => side.calls, count),
    line('lasted', (side) => side.reconcile.summary.seconds, duration),
    line('turns', (side) => side.reconcile.summary.turns, count),
    line('largest context', (side) => side.reconcile.summary.context_peak, count),
    ...CLASSES.map(({ name: what, field }) => line(what, (side) => side.reconcile.totals.wire[field], count)),
    line('cache share', (side) => side.reconcile.summary.cache_share, (share) => percent(share, 1)),
    line('cost', (side) => side.reconcile.cost.wire_usd, dollars),
    line('unexplained', (side) => side.reconcile.unexplained, count),
  ];
  const headings = [{ name: '' }, right('this session'), right(`the other, ${other.reconcile.session_id.slice(0, 8)}`), right('difference')];
  byId('compare-tables').append(
    make('p', {}, make('strong', {}, name(other)), `: ${other.about.verdict.sentence}`),
    table(headings, numbers, 'In numbers'), ...['first', 'largest'].flatMap((role) => comparedFills(mine, other, role, headings, line)));
}

function comparedFills(mine, other, role, headings, line) {
  const of = (side) => side.fills.find((fill) => fill.lane === 'main' && fill.roles.includes(role));
  const [a, b] = [of(mine), of(other)];
  if (!a || !b) return [];
  const body = data.parts.map((part, index) => line(part, (side) => of(side).sizes[index], bytes)).filter((row) => row.cells[1] !== '0 B' || row.cells[2] !== '0 B');
  body.push({ class: 'sum', ...line('request', (side) => sum(of(side).sizes), bytes) });
  const only = (one, two) => one.tools.filter((tool) => !two.tools.includes(tool));
  const tools = [['Tools only here', only(a, b)], ['Tools only in the other', only(b, a)]].filter(([, names]) => names.length);
  return [table(headings, body, `The main thread's ${role} request, by size`),
    ...tools.map(([what, names]) => make('p', { class: 'quiet' }, make('strong', {}, `${what}: `), names.join(', ')))];
}
