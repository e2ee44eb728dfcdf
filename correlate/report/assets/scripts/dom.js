/* Element construction. Text is only ever inserted as text nodes. */

const SVG = 'http://www.w3.org/2000/svg';
const byId = (id) => document.getElementById(id);

/* make('p', {class: 'note', onclick: f}, 'text', child, …); null children are skipped. */
function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

/* A number from reconcile, with its path as a data attribute. */
function figure(path, write = count) {
  return make('span', { 'data-path': path, class: 'num' }, write(at(path)));
}

/* A color by its name in the style sheet, which need not have one for every token class. */
const paint = (color) => `var(${color}, var(--other))`;

function swatch(color) {
  const box = make('span', { class: 'swatch', 'aria-hidden': 'true' });
  box.style.background = paint(color);
  return box;
}

function choice(label, options, onchange) {
  const select = make(
    'select',
    { onchange: () => onchange(select.value) },
    options.map(([value, text]) => make('option', { value }, text)),
  );
  return make('label', { class: 'choice' }, make('span', {}, label), select);
}

function table(headings, rows, caption) {
  const cell = (name) => (value, column) =>
    make(
      name,
      {
        class: headings[column].right ? 'right' : null,
        scope: name === 'th' ? 'col' : null,
      },
      value,
    );
  return make(
    'div',
    { class: 'scroll' },
    make(
      'table',
      {},
      caption ? make('caption', {}, caption) : null,
      make(
        'thead',
        {},
        make(
          'tr',
          {},
          headings.map((heading, column) => cell('th')(heading.name, column)),
        ),
      ),
      make(
        'tbody',
        {},
        rows.map((row) =>
          make(
            'tr',
            { class: row.class },
            row.cells.length === 1
              ? make('th', { colspan: headings.length, scope: 'colgroup' }, row.cells[0])
              : row.cells.map(cell('td')),
          ),
        ),
      ),
    ),
  );
}

/* A tooltip that follows the pointer or the keyboard over a chart; screen readers announce it. */
class Tip {
  constructor(chart) {
    this.chart = chart;
    this.box = make('div', { class: 'tip', role: 'status', hidden: true });
    chart.append(this.box);
  }

  show(x, y, title, lines) {
    this.box.replaceChildren(
      make('strong', {}, title),
      ...lines
        .filter(Boolean)
        .map((line) => (typeof line === 'string' ? make('span', {}, line) : line)),
    );
    this.box.hidden = false;
    const space = this.chart.clientWidth - this.box.offsetWidth - 4;
    this.box.style.left = `${Math.max(4, Math.min(x + 12, space))}px`;
    this.box.style.top = `${y}px`;
  }

  hide() {
    this.box.hidden = true;
  }
}

const whenResized = (element, run) => {
  let width = 0;
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    run(width);
  }).observe(element);
};
