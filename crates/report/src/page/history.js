// Bars in lanes on a canvas. Only what is visible is drawn, so that a hundred thousand operations move as lightly as ten.

const LANE = 40;
const BAR = 24;
const COLUMN = 7.25;
const HUES = [215, 145, 280, 30, 185, 330, 95, 250];

class HistoryPart {
  constructor(data) {
    this.h = decodeHistory(data);
    const h = this.h;
    this.small = h.coreCount > 0 && h.coreCount < h.n;
    this.mode = this.small ? 'core' : 'all';
    this.scale = 'order';
    this.filter = { lane: '', key: '', name: '', text: '' };
    this.order = h.orders.length ? 0 : -1;
    this.placed = h.orders.length && h.n <= 2000 ? h.orders[0].bars.length : 0;
    this.selected = -1;
    this.hovered = -1;
    this.build();
    this.arrange();
    this.open();
    this.select(h.impossible, true);
    themeListeners.push(() => this.later());
    new ResizeObserver(() => { this.measure(); this.later(); }).observe(this.stage);
    this.draw();
  }

  build() {
    const h = this.h;
    const lead = h.impossible >= 0
      ? 'Time flows to the right. A bar is an operation from its call to its return; two bars that overlap may take effect in either order. The operation marked ✗ finds no place.'
      : 'Time flows to the right. A bar is an operation from its call to its return; a diamond is where it takes effect.';
    const part = section('history', 'History', lead);
    const tools = el('div', { class: 'tools', role: 'toolbar', 'aria-label': 'How to draw the history' });
    if (this.small) {
      tools.append(choice('Which operations', [['core', `These ${h.coreCount}`], ['all', `All ${h.n.toLocaleString('en')}`]], this.mode, (mode) => {
        this.mode = mode;
        this.arrange();
        this.open();
        this.later();
      }));
    }
    tools.append(choice('Scale', [['order', 'By order'], ['time', 'By time']], this.scale, (scale) => {
      this.scale = scale;
      this.arrange();
      this.open();
      this.later();
    }));
    const zoom = (factor) => () => this.zoom(factor, this.width / 2);
    tools.append(el('span', { class: 'group', role: 'group', 'aria-label': 'Zoom' },
      el('button', { type: 'button', 'aria-label': 'zoom out', click: zoom(1 / 1.5) }, '−'),
      el('button', { type: 'button', 'aria-label': 'zoom in', click: zoom(1.5) }, '+'),
      el('button', { type: 'button', click: () => this.fit() }, 'Fit')));
    if (h.impossible >= 0) tools.append(el('button', { type: 'button', id: 'to-impossible', click: () => this.show(h.impossible) }, '✗ Show the impossible one'));
    const options = (all, list) => [['', all], ...list];
    const narrowed = (what) => (chosen) => { this.filter[what] = chosen; this.arrange(); this.open(); this.later(); };
    if (h.lanes.length > 1) tools.append(select('lane', options('all', h.lanes.slice(0, 500).map((name, i) => [String(i), name])), narrowed('lane')));
    if (h.key) {
      const keys = [...new Set(h.key)].slice(0, 500);
      tools.append(select('key', options('all', keys.map((key) => [String(key), h.texts[key]])), narrowed('key')));
    }
    const names = [...new Set(h.name)];
    if (names.length > 1) tools.append(select('operation', options('all', names.map((name) => [String(name), h.texts[name]])), narrowed('name')));
    const search = el('input', { type: 'search', placeholder: 'value', 'aria-label': 'Only operations with this value', input: () => narrowed('text')(search.value.trim()) });
    tools.append(el('label', {}, 'with', search));
    this.said = el('span', { class: 'said', role: 'status' });
    tools.append(el('span', { class: 'grow' }), this.said);
    this.canvas = el('canvas', { id: 'history-canvas', tabindex: '0', role: 'application', 'aria-label': 'Operations in lanes. Arrow keys go from operation to operation, Enter shows one, plus and minus zoom, Home goes to the impossible one.', 'aria-describedby': 'history-detail' });
    this.cross = el('button', { class: 'cross', type: 'button', id: 'impossible-mark', click: () => { this.select(h.impossible); } }, '✗');
    if (h.impossible >= 0) this.cross.setAttribute('aria-label', `${labelOf(h, h.impossible)}: impossible; show why`);
    this.stage = el('div', { class: 'stage' }, this.canvas, h.impossible >= 0 ? this.cross : null);
    this.mini = el('canvas', { 'aria-hidden': 'true' });
    this.miniBox = el('div', { class: 'stage mini' }, this.mini);
    const hint = el('div', { class: 'hint' }, el('kbd', {}, '← → ↑ ↓'), ' from operation to operation  ', el('kbd', {}, '+'), ' ', el('kbd', {}, '−'), ' zoom  ', el('kbd', {}, 'Shift'), ' + arrows or drag to move  ', el('kbd', {}, '0'), ' fit', h.impossible >= 0 ? [' ', el('kbd', {}, 'Home'), ' the impossible one'] : '');
    part.append(el('div', { class: 'card' }, tools, this.stage, this.miniBox, hint));
    this.detail = el('div', { class: 'card panel', id: 'history-detail' });
    this.orders = el('div', { class: 'card panel', id: 'orders' });
    part.append(el('div', { class: 'under' }, this.detail, h.orders.length ? this.orders : null));
    if (h.orders.length) this.buildOrders();
    this.listen();
  }

  // What is drawn, and where.
  arrange() {
    const h = this.h;
    const { lane, key, name, text } = this.filter;
    const which = [];
    for (let i = 0; i < h.n; i++) {
      if (this.mode === 'core' && !h.core[i]) continue;
      if (lane !== '' && h.lane[i] !== +lane) continue;
      if (key !== '' && h.key[i] !== +key) continue;
      if (name !== '' && h.name[i] !== +name) continue;
      if (text && !h.texts[h.arg[i]].includes(text) && !h.texts[h.result[i]].includes(text)) continue;
      which.push(i);
    }
    this.which = which;
    this.layout = this.scale === 'order' ? layoutByOrder(h, which) : layoutByTime(h, which);
    this.lanes = byLane(h, which);
    this.rows = [];
    this.rowOf = new Int32Array(h.lanes.length).fill(-1);
    this.lanes.forEach((bars, lane) => {
      if (bars.length) {
        this.rowOf[lane] = this.rows.length;
        this.rows.push(lane);
      }
    });
    this.points = this.order >= 0 ? pointsOf(h, { bars: h.orders[this.order].bars.filter((i) => this.isShown(i)) }, this.layout) : new Float64Array(h.n).fill(NaN);
    if (h.point && this.order < 0) this.committed();
    // The number of each operation in the order; -1 where it is not in it.
    this.place = new Int32Array(h.n).fill(-1);
    if (this.order >= 0) h.orders[this.order].bars.forEach((i, k) => { this.place[i] = k; });
    const left = h.leftOut ? `; ${h.leftOut.toLocaleString('en')} more are not in this page` : '';
    this.said.textContent = `${which.length.toLocaleString('en')} of ${count(h.n, 'operation')}${left}`;
    this.miniature = null;
    this.measure();
  }

  isShown(i) {
    return this.mode === 'all' || this.h.core[i] === 1;
  }

  // Commit points that the log gives: drawn where their stamps lie within the bar.
  committed() {
    const h = this.h;
    for (const i of this.which) {
      if (Number.isNaN(h.point[i])) continue;
      const end = h.ret[i] === Infinity ? h.point[i] + 1 : h.ret[i];
      const share = end > h.call[i] ? (h.point[i] - h.call[i]) / (end - h.call[i]) : 0.5;
      this.points[i] = this.layout.left[i] + Math.min(1, share) * (this.layout.right[i] - this.layout.left[i]);
    }
  }

  measure() {
    const width = this.stage.clientWidth || 1000;
    let widest = 4;
    for (const lane of this.rows.slice(0, 2000)) widest = Math.max(widest, Math.min(18, this.h.lanes[lane].length));
    this.margin = Math.min(150, 26 + widest * COLUMN);
    this.width = width - this.margin;
    const room = Math.max(3, Math.floor((innerHeight * 0.46) / LANE));
    this.height = Math.max(2, Math.min(this.rows.length, room)) * LANE + 26;
    const dpr = devicePixelRatio || 1;
    for (const [canvas, height] of [[this.canvas, this.height], [this.mini, 34]]) {
      canvas.width = Math.round(width * dpr);
      canvas.height = Math.round(height * dpr);
      canvas.style.height = `${height}px`;
    }
    const crowded = this.layout.end * COLUMN > this.width * 1.02;
    this.miniBox.hidden = !crowded;
  }

  // The window to start with: everything if it can be read, else what is around the impossible operation.
  open() {
    const h = this.h;
    const fitting = this.width / (this.layout.end + 8);
    this.zoomed = fitting >= COLUMN * 0.8 ? Math.min(fitting, COLUMN * 2.2) : COLUMN;
    this.x = -3;
    this.y = 0;
    if (fitting < COLUMN * 0.8 || this.rows.length * LANE > this.height) {
      const target = h.impossible >= 0 && this.rowOf[h.lane[h.impossible]] >= 0 ? h.impossible : this.which[0];
      if (target !== undefined) this.centre(target);
    }
    this.clamp();
  }

  centre(i) {
    const wide = this.width / this.zoomed;
    const { left, right } = this.layout;
    const long = right[i] - left[i] > wide * 0.8;
    this.x = long ? left[i] - wide * 0.1 : (left[i] + right[i]) / 2 - wide * 0.6;
    // From the first lane on, as long as that shows the operation's.
    const row = this.rowOf[this.h.lane[i]];
    this.y = (row + 1) * LANE <= this.height - 26 ? 0 : row * LANE - (this.height - 26 - LANE) / 2;
    this.clamp();
  }

  clamp() {
    const wide = this.width / this.zoomed;
    this.x = Math.max(-3, Math.min(this.x, Math.max(-3, this.layout.end + 5 - wide)));
    this.y = Math.max(0, Math.min(this.y, this.rows.length * LANE - (this.height - 26)));
    if (this.y < 0) this.y = 0;
  }

  fit() {
    this.zoomed = Math.max(this.width / (this.layout.end + 8), 1e-4);
    this.x = -3;
    this.clamp();
    this.later();
  }

  zoom(factor, at) {
    const column = this.x + at / this.zoomed;
    this.zoomed = Math.max(Math.min(this.zoomed * factor, COLUMN * 12), Math.min(COLUMN, this.width / (this.layout.end + 8)));
    this.x = column - at / this.zoomed;
    this.clamp();
    this.later();
  }

  show(i) {
    if (!this.which.includes(i)) {
      this.filter = { lane: '', key: '', name: '', text: '' };
      for (const box of this.said.parentElement.querySelectorAll('select')) box.value = '';
      this.said.parentElement.querySelector('input').value = '';
      this.arrange();
    }
    if (this.zoomed < COLUMN * 0.6) this.zoomed = COLUMN;
    this.centre(i);
    this.select(i);
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  // The first bar of a lane whose right end is at or beyond a column. Bars of a lane follow one another.
  firstFrom(bars, column, from = 0) {
    let low = from;
    let high = bars.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.layout.right[bars[mid]] < column) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  draw() {
    const { h, canvas, margin, layout } = this;
    const dpr = devicePixelRatio || 1;
    const g = canvas.getContext('2d');
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    const width = this.width + margin;
    g.fillStyle = palette.card;
    g.fillRect(0, 0, width, this.height);
    g.textBaseline = 'middle';
    g.direction = 'ltr';
    const first = Math.max(0, Math.floor(this.y / LANE));
    const last = Math.min(this.rows.length, Math.ceil((this.y + this.height - 26) / LANE) + 1);
    const wide = this.width / this.zoomed;
    g.save();
    g.beginPath();
    g.rect(margin, 0, this.width, this.height);
    g.clip();
    for (let row = first; row < last; row++) {
      const middle = row * LANE - this.y + LANE / 2 + 6;
      g.strokeStyle = palette.hair;
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(margin, middle);
      g.lineTo(width, middle);
      g.stroke();
      this.drawLane(g, this.lanes[this.rows[row]], middle, wide);
    }
    this.drawPoints(g, first, last, wide);
    if (this.scale === 'time') this.drawTicks(g, wide);
    g.restore();
    g.fillStyle = palette.card;
    g.fillRect(0, 0, margin, this.height);
    g.strokeStyle = palette.line;
    g.beginPath();
    g.moveTo(margin - 0.5, 0);
    g.lineTo(margin - 0.5, this.height);
    g.stroke();
    g.font = `600 12px ${palette.sans}`;
    for (let row = first; row < last; row++) {
      const middle = row * LANE - this.y + LANE / 2 + 6;
      g.fillStyle = palette.ink;
      g.fillText(`\u2068${show(h.lanes[this.rows[row]], 16)}\u2069`, 12, middle, margin - 18);
    }
    if (this.rows.length * LANE > this.height - 26) {
      const share = (this.height - 26) / (this.rows.length * LANE);
      g.fillStyle = palette.line;
      g.fillRect(width - 6, 3 + (this.y / (this.rows.length * LANE)) * (this.height - 8), 4, Math.max(14, share * (this.height - 8)));
    }
    this.putCross();
    this.drawMini();
    if (!this.drawn) {
      this.drawn = true;
      performance.mark('linpoint-drawn');
    }
    this.frames = (this.frames || 0) + 1;
  }

  drawLane(g, bars, middle, wide) {
    const { h, layout, margin, zoomed } = this;
    const crowd = zoomed < COLUMN * 0.25;
    let k = this.firstFrom(bars, this.x);
    g.font = `12px ${palette.mono}`;
    while (k < bars.length) {
      const i = bars[k];
      if (layout.left[i] > this.x + wide) break;
      const from = margin + (layout.left[i] - this.x) * zoomed;
      const to = margin + (layout.right[i] - this.x) * zoomed;
      if (crowd && i !== h.impossible && !h.core[i]) {
        // Bars too small to be told apart are one stroke.
        g.fillStyle = palette['bar-line'];
        g.fillRect(from, middle - 7, Math.max(1, to - from - 0.5), 14);
        if (to - from < 1) {
          k = Math.max(k + 1, this.firstFrom(bars, this.x + (from + 1.5 - margin) / zoomed, k + 1));
          continue;
        }
      } else {
        this.drawBar(g, i, from, Math.max(to, from + 2), middle);
      }
      k++;
    }
  }

  drawBar(g, i, from, to, middle) {
    const { h } = this;
    const pending = h.ret[i] === Infinity;
    const bad = i === h.impossible;
    const far = this.mode === 'all' && h.coreCount > 0 && !h.core[i];
    const step = this.stepOf(i);
    const top = middle - BAR / 2;
    const visibleFrom = Math.max(from, this.margin - 4);
    const visibleTo = Math.min(to, this.margin + this.width + 4);
    const dark = document.documentElement.dataset.theme === 'dark';
    const hue = HUES[h.name[i] % HUES.length];
    const shape = new Path2D();
    if (pending) {
      shape.moveTo(to, top);
      shape.lineTo(from + 4, top);
      shape.quadraticCurveTo(from, top, from, top + 4);
      shape.lineTo(from, top + BAR - 4);
      shape.quadraticCurveTo(from, top + BAR, from + 4, top + BAR);
      shape.lineTo(to, top + BAR);
    } else {
      shape.roundRect(from, top, to - from, BAR, Math.min(5, (to - from) / 2));
    }
    if (bad) g.fillStyle = palette['bad-soft'];
    else if (far) g.fillStyle = palette['bar-far'];
    else g.fillStyle = dark ? `hsl(${hue} 34% 24%)` : `hsl(${hue} 55% 92%)`;
    g.fill(shape);
    if (bad && to - from > 6) this.hatch(g, visibleFrom, top, visibleTo - visibleFrom, BAR);
    g.lineWidth = bad ? 2.5 : step === 'now' ? 2.2 : 1.2;
    if (bad || step === 'stuck') g.strokeStyle = palette.bad;
    else if (far) g.strokeStyle = palette['bar-far-line'];
    else g.strokeStyle = dark ? `hsl(${hue} 45% 62%)` : `hsl(${hue} 38% 45%)`;
    g.setLineDash(pending ? [5, 4] : step === 'later' ? [3, 3] : []);
    g.stroke(shape);
    g.setLineDash([]);
    if (i === this.selected || i === this.hovered) {
      g.lineWidth = i === this.selected ? 3 : 2;
      g.strokeStyle = palette.focus;
      g.beginPath();
      g.roundRect(from - 3, top - 3, to - from + 6, BAR + 6, 7);
      g.stroke();
    }
    const room = visibleTo - visibleFrom - 12;
    if (room > 14) {
      const fits = Math.floor(room / 7.25);
      let text = labelOf(h, i, 48);
      if (text.length > fits) text = fits > 2 ? `${text.slice(0, fits - 1)}…` : '';
      g.fillStyle = bad ? palette.bad : far ? palette.soft : palette.ink;
      g.font = `${bad ? 'bold ' : ''}12px ${palette.mono}`;
      const wide = g.measureText(text).width;
      const x = Math.max(visibleFrom + 6, Math.min((visibleFrom + visibleTo - wide) / 2, visibleTo - 6 - wide));
      if (bad) {
        // The hatching does not run through the text.
        g.lineWidth = 5;
        g.lineJoin = 'round';
        g.strokeStyle = palette['bad-soft'];
        g.strokeText(`\u2068${text}\u2069`, x, middle + 0.5);
      }
      g.fillText(`\u2068${text}\u2069`, x, middle + 0.5);
      if (this.h.n <= 400 && this.scale === 'order' && this.zoomed > COLUMN * 0.6) this.drawStamps(g, i, from, to, top + BAR + 7);
    }
  }

  drawStamps(g, i, from, to, y) {
    const { h } = this;
    const call = stampOf(h, h.call[i]);
    const ret = h.ret[i] === Infinity ? '' : stampOf(h, h.ret[i]);
    g.font = `10px ${palette.mono}`;
    if ((call.length + ret.length + 1) * 6.1 > to - from || call.length > 10) return;
    g.fillStyle = palette.soft;
    g.fillText(call, from, y);
    g.fillText(ret, to - g.measureText(ret).width, y);
  }

  hatch(g, x, y, width, height) {
    g.save();
    g.beginPath();
    g.rect(x, y, width, height);
    g.clip();
    g.strokeStyle = palette.bad;
    g.globalAlpha = 0.22;
    g.lineWidth = 2;
    g.beginPath();
    for (let at = x - height - (x % 8); at < x + width; at += 8) {
      g.moveTo(at, y + height);
      g.lineTo(at + height, y);
    }
    g.stroke();
    g.restore();
  }

  // Where an operation stands in the order that is stepped through.
  stepOf(i) {
    if (this.order < 0 || this.h.n > 2000) return '';
    const k = this.place[i];
    if (k < 0) {
      const order = this.h.orders[this.order];
      return this.placed >= order.bars.length && (order.next || []).some((next) => next.bar === i) ? 'stuck' : 'later';
    }
    return k === this.placed - 1 ? 'now' : k < this.placed ? 'placed' : 'later';
  }

  drawPoints(g, first, last, wide) {
    const { h, margin } = this;
    if (this.zoomed < COLUMN * 0.25) return;
    const at = (i) => [margin + (this.points[i] - this.x) * this.zoomed, this.rowOf[h.lane[i]] * LANE - this.y + LANE / 2 + 6 + (this.order >= 0 ? -BAR / 2 - 1 : BAR / 2 + 1)];
    const order = this.order >= 0 ? h.orders[this.order].bars : null;
    if (order && h.n <= 2000) {
      g.strokeStyle = palette.accent;
      g.globalAlpha = 0.55;
      g.lineWidth = 1.5;
      g.beginPath();
      let before = null;
      for (const i of order.slice(0, this.placed)) {
        if (Number.isNaN(this.points[i]) || this.rowOf[h.lane[i]] < 0) continue;
        const [x, y] = at(i);
        if (before && (!h.key || h.key[before] === h.key[i])) g.lineTo(x, y);
        else g.moveTo(x, y);
        before = i;
      }
      g.stroke();
      g.globalAlpha = 1;
    }
    for (let row = first; row < last; row++) {
      const bars = this.lanes[this.rows[row]];
      for (let k = this.firstFrom(bars, this.x); k < bars.length && this.layout.left[bars[k]] <= this.x + wide; k++) {
        const i = bars[k];
        if (Number.isNaN(this.points[i])) continue;
        const step = this.stepOf(i);
        if (step === 'later') continue;
        const [x, y] = at(i);
        const size = step === 'now' ? 7 : 5;
        g.fillStyle = palette.accent;
        g.strokeStyle = palette.card;
        g.lineWidth = 1.5;
        g.beginPath();
        g.moveTo(x, y - size);
        g.lineTo(x + size, y);
        g.lineTo(x, y + size);
        g.lineTo(x - size, y);
        g.closePath();
        g.fill();
        g.stroke();
        if (order && h.n <= 2000) {
          g.font = `bold 10px ${palette.sans}`;
          g.fillText(String(this.place[i] + 1), x + size + 2, y - 3);
        }
      }
    }
  }

  drawTicks(g, wide) {
    const { first, scale } = this.layout;
    const span = wide / scale;
    const unit = 10 ** Math.floor(Math.log10(Math.max(span / 5, 1)));
    const step = span / unit > 25 ? unit * 5 : span / unit > 10 ? unit * 2 : unit;
    g.font = `10px ${palette.mono}`;
    g.fillStyle = palette.soft;
    g.strokeStyle = palette.line;
    const from = Math.ceil((first + this.x / scale) / step) * step;
    for (let at = from; at < first + (this.x + wide) / scale; at += step) {
      const x = this.margin + ((at - first) * scale - this.x) * this.zoomed;
      g.beginPath();
      g.moveTo(x, this.height - 12);
      g.lineTo(x, this.height - 18);
      g.stroke();
      g.fillText(stampOf(this.h, Math.max(0, Math.round(at))), x + 2, this.height - 7);
    }
  }

  putCross() {
    const i = this.h.impossible;
    if (i < 0) return;
    const row = this.rowOf[this.h.lane[i]];
    const from = this.margin + (this.layout.left[i] - this.x) * this.zoomed;
    const to = this.margin + (this.layout.right[i] - this.x) * this.zoomed;
    const y = row * LANE - this.y + LANE / 2 + 6;
    const hidden = row < 0 || !this.which.length || to < this.margin || from > this.margin + this.width || y < 0 || y > this.height - 12;
    this.cross.hidden = hidden;
    if (hidden) return;
    this.cross.style.left = `${Math.min(to - 6, this.margin + this.width - 26)}px`;
    this.cross.style.top = `${y - BAR / 2 - 12}px`;
  }

  drawMini() {
    if (this.miniBox.hidden) return;
    const dpr = devicePixelRatio || 1;
    const g = this.mini.getContext('2d');
    const wide = this.width / (this.layout.end + 8);
    const theme = document.documentElement.dataset.theme;
    if (!this.miniature || this.miniature.theme !== theme || this.miniature.width !== this.width) {
      const many = new Float32Array(Math.ceil(this.width) + 1);
      for (const i of this.which) many[Math.min(many.length - 1, Math.floor((this.layout.left[i] + 3) * wide))] += 1;
      let most = 1;
      for (const n of many) if (n > most) most = n;
      const picture = document.createElement('canvas');
      picture.width = this.mini.width;
      picture.height = this.mini.height;
      const p = picture.getContext('2d');
      p.setTransform(dpr, 0, 0, dpr, 0, 0);
      p.fillStyle = palette['bar-line'];
      many.forEach((n, x) => { if (n) p.fillRect(this.margin + x, 30 - (n / most) * 22, 1, (n / most) * 22 + 1); });
      p.fillStyle = palette.bad;
      for (const i of this.which) if (isMarked(this.h, i)) p.fillRect(this.margin + (this.layout.left[i] + 3) * wide - 1, 3, i === this.h.impossible ? 3 : 1.5, i === this.h.impossible ? 29 : 10);
      p.font = `11px ${palette.sans}`;
      p.fillStyle = palette.soft;
      p.fillText('all of it', 12, 21);
      this.miniature = { picture, theme, width: this.width };
    }
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.fillStyle = palette.page;
    g.fillRect(0, 0, this.mini.width, this.mini.height);
    g.drawImage(this.miniature.picture, 0, 0);
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.strokeStyle = palette.focus;
    g.lineWidth = 2;
    const span = Math.max(4, (this.width / this.zoomed) * wide);
    g.strokeRect(this.margin + Math.max(0, (this.x + 3) * wide) + 1, 2, Math.min(span, this.width) - 2, 30);
  }

  // The bar at a place of the canvas.
  at(x, y) {
    const row = Math.floor((y + this.y - 6) / LANE);
    if (x < this.margin || row < 0 || row >= this.rows.length) return -1;
    const column = this.x + (x - this.margin) / this.zoomed;
    const bars = this.lanes[this.rows[row]];
    const slack = 3 / this.zoomed;
    const k = this.firstFrom(bars, column - slack);
    return k < bars.length && this.layout.left[bars[k]] <= column + slack ? bars[k] : -1;
  }

  listen() {
    const { canvas } = this;
    let drag = null;
    canvas.addEventListener('pointerdown', (e) => {
      drag = { x: e.clientX, y: e.clientY, fromX: this.x, fromY: this.y, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener('pointermove', (e) => {
      if (drag) {
        drag.moved ||= Math.abs(e.clientX - drag.x) + Math.abs(e.clientY - drag.y) > 4;
        this.x = drag.fromX - (e.clientX - drag.x) / this.zoomed;
        this.y = drag.fromY - (e.clientY - drag.y);
        this.clamp();
        this.later();
        return;
      }
      const box = canvas.getBoundingClientRect();
      const found = this.at(e.clientX - box.left, e.clientY - box.top);
      if (found !== this.hovered) {
        this.hovered = found;
        canvas.title = found >= 0 ? this.shortly(found) : '';
        this.later();
      }
    });
    canvas.addEventListener('pointerup', (e) => {
      const box = canvas.getBoundingClientRect();
      if (drag && !drag.moved) {
        const found = this.at(e.clientX - box.left, e.clientY - box.top);
        if (found >= 0) this.select(found);
      }
      drag = null;
    });
    canvas.addEventListener('pointercancel', () => { drag = null; });
    canvas.addEventListener('wheel', (e) => {
      const box = canvas.getBoundingClientRect();
      if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(-e.deltaY / 200), e.clientX - box.left - this.margin);
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.x += (e.deltaX || e.deltaY) / this.zoomed;
      else if (this.rows.length * LANE > this.height) this.y += e.deltaY;
      else return;
      e.preventDefault();
      this.clamp();
      this.later();
    }, { passive: false });
    canvas.addEventListener('keydown', (e) => { if (this.key(e)) e.preventDefault(); });
    const jump = (e) => {
      if (!(e.buttons & 1)) return;
      const box = this.mini.getBoundingClientRect();
      const wide = this.width / (this.layout.end + 8);
      this.x = (e.clientX - box.left - this.margin) / wide - 3 - this.width / this.zoomed / 2;
      this.clamp();
      this.later();
    };
    this.mini.addEventListener('pointerdown', jump);
    this.mini.addEventListener('pointermove', jump);
  }

  key(e) {
    const far = this.width / this.zoomed / 6;
    if (e.shiftKey && e.key.startsWith('Arrow')) {
      if (e.key === 'ArrowLeft') this.x -= far;
      if (e.key === 'ArrowRight') this.x += far;
      if (e.key === 'ArrowUp') this.y -= LANE;
      if (e.key === 'ArrowDown') this.y += LANE;
      this.clamp();
      this.later();
      return true;
    }
    switch (e.key) {
      case '+': case '=': this.zoom(1.4, this.width / 2); return true;
      case '-': this.zoom(1 / 1.4, this.width / 2); return true;
      case '0': this.fit(); return true;
      case 'Home': this.show(this.h.impossible >= 0 ? this.h.impossible : this.which[0]); return true;
      case 'End': this.show(this.which[this.which.length - 1]); return true;
      case 'Enter': case ' ': this.select(this.selected); return true;
      case 'ArrowLeft': case 'ArrowRight': case 'ArrowUp': case 'ArrowDown': this.go(e.key.slice(5)); return true;
      default: return false;
    }
  }

  // To the next operation in a direction.
  go(where) {
    const { h, layout } = this;
    if (!this.which.length) return;
    if (this.selected < 0 || this.rowOf[h.lane[this.selected]] < 0) {
      this.reach(this.which[0]);
      return;
    }
    const now = this.selected;
    let row = this.rowOf[h.lane[now]];
    const bars = this.lanes[h.lane[now]];
    const k = bars.indexOf(now);
    if (where === 'Left' && k > 0) this.reach(bars[k - 1]);
    if (where === 'Right' && k + 1 < bars.length) this.reach(bars[k + 1]);
    if (where === 'Up' || where === 'Down') {
      row += where === 'Up' ? -1 : 1;
      if (row < 0 || row >= this.rows.length) return;
      const others = this.lanes[this.rows[row]];
      this.reach(others[Math.min(this.firstFrom(others, layout.left[now]), others.length - 1)]);
    }
  }

  reach(i) {
    const from = (this.layout.left[i] - this.x) * this.zoomed;
    const to = (this.layout.right[i] - this.x) * this.zoomed;
    const y = this.rowOf[this.h.lane[i]] * LANE - this.y;
    if (from < 0 || to > this.width || y < 0 || y + LANE > this.height - 20) this.centre(i);
    this.select(i);
  }

  shortly(i) {
    const { h } = this;
    const end = h.ret[i] === Infinity ? 'never returned' : `returned ${stampOf(h, h.ret[i])}`;
    return `${labelOf(h, i)} — ${show(h.lanes[h.lane[i]], 40)}, called ${stampOf(h, h.call[i])}, ${end}`;
  }

  select(i, quiet = false) {
    const { h } = this;
    this.selected = i;
    this.later();
    if (i < 0 || i === undefined) {
      clear(this.detail, el('h3', {}, 'No operation is chosen'), el('p', {}, 'Click a bar, or go there with the arrow keys.'));
      return;
    }
    const rows = [];
    const row = (name, text) => { if (text !== '' && text !== undefined) rows.push(el('dt', {}, name), el('dd', {}, value(text, 4000))); };
    row('called by', h.lanes[h.lane[i]]);
    if (h.key) row('object', h.texts[h.key[i]]);
    row('argument', h.arg[i] ? h.texts[h.arg[i]] : '');
    row('answer', h.ret[i] === Infinity ? 'none: it never returned, and may or may not have taken effect' : h.result[i] ? h.texts[h.result[i]] : 'nothing');
    row('called at', stampOf(h, h.call[i]));
    if (h.ret[i] !== Infinity) row('returned at', stampOf(h, h.ret[i]));
    if (h.point && !Number.isNaN(h.point[i])) row('committed at', stampOf(h, h.point[i]));
    const k = this.place[i];
    const order = this.order >= 0 ? h.orders[this.order] : null;
    if (k >= 0) {
      row('takes effect', `as number ${k + 1} of ${order.bars.length}${h.key ? ' of its object’s order' : ''}`);
      if (order.states && order.states.length > k + 1) {
        row('state before', order.states[k]);
        row('state after', order.states[k + 1]);
      }
    } else if (order) {
      const next = (order.next || []).find((one) => one.bar === i);
      row('takes effect', next ? `nowhere in this order: ${next.why}` : 'nowhere in this order');
    }
    const bad = i === h.impossible;
    clear(this.detail,
      el('h3', {}, value(labelOf(h, i, 200)), bad ? el('span', { class: 'no' }, ' ✗ impossible') : h.core[i] ? el('span', { class: 'sub' }, ' one of those that cannot be explained together') : ''),
      bad ? el('div', { class: 'why', id: 'why' }, el('b', {}, 'Why: '), value(h.reason || 'no order of these operations allows it', 4000)) : '',
      el('dl', {}, rows));
    if (!quiet) announce(`${this.shortly(i)}${bad ? `. Impossible: ${h.reason}` : ''}`);
  }

  buildOrders() {
    const { h } = this;
    const order = h.orders[this.order];
    const title = h.impossible >= 0 ? 'How far it can be explained' : 'An order that explains it';
    const head = el('h3', {}, title, el('span', { class: 'sub' }, h.start ? ` from ${show(h.start, 120)}` : ''));
    const which = h.orders.length > 1 ? select('attempt ', h.orders.map((one, k) => [String(k), `${k + 1}: ${one.title}`]), (k) => {
      this.order = +k;
      this.placed = h.orders[this.order].bars.length;
      this.arrange();
      this.buildOrders();
      this.later();
    }) : el('p', { class: 'sub' }, show(order.title, 200));
    if (h.orders.length > 1) which.querySelector('select').value = String(this.order);
    const many = order.bars.length > 400;
    const list = el('ol', { class: 'order', tabindex: '0', 'aria-label': 'Operations in the order in which they take effect, with the states between' });
    const states = order.states || [];
    const item = (k) => el('li', { 'data-k': k, click: () => { slide.to(k); if (k > 0) this.reach(order.bars[k - 1]); } },
      el('span', { class: 'n' }, k === 0 ? 'start' : k),
      k === 0 ? el('span', {}) : value(labelOf(h, order.bars[k - 1], 60), 120),
      el('span', { class: 'state' }, states[k] === undefined ? '' : value(states[k], 300)));
    const stuck = (order.next || []).map((next) => el('li', { class: 'stuck' }, el('span', { class: 'n' }, '✗'), value(labelOf(h, next.bar, 60), 120), el('span', { class: 'state' }, value(next.why, 300))));
    const mark = (n) => {
      this.placed = n;
      if (many) clear(list, ...Array.from({ length: Math.min(60, order.bars.length + 1 - Math.max(0, n - 30)) }, (_, j) => item(Math.max(0, n - 30) + j)));
      for (const li of list.children) {
        if (li.dataset.k === undefined) {
          li.classList.toggle('later', n < order.bars.length);
          continue;
        }
        const k = +li.dataset.k;
        li.classList.toggle('later', k > n);
        li.classList.toggle('now', k === n);
        if (k === n) li.setAttribute('aria-current', 'step');
        else li.removeAttribute('aria-current');
        if (k === n) list.scrollTop = li.offsetTop - list.offsetTop - list.clientHeight / 2;
      }
      this.later();
    };
    const start = order.bars.length;
    const slide = slider('Operations that have taken effect', start, start, (n) => {
      mark(n);
      if (n > 0) announce(`${n}: ${labelOf(h, order.bars[n - 1])}${states[n] !== undefined ? `, state ${states[n]}` : ''}`);
    }, 'order');
    if (!many) list.append(...Array.from({ length: start + 1 }, (_, k) => item(k)), ...stuck);
    clear(this.orders, head, which, slide.box, list);
    mark(start);
  }
}

function isMarked(h, i) {
  return h.core[i] === 1 || i === h.impossible;
}
