/* The table of calls: filtered and sorted as a list, rendered in chunks. */

const CHUNK = 60;
const COLUMNS = [
  { name: '#', class: 'n' },
  { name: 'Time', class: 'time' },
  { name: 'Thread', class: 'lane' },
  { name: 'Model', class: 'model' },
  ...GROUPS.map(({ key, heading }) => ({ name: heading, class: `right tokens ${key}` })),
  { name: 'Difference', class: 'right transcript' },
  { name: 'Took', class: 'right took' },
  { name: 'Verdict', class: 'verdict-cell' },
];

const opened = new Set();
let first = 0; // the drawn rows are found[first..drawn)
let drawn = 0;

function showCalls() {
  if (!isCaptured) byId('calls-title').textContent = 'Calls: transcript';
  byId('table').append(
    make(
      'thead',
      {},
      make(
        'tr',
        {},
        COLUMNS.map((column) => make('th', { scope: 'col', class: column.class }, column.name)),
      ),
    ),
    make('tbody', { id: 'rows' }),
  );
  showFilters();
  new IntersectionObserver(
    (seen) => {
      if (seen.some((entry) => entry.isIntersecting)) drawMore();
    },
    { rootMargin: '600px' },
  ).observe(byId('more'));
  window.addEventListener('hashchange', openFromAddress);
  applyFilter();
  openFromAddress();
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
  byId('earlier').replaceChildren(
    ...(first
      ? [
          make(
            'button',
            { type: 'button', onclick: drawEarlier },
            `Show earlier calls (${count(first)} hidden)`,
          ),
        ]
      : []),
  );
}

const rowsOf = (row) => (opened.has(row.key) ? [rowOf(row), detailRow(row)] : [rowOf(row)]);

function drawMore(upTo = drawn + CHUNK) {
  const next = found.slice(drawn, upTo);
  drawn += next.length;
  byId('rows').append(...next.flatMap(rowsOf));
  showEarlier();
  const left = found.length - drawn;
  byId('more').replaceChildren(
    ...(left
      ? [
          make(
            'button',
            { type: 'button', onclick: () => drawMore(found.length) },
            `Show the remaining ${count(left)}`,
          ),
        ]
      : []),
    ...(found.length ? [] : ['No calls match these filters.']),
  );
}

function rowOf(row) {
  const open = opened.has(row.key);
  const button = make(
    'button',
    {
      type: 'button',
      class: 'open',
      'aria-expanded': String(open),
      'aria-controls': `detail-${row.key}`,
    },
    row.sequence == null ? '–' : `${row.sequence}`,
  );
  const off = outputOff(row);
  const inTranscript = !row.transcript_tokens || !isCaptured
    ? '–'
    : row.tokens && !off
      ? '='
      : row.tokens
        ? signed(off)
        : row.finality === 'unknown'
          ? '–'
          : bounded(count(row.transcript_tokens[OUTPUT]), row.finality);
  const values = [
    button,
    clock(row.started),
    laneNames.get(row.lane) || row.lane,
    servingModels(row),
    ...GROUPS.map((_, place) => (row.tokens ? tokensOf(row, place) : '–')),
    inTranscript,
    !row.outcome || (!isCaptured && !row.is_timed)
      ? '–'
      : `${isCaptured ? '' : '≤ '}${duration(took(row))}`,
    make(
      'span',
      { class: `chip ${row.tone}`, title: data.verdicts[row.verdict].text },
      make('span', { 'aria-hidden': 'true' }, mark(row)),
      ` ${row.label}`,
    ),
  ];
  const classes = COLUMNS.map((column) =>
    column.class.includes('transcript') && off ? `${column.class} warn` : column.class,
  );
  return make(
    'tr',
    {
      id: `row-${row.key}`,
      class: open ? 'row is-open' : 'row',
      onclick: (event) => {
        if (!window.getSelection().toString() || event.target === button) toggle(row);
      },
    },
    values.map((value, column) =>
      make('td', { class: classes[column], 'data-label': COLUMNS[column].name }, value),
    ),
  );
}

function detailRow(row) {
  return make(
    'tr',
    { id: `detail-${row.key}`, class: 'detail' },
    make('td', { colspan: COLUMNS.length }, detailOf(row)),
  );
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

/* Opens a call and scrolls to it; resets filters that hide it. */
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
