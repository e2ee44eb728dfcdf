/* Totals three ways, and why they differ. */

const TOTAL_FIELDS = [
  ['input', 'input_tokens', 'input'],
  ['output', 'output_tokens', 'output'],
  ['cache read', 'cache_read_input_tokens', 'cache_read'],
  ['cache write, 5 min', 'cache_creation.ephemeral_5m_input_tokens', 'cache_write_5m'],
  ['cache write, 1 h', 'cache_creation.ephemeral_1h_input_tokens', 'cache_write_1h'],
  ['web searches', 'server_tool_use.web_search_requests', 'web_searches'],
];

function showTotals() {
  const { totals, cost } = reconcile;
  const sides = ['wire', 'transcript', ...(totals.cost_state ? ['cost_state'] : [])];
  const names = { wire: 'Wire', transcript: 'Transcript', cost_state: 'cost-state' };
  const right = (name) => ({ name, right: true });
  const headings = [
    { name: '' },
    ...sides.map((side) => right(names[side])),
    ...(totals.cost_state ? [right('cost-state less wire')] : []),
    right('Wire, dollars'),
  ];
  const body = [];
  const models = [...new Set(sides.flatMap((side) => Object.keys(totals[side].models)))];
  for (const model of models) {
    body.push({ class: 'model', cells: [model] });
    for (const [name, field, priced] of TOTAL_FIELDS) {
      const row = totalsRow(name, field, model, sides, cost.wire_by_model[model], priced);
      if (row) body.push(row);
    }
  }
  body.push({
    class: 'sum',
    cells: [
      'dollars',
      ...sides.map((side) => figure(`cost.${side}_usd`, dollars)),
      ...(totals.cost_state
        ? [cost.cost_state_usd == null ? '–' : dollars(cost.cost_state_usd - cost.wire_usd)]
        : []),
      dollars(cost.wire_usd),
    ],
  });
  byId('totals-tables').append(
    table(headings, body, 'Tokens and list prices by model and class'),
    ...whyDifferent(),
    ...witnesses(),
  );
}

function totalsRow(name, field, model, sides, prices, priced) {
  /* a model's name may hold dots: its part of the path is looked up by itself */
  const of = (side) =>
    field
      .split('.')
      .reduce(
        (value, part) => (value == null ? value : value[part]),
        reconcile.totals[side].models[model],
      ) || 0;
  const values = sides.map(of);
  if (!values.some(Boolean)) return null;
  const off = values.map((value) => value !== values[0]);
  const apart = sides.length > 2 ? [signed(values[2] - values[0])] : [];
  return {
    cells: [
      name,
      ...values.map((value, index) =>
        make(
          'span',
          {
            class: off[index] ? 'num warn' : 'num',
            'data-total': `${sides[index]}|${model}|${field}`,
          },
          count(value),
        ),
      ),
      ...apart,
      prices ? dollars(prices[priced]) : 'unpriced',
    ],
  };
}

function whyDifferent() {
  const { differences } = reconcile;
  if (!differences.length) return [];
  const right = (name) => ({ name, right: true });
  return [
    table(
      [{ name: 'Verdict' }, right('Findings'), right('Output'), right('Prompt'), right('Dollars')],
      differences.map((gap, index) => {
        const path = `differences.${index}`;
        const usage = gap.wire_less_transcript;
        const prompt =
          usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        return {
          cells: [
            gap.verdict,
            figure(`${path}.findings`),
            figure(`${path}.wire_less_transcript.output_tokens`, signed),
            signed(prompt),
            figure(`${path}.usd`, dollars),
          ],
        };
      }),
      'Why the transcript differs: wire less transcript',
    ),
  ];
}

function witnesses() {
  return reconcile.witnesses.map((witness) =>
    make(
      'p',
      { class: `note ${witness.agrees ? 'good' : witness.explained ? 'warn' : 'bad'}` },
      make('strong', {}, witness.name),
      ` ${witness.evidence.join('; ')}.`,
    ),
  );
}
