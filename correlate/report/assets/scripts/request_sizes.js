/* The sizes of a request's parts. */

const PART_COLORS = [
  '--part-1',
  '--part-2',
  '--part-3',
  '--part-4',
  '--part-5',
  '--part-6',
  '--part-7',
  '--part-8',
  '--part-9',
  '--part-10',
  '--part-11',
];
const fillName = (fill, names = laneNames) =>
  `${names.get(fill.lane) || fill.lane}: ${fill.roles.join(' and ')} request (call ${fill.sequence})`;

function showFills() {
  const { fills } = data;
  if (!fills.length) {
    byId('fills-chart').append(
      make('p', { class: 'quiet' }, 'No request file is available.'),
    );
    return;
  }
  const best = Math.max(
    0,
    fills.findIndex((fill) => fill.roles.includes('largest')),
  );
  if (fills.length > 1) {
    const pick = choice(
      'Request',
      fills.map((fill, index) => [String(index), fillName(fill)]),
      (value) => showFill(fills[Number(value)]),
    );
    pick.querySelector('select').value = String(best);
    byId('fills-tools').append(pick);
  }
  showFill(fills[best]);
}

function showFill(fill) {
  const whole = sum(fill.sizes);
  const parts = data.parts
    .map((name, index) => ({
      name,
      size: fill.sizes[index],
      n: fill.counts[index],
      color: PART_COLORS[index],
    }))
    .filter((part) => part.size);
  const strip = make(
    'div',
    {
      class: 'strip',
      role: 'img',
      'aria-label': parts.map((part) => `${part.name} ${percent(part.size, whole)}`).join(', '),
    },
    parts.map((part) => {
      const piece = make('span', {
        title: `${part.name}: ${bytes(part.size)}, ${percent(part.size, whole)}`,
      });
      piece.style.flexGrow = String(part.size);
      piece.style.background = `var(${part.color})`;
      return piece;
    }),
  );
  const right = (name) => ({ name, right: true });
  const byPart = table(
    [{ name: 'Part' }, right('Count'), right('Size'), right('Share')],
    [
      ...parts.map((part) => ({
        cells: [
          make('span', {}, swatch(part.color), part.name),
          part.n ? count(part.n) : '–',
          bytes(part.size),
          percent(part.size, whole),
        ],
      })),
      { class: 'sum', cells: ['request', '', bytes(whole), ''] },
    ],
  );
  const color = (name) => PART_COLORS[data.parts.indexOf(name)];
  const items = table(
    [{ name: 'Largest items' }, right('Size'), right('Share')],
    fill.items.map((item) => ({
      cells: [
        make('span', {}, swatch(color(item.part)), item.name),
        bytes(item.size),
        percent(item.size, whole),
      ],
    })),
  );
  const servers = Object.entries(fill.servers);
  const mcp = servers.length
    ? table(
        [{ name: 'MCP server' }, right('Size'), right('Share')],
        servers.map(([name, size]) => ({ cells: [name, bytes(size), percent(size, whole)] })),
      )
    : null;
  byId('fills-chart').replaceChildren(
    strip,
    make('div', { class: 'halves' }, make('div', {}, byPart, ...(mcp ? [mcp] : [])), items),
    make(
      'p',
      { class: 'quiet' },
      'Sizes are bytes of JSON as sent. The API does not report tokens per part.',
    ),
  );
}
