/* Comparison of two sessions. */

function showCompare() {
  const other = data.compare;
  if (!other) return;
  byId('compare').hidden = false;
  const mine = { reconcile, about: data.about, calls: calls.length, requests: data.requests };
  const name = (side) => side.about.title || side.reconcile.session_id.slice(0, 8);
  const right = (text) => ({ name: text, right: true });
  /* Without a capture, the transcript has the numbers; its output may be a lower bound. */
  const usedOf = ({ reconcile: one }) => one.totals[one.is_captured ? 'wire' : 'transcript'];
  /* undefined if there is nothing to sum up, null without a known price */
  const costOf = ({ reconcile: one }) =>
    one.is_captured
      ? one.cost.wire_usd
      : one.summary.turns
        ? one.cost.transcript_usd
        : undefined;
  const finalityOf = ({ reconcile: one }) =>
    one.is_captured ? 'exact' : one.totals.transcript_finality;
  const promptFinalityOf = (side) => promptFinality(finalityOf(side));
  const costFinality = (side) =>
    side.reconcile.cost.unpriced.length ? 'lower-bound' : finalityOf(side);
  const line = (what, of, write, finality = () => 'exact') => {
    const [a, b] = [of(mine), of(other)];
    const isKnown = [mine, other].every((side) => finality(side) === 'exact');
    const apart = isKnown && typeof a === 'number' && typeof b === 'number' ? b - a : null;
    const shown = (value, side) => bounded(write(value), finality(side));
    return {
      cells: [
        what,
        shown(a, mine),
        shown(b, other),
        apart == null
          ? '–'
          : apart === 0
            ? '='
            : `${apart > 0 ? '+' : '−'}${write(Math.abs(apart))}`,
      ],
    };
  };
  const numbers = [
    line('calls', (side) => (side.reconcile.is_captured ? side.calls : null), count),
    line('duration', (side) => side.reconcile.summary.seconds, duration),
    line('turns', (side) => side.reconcile.summary.turns, count),
    line('largest context', (side) => side.reconcile.summary.context_peak, count),
    ...GROUPS.map(({ label, path, prompt }) =>
      line(label, (side) => within(usedOf(side), path), count, prompt ? promptFinalityOf : finalityOf),
    ),
    line(
      'cache share',
      (side) => side.reconcile.summary.cache_share,
      (share) => percent(share, 1),
    ),
    line('cost', costOf, (usd) => (usd === undefined ? '–' : dollars(usd)), costFinality),
    line('unexplained', (side) => side.reconcile.unexplained, count),
  ];
  const headings = [
    { name: '' },
    right('this session'),
    right(`session ${other.reconcile.session_id.slice(0, 8)}`),
    right('difference'),
  ];
  byId('compare-tables').append(
    make('p', {}, make('strong', {}, name(other)), `: ${other.about.verdict.sentence}`),
    table(headings, numbers, 'Overview'),
    ...['first', 'largest'].flatMap((role) => comparedRequests(mine, other, role, headings, line)),
  );
}

function comparedRequests(mine, other, role, headings, line) {
  const of = (side) =>
    side.requests.find((request) => request.lane === 'main' && request.roles.includes(role));
  const [a, b] = [of(mine), of(other)];
  if (!a || !b) return [];
  const body = data.parts
    .map((part, index) => line(part, (side) => of(side).sizes[index], bytes))
    .filter((row) => row.cells[1] !== '0 B' || row.cells[2] !== '0 B');
  body.push({ class: 'sum', ...line('request', (side) => sum(of(side).sizes), bytes) });
  const only = (one, two) => one.tools.filter((tool) => !two.tools.includes(tool));
  const tools = [
    ['Tools only in this session', only(a, b)],
    ['Tools only in the other session', only(b, a)],
  ].filter(([, names]) => names.length);
  return [
    table(headings, body, `Size of the main thread's ${role} request`),
    ...tools.map(([what, names]) =>
      make('p', { class: 'quiet' }, make('strong', {}, `${what}: `), names.join(', ')),
    ),
  ];
}
