/* Totals of wire, transcript and cost-state, and the causes of differences. */

function showTotals() {
  byId('totals').hidden = isSilent && !reconcile.witnesses.length;
  const { totals, cost } = reconcile;
  const sides = [...(isCaptured ? ['wire'] : []), 'transcript', ...(totals.cost_state ? ['cost_state'] : [])];
  const names = { wire: 'Wire', transcript: 'Transcript', cost_state: 'cost-state' };
  const right = (name) => ({ name, right: true });
  const headings = [
    { name: '' },
    ...sides.map((side) => right(names[side])),
    ...(totals.cost_state && isCaptured ? [right('cost-state − wire')] : []),
    right(isCaptured ? 'Wire, dollars' : 'Transcript, dollars'),
  ];
  const spent = (usd) => (isSilent ? '–' : atLeast(dollars(usd), totals.transcript_finality));
  const body = [];
  const models = [...new Set(sides.flatMap((side) => Object.keys(totals[side].models)))];
  for (const model of models) {
    body.push({ class: 'model', cells: [model] });
    for (const tokenClass of data.token_classes) {
      const row = totalsRow(tokenClass, model, sides, cost[`${SIDE}_by_model`][model]);
      if (row) body.push(row);
    }
  }
  body.push({
    class: 'sum',
    cells: [
      'dollars',
      ...sides.map((side) =>
        figure(`cost.${side}_usd`, (usd) =>
          side === 'transcript' ? spent(usd) : dollars(usd),
        ),
      ),
      ...(totals.cost_state && isCaptured
        ? [cost.cost_state_usd == null ? '–' : dollars(cost.cost_state_usd - cost.wire_usd)]
        : []),
      spent(cost[`${SIDE}_usd`]),
    ],
  });
  byId('totals-tables').append(
    table(headings, body, 'Tokens and list prices by model and class'),
    ...whyDifferent(),
    ...witnesses(),
  );
}

function totalsRow({ name, label, path, in_cost_state: counted }, model, sides, prices) {
  /* a model's name may contain dots, so it is looked up separately */
  const of = (side) => within(reconcile.totals[side].models[model], path) || 0;
  const values = sides.map(of);
  const finality = reconcile.totals.transcript_finality;
  const isOutput = path === GROUPS[OUTPUT].path;
  if (!values.some(Boolean)) return null;
  const cell = (side, value) =>
    side === 'cost_state' && !counted
      ? '–'
      : make(
          'span',
          {
            class: value !== values[0] ? 'num warn' : 'num',
            'data-total': `${side}|${model}|${path}`,
          },
          side === 'transcript' ? atLeastOf(count(value), finality, isOutput) : count(value),
        );
  const apart = sides.length > 2 ? [counted ? signed(values[2] - values[0]) : '–'] : [];
  return {
    cells: [
      label,
      ...sides.map((side, index) => cell(side, values[index])),
      ...apart,
      prices ? atLeastOf(dollars(prices[name]), finality, isOutput) : dollars(prices),
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
        return {
          cells: [
            gap.verdict,
            figure(`${path}.findings`),
            figure(`${path}.wire_less_transcript.output_tokens`, signed),
            signed(promptIn(gap.wire_less_transcript)),
            figure(`${path}.usd`, dollars),
          ],
        };
      }),
      'Differences by verdict: wire − transcript',
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
