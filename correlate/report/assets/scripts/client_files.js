/* What the client's files record besides turns: lineage, compactions, todos and the plan. */

function lineageFacts() {
  const { branches, slug, forked_from: origin, resumed, rewinds } = data.client_files;
  const lineage = [
    origin ? `fork of ${origin.slice(0, 8)}` : null,
    resumed ? 'resumed' : null,
    rewinds ? many(rewinds, 'rewind') : null,
  ].filter(Boolean);
  return [
    ['Branch', branches.join(', ')],
    ['Name', slug],
    ['Lineage', lineage.join(', ')],
  ];
}

function showCompactions() {
  const { compactions } = data.client_files;
  byId('compactions').hidden = !compactions.length;
  if (!compactions.length) return;
  const right = (name) => ({ name, right: true });
  byId('compactions-list').append(
    table(
      [
        { name: 'Time' },
        { name: 'Trigger' },
        right('Tokens before'),
        right('Tokens after'),
        right('Messages lost'),
        right('Took'),
      ],
      compactions.map((one) => ({
        cells: [
          clock(one.at),
          one.trigger || '–',
          count(one.pre_tokens),
          count(one.post_tokens),
          count(one.lost_messages),
          duration(one.duration_ms == null ? null : one.duration_ms / 1000),
        ],
      })),
    ),
    ...compactions
      .filter(({ summary }) => summary)
      .map(({ at, summary }) =>
        make(
          'details',
          {},
          make('summary', {}, `The summary of ${clock(at)}`),
          ...textOf(summary.text, summary.left_out, 'the transcript'),
        ),
      ),
  );
}

const TODO_MARKS = { completed: '✓', in_progress: '▸' };

function showPlans() {
  const { todos, plan } = data.client_files;
  byId('plans').hidden = !todos.length && !plan;
  byId('plans-list').append(
    ...todos.map(({ agent, items, left_out: leftOut }) =>
      make(
        'div',
        { class: 'piece' },
        make('h4', {}, agent ? `Todos of ${laneNames.get(agent) || agent}` : 'Todos'),
        make(
          'ul',
          { class: 'plain' },
          items.map(({ text, status }) =>
            make(
              'li',
              { class: status === 'completed' ? 'quiet' : null },
              `${TODO_MARKS[status] || '·'} ${text}`,
            ),
          ),
        ),
        leftOut ? make('p', { class: 'cut' }, `${count(leftOut)} more`) : null,
      ),
    ),
    ...(plan
      ? [
          make(
            'div',
            { class: 'piece' },
            make('h4', {}, 'Plan'),
            ...textOf(plan.text, plan.left_out, 'the plan'),
          ),
        ]
      : []),
  );
}
