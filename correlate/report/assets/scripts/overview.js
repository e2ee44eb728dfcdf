/* The top of the page: session facts, the verdict and the key numbers. */

function showOverview() {
  const { about } = data;
  const { sentence, tone: kind } = about.verdict;
  const id = reconcile.session_id;
  document.title = `ccwire report ${id.slice(0, 8)}${about.title ? `: ${about.title}` : ''}`;
  if (about.title) byId('title').textContent = about.title;
  byId('verdict').classList.add(kind);
  byId('verdict').textContent = sentence;
  const { summary } = reconcile;
  const tools = Object.entries(summary.tool_calls).map(([name, n]) => `${n} ${name}`);
  const facts = [
    ['Session', id],
    ['Project', about.project],
    ...lineageFacts(),
    [
      'Client',
      reconcile.claude_versions.map((version) => `Claude Code ${version}`).join(', ') ||
        'unknown version',
    ],
    ['Models', Object.keys(reconcile.totals[SIDE].models).map(shortModel).join(', ')],
    ['Started', moment(about.started)],
    ['Duration', figure('summary.seconds', duration)],
    ['Turns', figure('summary.turns')],
    ['Subagents', summary.agents ? figure('summary.agents') : null],
    ['Largest context', figure('summary.context_peak')],
    [
      'Thinking',
      summary.thinking_tokens
        ? [summary.thinking_is_lower_bound ? '≥ ' : '', figure('summary.thinking_tokens'), ' tokens']
        : null,
    ],
    ['Compactions', summary.compactions ? figure('summary.compactions') : null],
    ['Tool calls', tools.length > 6 ? `${tools.slice(0, 6).join(', ')}, …` : tools.join(', ')],
    ['Files written', summary.files_written.length ? figure('summary.files_written.length') : null],
  ];
  byId('facts').append(
    ...facts
      .filter(([, value]) => value)
      .map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))),
  );
  showTiles();
  showMissing();
}

function showTiles() {
  const wire = reconcile.totals[SIDE];
  const finality = reconcile.totals.transcript_finality;
  const prompts = promptIn(wire);
  const tile = (name, value, note, color) =>
    make(
      'div',
      {},
      make('dt', {}, color ? swatch(color) : null, name),
      make('dd', {}, value),
      make('dd', { class: 'under' }, note),
    );
  const notes = {
    read: [
      'cache share ',
      figure('summary.cache_share', (share) => (share == null ? '–' : percent(share, 1))),
    ],
  };
  const verdicts = Object.entries(reconcile.verdicts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, n]) => `${count(n)} ${name}`)
    .join(', ');
  byId('tiles').append(
    tile(
      isCaptured ? 'Calls' : 'Turns',
      figure(isCaptured ? 'calls.length' : 'turns_without_call.length'),
      verdicts || 'none',
    ),
    tile(
      'Cost',
      figure(`cost.${SIDE}_usd`, (usd) => (isSilent ? '–' : atLeast(dollars(usd), finality))),
      costNote(),
    ),
    ...GROUPS.map(({ key, label, path, prompt, color }) =>
      tile(
        label,
        figure(`totals.${SIDE}.${path}`, (n) => atLeastOf(count(n), finality, !prompt)),
        notes[key] ||
          (prompt ? `${percent(within(wire, path), prompts)} of prompt tokens` : isCaptured ? transcriptNote(path) : 'by the transcript'),
        color,
      ),
    ),
  );
}

function costNote() {
  const { unpriced, transcript_usd: transcript, wire_usd: wire } = reconcile.cost;
  if (unpriced.length) return `without ${unpriced.map(shortModel).join(', ')} (unknown price)`;
  if (isSilent) return 'no turn of its own';
  if (!isCaptured) return 'at list prices, by the transcript';
  return transcript === wire ? 'at list prices' : `${dollars(transcript)} in the transcript`;
}

function transcriptNote(path) {
  const { transcript, wire } = reconcile.totals;
  const tokens = within(transcript, path);
  return tokens === within(wire, path)
    ? 'same in the transcript'
    : `${count(tokens)} in the transcript`;
}

function showMissing() {
  const missing = [
    ...Object.entries(reconcile.known_flaws).map(
      ([version, flaws]) =>
        `Known of ${version}: ${flaws.map(({ sentence }) => sentence).join('; ')}.`,
    ),
    ...data.missing,
    ...reconcile.notes,
    ...reconcile.bad_lines.map((line) => `transcript ${line}`),
  ];
  byId('missing').hidden = !missing.length;
  const [shown, folded] = [missing.slice(0, 8), missing.slice(8)];
  const items = (texts) => texts.map((text) => make('li', {}, text));
  byId('missing-list').append(...items(shown));
  if (folded.length) {
    byId('missing-list').after(
      make(
        'details',
        {},
        make('summary', {}, `${count(folded.length)} more`),
        make('ul', { class: 'plain' }, items(folded)),
      ),
    );
  }
}

function showNavigation() {
  const sections = [...document.querySelectorAll('main > section')].filter(
    (section) => !section.hidden && section.querySelector('h2'),
  );
  const names = {
    timeline: 'Timeline',
    context: 'Context',
    calls: 'Calls',
    totals: 'Totals',
    compactions: 'Compactions',
    plans: 'Todos and plan',
    'request-sizes': 'Context by part',
    compare: 'Compare',
    missing: 'Missing',
  };
  byId('nav').append(
    ...sections.map((section) => make('a', { href: `#${section.id}` }, names[section.id])),
  );
}
