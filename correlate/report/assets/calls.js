/* The calls: a table that is filtered and sorted as a list and drawn a chunk at a time. */

const CHUNK = 60;
const COLUMNS = [
  { name: '#', class: 'n' },
  { name: 'Time', class: 'time' },
  { name: 'Thread', class: 'lane' },
  { name: 'Model', class: 'model' },
  { name: 'Cache read', class: 'right read' },
  { name: 'Cache write', class: 'right write' },
  { name: 'Fresh', class: 'right fresh' },
  { name: 'Output', class: 'right output' },
  { name: 'In transcript', class: 'right told' },
  { name: 'Took', class: 'right took' },
  { name: 'Verdict', class: 'verdict-cell' },
];
const SORTS = {
  order: ['In order', null],
  output: ['Most output', (row) => (row.tokens ? row.tokens[3] : 0)],
  context: ['Largest context', (row) => (row.tokens ? row.tokens[0] + row.tokens[1] + row.tokens[2] : 0)],
  time: ['Slowest', (row) => (row.outcome ? took(row) || 0 : 0)],
  off: ['Furthest off', (row) => Math.abs(outputOff(row))],
};

const rows = [...calls, ...turns];
const opened = new Set();
const filter = { verdict: '', lane: '', model: '', text: '', sort: 'order' };
let found = rows;
let first = 0; // the drawn rows are found[first..drawn)
let drawn = 0;

const outputOff = (row) => (row.told ? row.told[3] - (row.tokens ? row.tokens[3] : 0) : 0);

function showCalls() {
  byId('table').append(
    make('thead', {}, make('tr', {}, COLUMNS.map((column) => make('th', { scope: 'col', class: column.class }, column.name)))),
    make('tbody', { id: 'rows' }));
  showFilters();
  new IntersectionObserver((seen) => { if (seen.some((entry) => entry.isIntersecting)) drawMore(); }, { rootMargin: '600px' }).observe(byId('more'));
  window.addEventListener('hashchange', openFromAddress);
  applyFilter();
  openFromAddress();
}

function showFilters() {
  const counted = (values) => [...values.reduce((seen, value) => seen.set(value, (seen.get(value) || 0) + 1), new Map())];
  const options = (name, values, write) => [['', name], ...counted(values).map(([value, n]) => [value, `${write(value)} (${count(n)})`])];
  const set = (name) => (value) => { filter[name] = value; applyFilter(); };
  const search = make('input', { type: 'search', placeholder: 'id, error or text', 'aria-label': 'Search', oninput: () => set('text')(search.value.toLowerCase()) });
  byId('filters').append(
    choice('Verdict', options('any', rows.map((row) => row.label), (value) => value), set('verdict')),
    choice('Thread', options('any', rows.map((row) => row.lane), (lane) => laneNames.get(lane) || lane), set('lane')),
    choice('Model', options('any', rows.map((row) => row.model || 'unknown'), shortModel), set('model')),
    choice('Sort', Object.entries(SORTS).map(([value, [name]]) => [value, name]), set('sort')),
    make('label', { class: 'choice grow' }, make('span', {}, 'Search'), search),
    make('button', { type: 'reset' }, 'Reset'));
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  byId('filters').addEventListener('reset', () => { Object.assign(filter, { verdict: '', lane: '', model: '', text: '', sort: 'order' }); applyFilter(); });
}

function applyFilter() {
  found = rows.filter((row) => (!filter.verdict || row.label === filter.verdict)
    && (!filter.lane || row.lane === filter.lane)
    && (!filter.model || (row.model || 'unknown') === filter.model)
    && (!filter.text || searchable(row).includes(filter.text)));
  const [, by] = SORTS[filter.sort];
  if (by) found.sort((a, b) => by(b) - by(a));
  drawFrom(0);
  byId('shown').textContent = found.length === rows.length ? `${count(rows.length)} in all` : `${count(found.length)} of ${count(rows.length)} shown`;
}

/* All that a search looks through, made once a row. */
function searchable(row) {
  if (row.searchable == null) {
    const pieces = [...(row.said || []), ...((row.content && row.content.answer) || []), ...((row.content && row.content.request && row.content.request.pieces) || [])];
    row.searchable = [row.key, row.request_id, row.message_id, row.kind, row.status, ...row.evidence, ...row.lines,
      ...pieces.flatMap((piece) => [piece.title, piece.text, piece.other])].join('\n').toLowerCase();
  }
  return row.searchable;
}

function drawFrom(place) {
  first = drawn = place;
  byId('rows').replaceChildren();
  drawMore();
}

function drawEarlier() {
  const from = Math.max(0, first - CHUNK);
  byId('rows').prepend(...found.slice(from, first).flatMap(rowsOf));
  first = from;
  showEarlier();
}

function showEarlier() {
  byId('earlier').replaceChildren(...(first ? [make('button', { type: 'button', onclick: drawEarlier }, `Show earlier ones, ${count(first)} in all`)] : []));
}

const rowsOf = (row) => (opened.has(row.key) ? [rowOf(row), detailRow(row)] : [rowOf(row)]);

function drawMore(upTo = drawn + CHUNK) {
  const next = found.slice(drawn, upTo);
  drawn += next.length;
  byId('rows').append(...next.flatMap(rowsOf));
  showEarlier();
  const left = found.length - drawn;
  byId('more').replaceChildren(...(left ? [make('button', { type: 'button', onclick: () => drawMore(found.length) }, `Show the other ${count(left)}`)] : []),
    ...(found.length ? [] : ['No call fits these filters.']));
}

function rowOf(row) {
  const open = opened.has(row.key);
  const button = make('button', { type: 'button', class: 'open', 'aria-expanded': String(open), 'aria-controls': `detail-${row.key}` },
    row.sequence == null ? '–' : `${row.sequence}`);
  const off = outputOff(row);
  const told = !row.told ? '–' : row.tokens && !off ? '=' : row.tokens ? signed(off) : count(row.told[3]);
  const number = (value) => (row.tokens ? count(value) : '–');
  const [read, write, fresh, output] = row.tokens || [];
  const values = [button, clock(row.started), laneNames.get(row.lane) || row.lane, tinyModel(row.model),
    number(read), number(write), number(fresh), number(output), told, row.outcome ? duration(took(row)) : '–',
    make('span', { class: `chip ${tone(row)}` }, make('span', { 'aria-hidden': 'true' }, mark(row)), ` ${row.label}`)];
  const classes = COLUMNS.map((column) => (column.class.includes('told') && off ? `${column.class} warn` : column.class));
  return make('tr', { id: `row-${row.key}`, class: open ? 'row is-open' : 'row', onclick: (event) => { if (!window.getSelection().toString() || event.target === button) toggle(row); } },
    values.map((value, column) => make('td', { class: classes[column], 'data-label': COLUMNS[column].name }, value)));
}

function detailRow(row) {
  return make('tr', { id: `detail-${row.key}`, class: 'detail' }, make('td', { colspan: COLUMNS.length }, detailOf(row)));
}

function toggle(row) {
  const line = byId(`row-${row.key}`);
  const open = !opened.delete(row.key);
  if (open) {
    opened.add(row.key);
    line.after(detailRow(row));
  } else byId(`detail-${row.key}`).remove();
  line.classList.toggle('is-open', open);
  line.querySelector('.open').setAttribute('aria-expanded', String(open));
}

/* Opens a call wherever it is asked for; filters that hide it are lifted. */
function openCall(key) {
  const row = rows.find((one) => one.key === key);
  if (!row) return;
  if (!found.includes(row)) byId('filters').reset();
  const place = found.indexOf(row);
  if (place < first || place >= drawn + CHUNK) drawFrom(place);
  else if (place >= drawn) drawMore();
  if (!opened.has(key)) toggle(row);
  const line = byId(`row-${key}`);
  line.scrollIntoView({ block: 'start' });
  line.querySelector('.open').focus({ preventScroll: true });
  history.replaceState(null, '', `#call-${key}`);
}

function openFromAddress() {
  const asked = /^#call-(.+)$/.exec(location.hash);
  if (asked) openCall(asked[1]);
}
