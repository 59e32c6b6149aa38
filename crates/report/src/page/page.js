'use strict';
// What every part of the page uses: elements, texts, the theme, the summary.
//
// Values come from outside. They are put on the page as text only, never as HTML.

const LONG = 400;
const PICTURES = /[\u0000-\u001f\u007f]/g;

// A value for a person: control characters are shown as their pictures, a very long text is cut.
function show(text, most = LONG) {
  let s = String(text);
  const whole = s.length;
  if (whole > most) s = s.slice(0, most);
  s = s.replace(PICTURES, (c) => String.fromCharCode(c === '\u007f' ? 0x2421 : 0x2400 + c.charCodeAt(0)));
  return whole > most ? `${s}… (${whole} characters)` : s;
}

// An element: name, attributes (functions are listeners), children (texts become text nodes that keep their own direction).
function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') made.addEventListener(key, value);
    else if (key === 'class') made.className = value;
    else made.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === '') continue;
    made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return made;
}

// A value as an element of its own, so that its direction does not turn what is around it.
function value(text, most) {
  return el('bdi', {}, show(text, most));
}

function svgEl(name, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, v] of Object.entries(attributes)) if (v !== undefined && v !== null) made.setAttribute(key, v);
  for (const child of children) if (child !== null && child !== undefined) made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return made;
}

// Puts children in place of what an element has.
function clear(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

// Says something to who listens to the page.
function announce(text) {
  document.getElementById('live').textContent = show(text, 300);
}

function count(n, one, many) {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many || one + 's'}`;
}

// Colours of the theme, for what is drawn on a canvas.
let palette = {};
const themeListeners = [];

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['page', 'card', 'ink', 'soft', 'line', 'hair', 'accent', 'accent-soft', 'bad', 'bad-soft', 'good', 'open', 'focus', 'bar', 'bar-line', 'bar-far', 'bar-far-line', 'mono', 'sans']) {
    palette[name] = style.getPropertyValue(`--${name}`).trim();
  }
}

const THEMES = ['as the system', 'light', 'dark'];
const system = matchMedia('(prefers-color-scheme: dark)');

function setTheme(chosen, printing = false) {
  const dark = !printing && (chosen === 'dark' || (chosen !== 'light' && system.matches));
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  document.getElementById('theme').textContent = `Theme: ${chosen}`;
  readPalette();
  for (const listener of themeListeners) listener();
}

function startTheme() {
  let chosen = THEMES[0];
  setTheme(chosen);
  document.getElementById('theme').addEventListener('click', () => {
    chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
    setTheme(chosen);
  });
  system.addEventListener('change', () => setTheme(chosen));
  addEventListener('beforeprint', () => setTheme(chosen, true));
  addEventListener('afterprint', () => setTheme(chosen));
  document.getElementById('print').addEventListener('click', () => print());
}

function startSummary(view) {
  document.body.dataset.verdict = view.verdict;
  document.getElementById('badge').textContent = { holds: '✓', violated: '✗', unknown: '?' }[view.verdict] || '?';
  clear(document.getElementById('word'), value(view.word));
  clear(document.getElementById('headline'), value(view.headline, 600));
  const { checked, rests_on, not_covered, facts = [], again } = view.summary;
  const card = (title, text) => el('div', {}, el('h2', {}, title), el('p', {}, value(text, 1200)));
  const parts = document.getElementById('summary');
  if (checked || rests_on || not_covered) {
    parts.append(el('div', { class: 'cards' }, card('What was checked', checked), card('What the verdict rests on', rests_on), card('What it does not cover', not_covered)));
  }
  const figures = facts.map(([name, figure]) => el('span', {}, `${show(name)} `, el('b', {}, value(figure))));
  if (again) figures.push(el('span', {}, 'once more: ', el('code', {}, value(again, 2000))));
  if (figures.length) parts.append(el('p', { class: 'facts' }, figures));
}

function section(id, title, lead) {
  const part = el('section', { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, title), lead ? el('p', { class: 'lead' }, lead) : null);
  document.getElementById('parts').append(part);
  return part;
}

// Two or more buttons of which one is pressed.
function choice(label, options, chosen, onChoose) {
  const group = el('span', { class: 'group', role: 'group', 'aria-label': label });
  for (const [key, title] of options) {
    group.append(el('button', {
      type: 'button', 'aria-pressed': String(key === chosen), 'data-key': key,
      click: () => {
        for (const other of group.children) other.setAttribute('aria-pressed', String(other.dataset.key === key));
        onChoose(key);
      },
    }, title));
  }
  return group;
}

function select(label, options, onChange) {
  const box = el('select', { change: () => onChange(box.value) }, options.map(([key, title]) => el('option', { value: key }, show(title, 60))));
  return el('label', {}, label, box);
}

// A slider with buttons before and after it. `move(n)` is called with the new place.
function slider(label, most, start, move, name) {
  const range = el('input', { type: 'range', min: 0, max: most, value: start, 'aria-label': label, id: `${name}-slider` });
  const said = el('output', { for: `${name}-slider` });
  const back = el('button', { type: 'button', 'aria-label': 'one back', click: () => to(+range.value - 1) }, '◀');
  const on = el('button', { type: 'button', 'aria-label': 'one on', click: () => to(+range.value + 1) }, '▶');
  function to(n, quiet = false) {
    n = Math.max(0, Math.min(most, n));
    range.value = n;
    back.disabled = n === 0;
    on.disabled = n === most;
    said.textContent = `${n} of ${most}`;
    if (!quiet) move(n);
  }
  range.addEventListener('input', () => to(+range.value));
  to(start, true);
  return { box: el('div', { class: 'slide' }, back, range, on, said), to, place: () => +range.value };
}
