/* The page's data, and formatting of values. Reads the document but never changes it. */

const data = JSON.parse(document.getElementById('data').textContent);
const reconcile = data.reconcile;

/* Token classes as charts and rows show them; a call's tokens are in this order. */
const GROUPS = data.token_groups.map((group) => ({ ...group, color: `--${group.key}` }));
const READ = GROUPS.findIndex(({ key }) => key === 'read');
const OUTPUT = GROUPS.findIndex(({ key }) => key === 'output');

/* A call's row: its entry in reconcile, and the report's additional fields. */
const captured = reconcile.calls.map((call, index) => ({
  ...call,
  ...data.calls[index],
  key: String(call.sequence),
  path: `calls.${index}`,
}));
/* Without a capture, the turns are drawn as calls, by the transcript's own usage. */
const isCaptured = reconcile.is_captured;
const written = reconcile.turns_without_call.map((turn, index) => ({
  ...turn,
  ...data.turns[index],
  sequence: isCaptured ? null : index + 1,
  key: isCaptured ? `turn-${index + 1}` : String(index + 1),
  path: `turns_without_call.${index}`,
}));
const calls = isCaptured ? captured : written;
const turns = isCaptured ? written : [];
const isSilent = !isCaptured && !reconcile.summary.turns; // there is nothing to sum up
const SIDE = isCaptured ? 'wire' : 'transcript';
const lanes = data.lanes;
const laneNames = new Map(lanes.map((lane) => [lane.id, lane.name]));
const laneTitle = ({ name, description }) => (description ? `${name}: ${description}` : name);
const laneTitles = new Map(lanes.map((lane) => [lane.id, laneTitle(lane)]));

const UNPRICED = 'unpriced';
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
/* The prompt of a call, by its tokens; that of a usage object. */
const promptOf = (tokens) => sum(tokens.filter((_, place) => GROUPS[place].prompt));
const promptIn = (usage) => promptOf(GROUPS.map(({ path }) => within(usage, path)));
const counting = new Intl.NumberFormat('en');
const count = (value) => (typeof value === 'number' ? counting.format(value) : '–');
/* An output that the transcript does not have to its end is a lower bound. */
const bounded = (text, finality) => (finality === 'exact' || text === UNPRICED ? text : `≥ ${text}`);
const atLeast = (text, finality) => (isCaptured ? text : bounded(text, finality));
/* Other tokens are one only if a turn has no usage at all. */
const promptFinality = (finality) => (finality === 'unknown' ? finality : 'exact');
const atLeastOf = (text, finality, isOutput) =>
  atLeast(text, isOutput ? finality : promptFinality(finality));
const tokensOf = (row, place) =>
  row.verdict !== 'uncaptured'
    ? count(row.tokens[place])
    : row.finality === 'unknown'
      ? '–'
      : atLeastOf(count(row.tokens[place]), row.finality, place === OUTPUT);
const signed = (value) => (value > 0 ? `+${count(value)}` : value < 0 ? `−${count(-value)}` : '0');

function dollars(value) {
  if (typeof value !== 'number') return UNPRICED;
  const digits = value !== 0 && Math.abs(value) < 0.0001 ? 8 : 4;
  return `${value < 0 ? '−' : ''}$${Math.abs(value).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

function percent(part, whole) {
  if (!whole) return '–';
  const share = (100 * part) / whole;
  return `${(share > 0 && share < 10) || (share > 99 && share < 100) ? share.toFixed(1) : Math.round(share)} %`;
}

function bytes(value) {
  if (typeof value !== 'number') return '–';
  if (Math.abs(value) < 1000) return `${value} B`;
  const [size, unit] = Math.abs(value) < 1e6 ? [value / 1e3, 'kB'] : [value / 1e6, 'MB'];
  return `${Math.abs(size) < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}

function duration(seconds) {
  if (typeof seconds !== 'number') return '–';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [
    Math.floor(whole / 3600),
    Math.floor(whole / 60) % 60,
    whole % 60,
  ];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${rest} s`;
}

function compact(value) {
  if (value < 1000) return String(value);
  if (value < 1e6) return `${+(value / 1e3).toFixed(value < 1e4 ? 1 : 0)}k`;
  return `${+(value / 1e6).toFixed(1)}M`;
}

const clock = (at) =>
  typeof at === 'number' ? new Date(at * 1000).toLocaleTimeString('en-GB') : '–';
const moment = (at) =>
  typeof at === 'number'
    ? new Date(at * 1000).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
    : '–';
const many = (n, noun) => (n == null ? null : `${count(n)} ${noun}${n === 1 ? '' : 's'}`);
/* Bedrock puts a region before a model's name and a version behind it; Vertex has @ in it. */
const BEDROCK = /^(?:arn:[^/]*\/)?(?:[a-z-]+\.)?anthropic\.(claude-.+?)(?:-v\d+(?::\d+)?)?$/;
const shortModel = (model) =>
  (model || 'unknown').replace(BEDROCK, '$1').replace('@', '-').replace(/^claude-/, '');
const tinyModel = (model) => shortModel(model).replace(/-20\d{6}$/, '');
/* The models that served a call, a line each; the asked one alone before an arrow. */
const servingModels = ({ model, models }) => {
  const asked = tinyModel(model);
  const served = Object.keys(models || {}).map(tinyModel);
  const others = served.filter((name) => name !== asked);
  if (!others.length) return asked;
  return served.includes(asked)
    ? [asked, ...others].join(' +\n')
    : `${asked} →\n${others.join(' +\n')}`;
};
const took = (call) => (call.ended == null ? null : call.ended - call.started);

/* The value at a dotted path in an object, or in the output of `ccwire reconcile --json`. */
const within = (object, path) =>
  path.split('.').reduce((value, name) => (value == null ? value : value[name]), object);
const at = (path) => within(reconcile, path);

const mark = (row) => (row.explained ? data.verdicts[row.verdict].mark : '✕');
