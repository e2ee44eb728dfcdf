/* Filters and sort order of the calls. */

const SORTS = {
  order: ['In order', null],
  output: ['Most output', (row) => (row.tokens ? row.tokens[OUTPUT] : 0)],
  context: ['Largest context', (row) => (row.tokens ? promptOf(row.tokens) : 0)],
  time: ['Slowest', (row) => (row.outcome ? took(row) || 0 : 0)],
  off: ['Largest difference', (row) => Math.abs(outputOff(row))],
};

const rows = [...calls, ...turns];
const filter = { verdict: '', lane: '', model: '', text: '', sort: 'order' };
let found = rows;

const outputOff = (row) =>
  row.transcript_tokens ? row.transcript_tokens[OUTPUT] - (row.tokens ? row.tokens[OUTPUT] : 0) : 0;

function showFilters() {
  const counted = (values) => [
    ...values.reduce((seen, value) => seen.set(value, (seen.get(value) || 0) + 1), new Map()),
  ];
  const options = (name, values, write) => [
    ['', name],
    ...counted(values).map(([value, n]) => [value, `${write(value)} (${count(n)})`]),
  ];
  const set = (name) => (value) => {
    filter[name] = value;
    applyFilter();
  };
  const search = make('input', {
    type: 'search',
    placeholder: 'id, error or text',
    'aria-label': 'Search',
    oninput: () => set('text')(search.value.toLowerCase()),
  });
  byId('filters').append(
    choice(
      'Verdict',
      options(
        'any',
        rows.map((row) => row.label),
        (value) => value,
      ),
      set('verdict'),
    ),
    choice(
      'Thread',
      options(
        'any',
        rows.map((row) => row.lane),
        (lane) => laneTitles.get(lane) || lane,
      ),
      set('lane'),
    ),
    choice(
      'Model',
      options(
        'any',
        rows.map((row) => row.model || 'unknown'),
        shortModel,
      ),
      set('model'),
    ),
    choice(
      'Sort',
      Object.entries(SORTS).map(([value, [name]]) => [value, name]),
      set('sort'),
    ),
    make('label', { class: 'choice grow' }, make('span', {}, 'Search'), search),
    make('button', { type: 'reset' }, 'Reset'),
  );
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  byId('filters').addEventListener('reset', () => {
    Object.assign(filter, { verdict: '', lane: '', model: '', text: '', sort: 'order' });
    applyFilter();
  });
}

function applyFilter() {
  found = rows.filter(
    (row) =>
      (!filter.verdict || row.label === filter.verdict) &&
      (!filter.lane || row.lane === filter.lane) &&
      (!filter.model || (row.model || 'unknown') === filter.model) &&
      (!filter.text || searchable(row).includes(filter.text)),
  );
  const [, by] = SORTS[filter.sort];
  if (by) found.sort((a, b) => by(b) - by(a));
  drawFrom(0);
  byId('shown').textContent =
    found.length === rows.length
      ? `${count(rows.length)} shown`
      : `${count(found.length)} of ${count(rows.length)} shown`;
}

/* The text that a search covers, built once per row. */
function searchable(row) {
  if (row.searchable == null) {
    const pieces = [
      ...(row.pieces || []),
      ...((row.content && row.content.answer) || []),
      ...((row.content && row.content.request && row.content.request.pieces) || []),
    ];
    row.searchable = [
      row.key,
      row.request_id,
      row.message_id,
      row.kind,
      row.status,
      ...row.evidence,
      ...row.lines,
      ...pieces.flatMap((piece) => [piece.title, piece.text, piece.other]),
    ]
      .join('\n')
      .toLowerCase();
  }
  return row.searchable;
}
