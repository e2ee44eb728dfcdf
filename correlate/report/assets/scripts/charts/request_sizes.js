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
const requestName = (request, names = laneNames) =>
  `${names.get(request.lane) || request.lane}: ${request.roles.join(' and ')} request (call ${request.sequence})`;

function showRequests() {
  const { requests } = data;
  if (!requests.length) {
    byId('request-sizes-chart').append(
      make('p', { class: 'quiet' }, 'No request file is available.'),
    );
    return;
  }
  const best = Math.max(
    0,
    requests.findIndex((request) => request.roles.includes('largest')),
  );
  if (requests.length > 1) {
    const pick = choice(
      'Request',
      requests.map((request, index) => [String(index), requestName(request)]),
      (value) => showRequest(requests[Number(value)]),
    );
    pick.querySelector('select').value = String(best);
    byId('request-sizes-tools').append(pick);
  }
  showRequest(requests[best]);
}

function showRequest(request) {
  const whole = sum(request.sizes);
  const parts = data.parts
    .map((name, index) => ({
      name,
      size: request.sizes[index],
      n: request.counts[index],
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
    request.items.map((item) => ({
      cells: [
        make('span', {}, swatch(color(item.part)), item.name),
        bytes(item.size),
        percent(item.size, whole),
      ],
    })),
  );
  const servers = Object.entries(request.servers);
  const mcp = servers.length
    ? table(
        [{ name: 'MCP server' }, right('Size'), right('Share')],
        servers.map(([name, size]) => ({ cells: [name, bytes(size), percent(size, whole)] })),
      )
    : null;
  byId('request-sizes-chart').replaceChildren(
    strip,
    make('div', { class: 'halves' }, make('div', {}, byPart, ...(mcp ? [mcp] : [])), items),
    make(
      'p',
      { class: 'quiet' },
      'Sizes are bytes of JSON as sent. The API does not report tokens per part.',
    ),
  );
}
