/* The details of a row: the request's changes, the answer's blocks and the transcript's lines. */

function detailOf(row) {
  return make(
    'div',
    { class: 'opened' },
    evidenceOf(row),
    ...problemsOf(row),
    row.content ? make('div', { class: 'halves' }, requestOf(row), answerOf(row)) : turnOf(row),
    usageOf(row),
  );
}

function evidenceOf(row) {
  const facts = [
    ['Kind', row.kind],
    ['Thread', laneTitles.get(row.lane)],
    ['Model', row.model],
    ['Served by', row.models ? Object.keys(row.models).join(', ') : null],
    ['Request id', row.request_id],
    ['Message id', row.message_id],
    ['Status', row.status],
    ['Ended by', row.ended_by],
    ['Stop reason', row.stop_reason],
    [
      'Sent',
      row.request_bytes == null
        ? null
        : [bytes(row.request_bytes), many(row.messages, 'message'), many(row.tools, 'tool')]
            .filter(Boolean)
            .join(', '),
    ],
    ['Received', row.response_bytes == null ? null : bytes(row.response_bytes)],
    [
      'First byte',
      row.first_byte_ms == null ? null : `after ${duration(row.first_byte_ms / 1000)}`,
    ],
    ...linesByFile(row.lines).map(([file, numbers]) => [
      'Transcript',
      `${file}, line ${numbers.join(', ')}`,
    ]),
  ].filter(([, value]) => value != null);
  return make(
    'div',
    { class: 'because' },
    make(
      'p',
      {},
      make('strong', { class: row.tone }, `${mark(row)} ${row.label}`),
      ': ',
      ...linked(row.evidence.join('; ')),
    ),
    make(
      'dl',
      { class: 'facts small' },
      facts.map(([name, value]) =>
        make('div', {}, make('dt', {}, name), make('dd', {}, String(value))),
      ),
    ),
  );
}

/* Places such as x.jsonl:12, grouped by file. */
function linesByFile(places) {
  const files = new Map();
  for (const place of places) {
    const [, file, line] = /^(.*):(\d+)$/.exec(place) || [null, place, '?'];
    files.set(file, [...(files.get(file) || []), line]);
  }
  return [...files];
}

/* Turns "call 12" in a text into a link to that call. */
function linked(text) {
  return text.split(/\b(call \d+)\b/).map((part, index) => {
    const key = part.slice(5);
    if (index % 2 === 0 || !calls.some((call) => call.key === key)) return part;
    return make('a', { href: `#call-${key}` }, part);
  });
}

function problemsOf(row) {
  const notes = [...((row.content && row.content.problems) || [])];
  if (row.content && row.content.left_out)
    notes.push(`${count(row.content.left_out)} more blocks are in the capture files.`);
  return notes.map((text) => make('p', { class: 'note' }, text));
}

function requestOf(row) {
  const { request, request_file: file } = row.content;
  const part = make('section', {}, make('h3', {}, isCaptured ? 'Request changes' : 'Since the turn before'));
  if (!request) return withNothing(part, 'The request is not available.');
  const nothing = !request.pieces.length && !request.notes.length;
  part.append(
    make(
      'p',
      { class: 'quiet' },
      ...(request.since == null
        ? ['The first request of this thread.']
        : linked(
            `${nothing ? 'No changes' : 'Changes'} since call ${request.since}, the previous one in this thread.`,
          )),
    ),
  );
  part.append(
    ...request.pieces.map((piece) => pieceOf(piece, file)),
    ...request.notes.map((note) => make('p', { class: 'mono quiet' }, note)),
  );
  return part;
}

function answerOf(row) {
  const { answer, response_file: file } = row.content;
  const part = make(
    'section',
    {},
    make('h3', {}, row.transcript_tokens && isCaptured ? 'Answer: wire and transcript' : 'Answer'),
  );
  if (!answer.length) return withNothing(part, 'No part of the answer was captured.');
  if (!row.transcript_tokens) part.append(make('p', { class: 'quiet' }, 'The transcript does not contain this answer.'));
  part.append(...answer.map((piece) => (row.transcript_tokens && isCaptured ? pairOf(piece, file) : pieceOf(piece, file || piece.line))));
  return part;
}

function turnOf(row) {
  const part = make('section', {}, make('h3', {}, 'In the transcript'));
  part.append(...(row.pieces || []).map((piece) => pieceOf(piece, piece.line)));
  return part;
}

function withNothing(part, text) {
  part.append(make('p', { class: 'quiet' }, text));
  return part;
}

function pieceOf(piece, file) {
  return make(
    'div',
    { class: 'piece' },
    make(
      'h4',
      {},
      piece.mark && piece.mark !== 'added' ? make('span', { class: 'mark' }, piece.mark) : null,
      piece.title,
    ),
    ...textOf(piece.text, piece.left_out, file),
  );
}

const BLOCK_TEXTS = {
  equal: ['good', '✓ identical'],
  changed: ['bad', '✕ changed'],
  missing: ['bad', '✕ not in the transcript'],
  added: ['bad', '✕ only in the transcript'],
};

/* A block on the wire and in the transcript; identical text is shown once. */
function pairOf(piece, file) {
  const [kind, text] = BLOCK_TEXTS[piece.mark] || ['info', piece.mark || ''];
  const onWire =
    piece.mark === 'added'
      ? [make('p', { class: 'quiet' }, 'not on the wire')]
      : textOf(piece.text, piece.left_out, file);
  const transcript =
    piece.mark === 'added'
      ? textOf(piece.text, piece.left_out, piece.line)
      : piece.other == null
        ? []
        : textOf(piece.other, piece.other_left_out, piece.line);
  return make(
    'div',
    { class: 'piece pair-of' },
    make('h4', {}, piece.title),
    make('div', { class: 'wire-side' }, ...onWire),
    make(
      'div',
      { class: 'transcript-side' },
      make('p', { class: `block-verdict ${kind}` }, text),
      piece.line
        ? make(
            'p',
            { class: 'mono quiet', title: piece.line },
            `line ${piece.line.split(':').at(-1)}`,
          )
        : null,
      ...transcript,
    ),
  );
}

function textOf(text, leftOut, file) {
  const shown = make('pre', { tabindex: text.length > 600 ? '0' : null }, text || '(empty)');
  return leftOut
    ? [
        shown,
        make('p', { class: 'cut' }, `${count(leftOut)} more characters in ${file || 'the file'}`),
      ]
    : [shown];
}

/* Every field of both usage objects; fields that differ are marked. */
function usageOf(row) {
  const wire = flat(row.wire || {});
  const transcript = flat(row.transcript || {});
  const names = [...new Set([...wire.keys(), ...transcript.keys()])];
  if (!names.length) return make('p', { class: 'quiet' }, 'Neither side reports usage.');
  const differs = new Set(Object.keys(row.difference || {}));
  const cell = (side, name, values) =>
    values.has(name)
      ? make(
          'span',
          { 'data-path': `${row.path}.${side}.${name}`, class: 'num' },
          plain(values.get(name)),
        )
      : '–';
  const isBound = (name) =>
    !row.wire && name === GROUPS[OUTPUT].path && row.finality === 'lower-bound';
  return make(
    'details',
    { open: differs.size > 0 },
    make('summary', {}, 'Usage by field'),
    table(
      [{ name: 'Field' }, { name: 'Wire', right: true }, { name: 'Transcript', right: true }],
      names.map((name) => ({
        class: differs.has(name) ? 'differs' : null,
        cells: [
          name,
          cell('wire', name, wire),
          isBound(name)
            ? make('span', {}, '≥ ', cell('transcript', name, transcript))
            : cell('transcript', name, transcript),
        ],
      })),
    ),
  );
}

function flat(usage, head = '') {
  return new Map(
    Object.entries(usage).flatMap(([name, value]) =>
      value && typeof value === 'object' && !Array.isArray(value)
        ? [...flat(value, `${head}${name}.`)]
        : [[head + name, value]],
    ),
  );
}

const plain = (value) =>
  typeof value === 'number'
    ? count(value)
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
