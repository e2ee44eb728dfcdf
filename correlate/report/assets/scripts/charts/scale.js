/* The timeline's scale, from time to pixels. */

const FOLDED = 22;
const MOST_FOLDED = 0.3; // maximum share of the width for all gaps

/* Maps time to pixels; idle time takes a fixed width if `fold` is set. */
function timeScale(fold, width) {
  const spans = [];
  for (const call of [...calls].sort((a, b) => a.started - b.started)) {
    const [start, end] = [call.started, Math.max(call.started, call.ended ?? call.started)];
    const last = spans.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else spans.push({ start, end });
  }
  const busy = spans.reduce((sum, span) => sum + span.end - span.start, 0);
  const least = fold ? Math.max(1, busy * 0.08) : Infinity;
  const pieces = [];
  for (const span of spans) {
    const last = pieces.at(-1);
    if (last && span.start - last.end < least) last.end = span.end;
    else pieces.push({ ...span });
  }
  const seconds = pieces.reduce((sum, piece) => sum + piece.end - piece.start, 0) || 1;
  const folds = pieces.length - 1;
  const folded = Math.min(FOLDED, (width * MOST_FOLDED) / Math.max(1, folds));
  const rate = (width - 12 - folded * folds) / seconds;
  let x = 2;
  for (const piece of pieces) {
    piece.x = x;
    x += (piece.end - piece.start) * rate + folded;
  }
  const place = (time) => {
    const piece = pieces.findLast((one) => one.start <= time) || pieces[0];
    return piece.x + (Math.min(time, piece.end) - piece.start) * rate;
  };
  const gaps = pieces.slice(1).map((piece, index) => ({
    x: piece.x - folded,
    width: folded,
    seconds: piece.start - pieces[index].end,
  }));
  return { place, gaps, ticks: ticksOf(pieces, rate, place, width) };
}

function ticksOf(pieces, rate, place, width) {
  if (!pieces.length) return [];
  const zero = pieces[0].start;
  const steps = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
    14400, 28800, 86400,
  ];
  const step = steps.find((one) => one * rate >= 72) || 86400;
  const ticks = [];
  for (const piece of pieces) {
    for (let n = Math.ceil((piece.start - zero) / step); zero + n * step <= piece.end; n += 1) {
      const x = place(zero + n * step);
      if ((!ticks.length || x - ticks.at(-1).x >= 56) && x < width - 34)
        ticks.push({ x, text: sinceStart(n * step, step) });
    }
  }
  return ticks;
}

function sinceStart(seconds, step) {
  if (seconds < 60 || step < 1) return `${+seconds.toFixed(2)} s`;
  const [hours, minutes, rest] = [
    Math.floor(seconds / 3600),
    Math.floor(seconds / 60) % 60,
    Math.round(seconds % 60),
  ];
  const two = (value) => String(value).padStart(2, '0');
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
