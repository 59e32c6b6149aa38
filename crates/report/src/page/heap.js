// Boxes and arrows: heaps of a run, and abstract heaps.
//
// Boxes stand in columns by their distance from where pointers start, and keep their place while that does not change, so that what moves in a step is what the step moved.

const CHAR = 7.3;
const LINE = 17;

// Boxes: {id, title, lines: [{text, chg}], cls, many, root}. Arrows: {from, line, to, cls, chg}; `line` is the line of the box it starts at.
function layoutGraph(boxes, arrows) {
  const known = new Map(boxes.map((box) => [box.id, box]));
  const next = new Map(boxes.map((box) => [box.id, []]));
  for (const arrow of arrows) if (known.has(arrow.from) && known.has(arrow.to)) next.get(arrow.from).push(arrow.to);
  const depth = new Map();
  const visit = (starts, from) => {
    let open = starts.filter((id) => !depth.has(id));
    for (const id of open) depth.set(id, from);
    while (open.length) {
      const found = [];
      for (const id of open) {
        for (const to of next.get(id)) {
          if (depth.has(to)) continue;
          depth.set(to, depth.get(id) + 1);
          found.push(to);
        }
      }
      open = found;
    }
  };
  visit(boxes.filter((box) => box.root === 'shared').map((box) => box.id), 0);
  visit(boxes.filter((box) => box.root && box.root !== 'shared').map((box) => box.id), 0);
  for (const box of boxes) if (!depth.has(box.id)) visit([box.id], 1);
  const columns = [];
  for (const box of boxes) {
    const d = depth.get(box.id);
    (columns[d] ||= []).push(box);
    const texts = [box.title, ...box.lines.map((line) => line.text)];
    box.w = Math.max(40, ...texts.map((text) => text.length * CHAR + 18));
    box.h = (box.title ? LINE + 3 : 6) + box.lines.length * LINE + 4;
  }
  let x = 8;
  let height = 0;
  const placed = new Map();
  for (const column of columns) {
    if (!column) continue;
    // Beside what points to it.
    const wish = (box) => {
      const from = arrows.filter((arrow) => arrow.to === box.id && placed.has(arrow.from)).map((arrow) => placed.get(arrow.from).y);
      return from.length ? Math.min(...from) : 0;
    };
    if (placed.size) column.sort((a, b) => wish(a) - wish(b));
    let y = 8;
    let wide = 0;
    for (const box of column) {
      box.x = x;
      box.y = Math.max(y, placed.size ? Math.min(wish(box), y + 40) : y);
      y = box.y + box.h + 14;
      wide = Math.max(wide, box.w);
      placed.set(box.id, box);
    }
    height = Math.max(height, y);
    x += wide + 46;
  }
  return { width: Math.max(x - 30, 60), height: height + 14 };
}

// Boxes in one row, in the order in which links lead on; for abstract heaps, where anything may lead anywhere.
function layoutRow(boxes, arrows) {
  const next = new Map(boxes.map((box) => [box.id, []]));
  for (const arrow of arrows) if (next.has(arrow.from) && next.has(arrow.to) && arrow.from !== arrow.to) next.get(arrow.from).push(arrow);
  // Certain links first: they make the row.
  for (const list of next.values()) list.sort((a, b) => (a.cls || '').includes('may') - (b.cls || '').includes('may'));
  const seen = new Set();
  const order = [];
  const visit = (id) => {
    if (seen.has(id)) return;
    seen.add(id);
    for (const arrow of [...next.get(id)].reverse()) visit(arrow.to);
    order.push(id);
  };
  for (const box of boxes) visit(box.id);
  order.reverse();
  const rank = new Map(order.map((id, k) => [id, k]));
  boxes.sort((a, b) => (a.last || 0) - (b.last || 0) || rank.get(a.id) - rank.get(b.id));
  let x = 8;
  let tall = 0;
  for (const box of boxes) {
    const texts = [box.title, ...box.lines.map((line) => line.text)];
    box.w = Math.max(40, ...texts.map((text) => text.length * CHAR + 18));
    box.h = LINE + 7 + box.lines.length * LINE;
    tall = Math.max(tall, box.h);
  }
  boxes.forEach((box, k) => {
    box.x = x;
    box.k = k;
    x += box.w + 44;
  });
  const farthest = (sign) => Math.max(0, ...arrows.map((arrow) => {
    const a = boxes.find((box) => box.id === arrow.from);
    const b = boxes.find((box) => box.id === arrow.to);
    return a && b && Math.sign(b.k - a.k) === sign ? Math.abs(b.k - a.k) : 0;
  }));
  const top = 16 + Math.max(0, farthest(1) - 1) * 24;
  for (const box of boxes) box.y = top + (tall - box.h) / 2;
  return { width: x - 24, height: top + tall + 18 + farthest(-1) * 24 + 12 };
}

// An arrow of a row: straight to the neighbour, over the boxes further on, under them back.
function rowArrow(a, b, nth) {
  const slip = nth * 7;
  if (a === b) return `M${a.x + a.w - 16 - slip},${a.y + a.h} c4,20 -26,20 -22,2`;
  if (b.k === a.k + 1) return `M${a.x + a.w},${a.y + a.h / 2 + slip} L${b.x - 2},${b.y + b.h / 2 + slip}`;
  const far = Math.abs(b.k - a.k);
  const up = b.k > a.k;
  const lift = (up ? -1 : 1) * ((up ? far - 1 : far) * 24 + slip);
  const sx = up ? a.x + a.w - 12 - slip : a.x + 14 + slip;
  const tx = up ? b.x + 12 + slip : b.x + b.w - 14 - slip;
  const sy = up ? a.y : a.y + a.h;
  const ty = up ? b.y - 2 : b.y + b.h + 2;
  const bend = (up ? Math.min(sy, ty) : Math.max(sy, ty)) + lift;
  return `M${sx},${sy} C${sx + (up ? 10 : -10)},${bend} ${tx + (up ? -10 : 10)},${bend} ${tx},${ty}`;
}

let graphs = 0;

// Draws, or moves what is drawn already, in `svg`.
function drawGraph(svg, boxes, arrows, label, inRow = false) {
  const { width, height } = inRow ? layoutRow(boxes, arrows) : layoutGraph(boxes, arrows);
  if (!svg.dataset.number) svg.dataset.number = String(++graphs);
  const marker = `head${svg.dataset.number}`;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  const old = new Map([...svg.querySelectorAll('g.at')].map((g) => [g.dataset.id, g]));
  const groups = [];
  const known = new Map();
  for (const box of boxes) {
    known.set(box.id, box);
    const fresh = svgEl('g', { class: `at ${box.cls || ''}`, 'data-id': box.id });
    const before = old.get(String(box.id));
    if (before) fresh.style.transform = before.style.transform;
    const go = `translate(${box.x}px, ${box.y}px)`;
    if (before) requestAnimationFrame(() => { fresh.style.transform = go; });
    else fresh.style.transform = go;
    if (box.many) fresh.append(svgEl('rect', { class: 'behind', x: 5, y: -5, width: box.w, height: box.h, rx: 6 }));
    fresh.append(svgEl('rect', { class: box.root ? (box.root === 'shared' ? 'root' : 'lroot') : 'box', width: box.w, height: box.h, rx: box.root ? 11 : 6 }));
    if (box.duo) fresh.append(svgEl('rect', { class: 'inner', x: 3, y: 3, width: box.w - 6, height: box.h - 6, rx: 4 }));
    let y = LINE - 2;
    if (box.title) {
      fresh.append(svgEl('text', { x: 9, y, class: box.root ? '' : 'soft' }, `\u2068${box.title}\u2069`));
      y += LINE + 1;
    } else y = LINE;
    for (const line of box.lines) {
      fresh.append(svgEl('text', { x: 9, y, class: line.chg ? 'mark' : '' }, `\u2068${line.chg ? '● ' : ''}${line.text}\u2069`));
      y += LINE;
    }
    groups.push(fresh);
  }
  const paths = [];
  const twice = new Map();
  for (const arrow of arrows) {
    const a = known.get(arrow.from);
    const b = known.get(arrow.to);
    if (!a || !b) continue;
    const sx = a.x + a.w;
    const sy = a.y + (arrow.line === undefined ? a.h / 2 : (a.title ? LINE + 3 : 6) + arrow.line * LINE + LINE / 2);
    const pair = `${arrow.from} ${arrow.to}`;
    const nth = twice.get(pair) || 0;
    twice.set(pair, nth + 1);
    let d;
    if (inRow) {
      d = rowArrow(a, b, nth);
    } else if (b.x > a.x + a.w) {
      const ty = b.y + Math.min(b.h / 2, 13) + nth * 9;
      const bend = Math.max(22, (b.x - sx) / 2);
      d = `M${sx},${sy} C${sx + bend},${sy} ${b.x - bend},${ty} ${b.x - 2},${ty}`;
      // Around what stands in between.
      const between = boxes.filter((box) => box.x > a.x && box.x + box.w < b.x && box.y - 6 < Math.max(sy, ty) && box.y + box.h + 6 > Math.min(sy, ty));
      if (between.length) {
        const below = Math.max(...between.map((box) => box.y + box.h)) + 14 + nth * 8;
        const from = Math.min(...between.map((box) => box.x));
        const to = Math.max(...between.map((box) => box.x + box.w));
        d = `M${sx},${sy} C${sx + 20},${sy} ${from - 24},${below} ${from + 6},${below} L${to - 6},${below} C${to + 24},${below} ${b.x - 24},${b.y + b.h - 8} ${b.x - 2},${b.y + b.h - 8}`;
      }
    } else if (a === b) {
      d = `M${sx},${sy} C${sx + 36},${sy - 10} ${sx + 36},${a.y + a.h + 22} ${a.x + a.w - 12},${a.y + a.h + 2}`;
    } else {
      const below = Math.max(a.y + a.h, b.y + b.h) + 16 + nth * 8;
      const tx = b.x + b.w / 2 + nth * 10;
      d = `M${sx},${sy} C${sx + 34},${sy} ${sx + 30},${below} ${(sx + tx) / 2},${below} S${tx},${below} ${tx},${b.y + b.h + 2}`;
    }
    paths.push(svgEl('path', { class: `edge ${arrow.cls || ''}${arrow.chg ? ' chgd' : ''}`, d, 'marker-end': `url(#${marker})` }));
  }
  const head = svgEl('marker', { id: marker, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse' }, svgEl('path', { d: 'M0,0 L8,4 L0,8 z', fill: 'context-stroke' }));
  svg.replaceChildren(svgEl('defs', {}, head), ...groups, ...paths);
}

// What a memory looks like, and what is new in it since `before`.
function memoryGraph(memory, before) {
  const boxes = [];
  const arrows = [];
  const old = new Map((before ? before.nodes || [] : []).map((node) => [node.id, node]));
  const oldVariables = new Map((before ? before.variables : []).map((one) => [one.name, one]));
  for (const one of memory.variables) {
    if (one.to === undefined) continue;
    const was = oldVariables.get(one.name);
    const chg = !!before && (!was || was.to !== one.to);
    const own = one.name.includes('·');
    boxes.push({ id: `v ${one.name}`, title: show(one.name, 24), lines: [], root: own ? 'local' : 'shared' });
    arrows.push({ from: `v ${one.name}`, to: one.to, cls: own ? 'local' : '', chg });
  }
  for (const node of memory.nodes || []) {
    const was = old.get(node.id);
    const lines = node.fields.map((field, k) => {
      const chg = !!before && !!was && (was.fields[k] || {}).value !== field.value;
      if (field.to !== undefined) arrows.push({ from: node.id, line: k, to: field.to, chg: !!before && (!was || chg) });
      return { text: `${show(field.name, 16)} ${field.to !== undefined ? '•' : show(field.value, 24)}`, chg };
    });
    const cls = [!was && before ? 'new' : '', lines.some((line) => line.chg) || (was && !!was.freed !== !!node.freed) ? 'chgd' : '', node.freed ? 'freed' : ''].join(' ');
    boxes.push({ id: node.id, title: `#${node.id}${node.kind ? ` ${show(node.kind, 16)}` : ''}${node.freed ? ' freed' : ''}${!was && before ? ' new' : ''}`, lines, cls });
  }
  return { boxes, arrows };
}
