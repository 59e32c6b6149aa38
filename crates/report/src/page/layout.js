// Where bars lie: from columns of numbers to places on a line.
//
// Two scales. By *order* distances mean nothing: events are as close as labels allow, and two bars overlap iff the operations do in time. By *time* distances are those of the stamps.

const GAP = 2;
const WIDEST = 34;

// A history as the page uses it: typed arrays, and texts by number.
function decodeHistory(data) {
  const n = data.lane.length;
  const call = new Float64Array(n);
  const ret = new Float64Array(n);
  const point = data.point && data.point.length ? new Float64Array(n) : null;
  let at = 0;
  for (let i = 0; i < n; i++) {
    at += data.call[i];
    call[i] = at;
    ret[i] = data.length[i] < 0 ? Infinity : at + data.length[i];
    if (point) point[i] = data.point[i] < 0 ? NaN : at + data.point[i];
  }
  const core = new Uint8Array(n);
  for (const i of data.core) core[i] = 1;
  return {
    n, call, ret, point, core,
    lanes: data.lanes, texts: data.texts, base: data.base, lane: Int32Array.from(data.lane),
    name: data.name, arg: data.arg, result: data.result, key: data.key && data.key.length ? data.key : null,
    severalKeys: !!data.key && data.key.some((key) => key !== data.key[0]),
    coreCount: data.core.length, impossible: data.impossible === undefined ? -1 : data.impossible,
    reason: data.reason || '', leftOut: data.left_out || 0, start: data.start || '', orders: data.orders,
  };
}

// `enqueue 7`, `dequeue → 7`; `x: put 7` where there are several objects.
function labelOf(h, i, most = 60) {
  let text = (h.severalKeys ? `${show(h.texts[h.key[i]], most)}: ` : '') + show(h.texts[h.name[i]], most);
  if (h.arg[i]) text += ` ${show(h.texts[h.arg[i]], most)}`;
  if (h.result[i]) text += ` → ${show(h.texts[h.result[i]], most)}`;
  return text;
}

// How wide a label is, in columns; cheap, since it is asked of every bar.
function labelWidth(h, i) {
  let wide = h.texts[h.name[i]].length + 3;
  if (h.severalKeys) wide += 2 + h.texts[h.key[i]].length;
  if (h.arg[i]) wide += 1 + h.texts[h.arg[i]].length;
  if (h.result[i]) wide += 3 + h.texts[h.result[i]].length;
  return Math.min(wide, WIDEST);
}

// The stamp as it was given, where it is known.
function stampOf(h, offset) {
  if (h.base === '' || h.base === undefined) return '';
  try {
    return (BigInt(h.base) + BigInt(offset)).toString();
  } catch {
    return String(offset);
  }
}

// Bars `which` (numbers in order of call) by order: left and right end of each, in columns.
function layoutByOrder(h, which) {
  const left = new Float64Array(h.n);
  const right = new Float64Array(h.n);
  const returns = Uint32Array.from(which.filter((i) => h.ret[i] !== Infinity));
  returns.sort((a, b) => h.ret[a] - h.ret[b] || a - b);
  const done = new Uint8Array(h.n);
  const laneEnd = new Float64Array(h.lanes.length).fill(-GAP);
  const laneLast = new Int32Array(h.lanes.length).fill(-1);
  let column = 0;
  let last = -1;
  let lastKind = -1;
  const on = (stamp, kind) => {
    if (last >= 0 && (stamp !== last || kind !== lastKind)) column += 1;
    last = stamp;
    lastKind = kind;
  };
  const back = (i) => {
    if (done[i]) return;
    done[i] = 1;
    on(h.ret[i], 1);
    column = Math.max(column, left[i] + labelWidth(h, i));
    right[i] = column;
    laneEnd[h.lane[i]] = column;
  };
  const invoke = (i) => {
    const lane = h.lane[i];
    on(h.call[i], 0);
    column = Math.max(column, laneEnd[lane] + GAP);
    left[i] = column;
    laneEnd[lane] = column + labelWidth(h, i);
    laneLast[lane] = i;
  };
  let c = 0;
  let r = 0;
  while (c < which.length || r < returns.length) {
    if (c < which.length && (r >= returns.length || h.call[which[c]] <= h.ret[returns[r]])) {
      let end = c + 1;
      while (end < which.length && h.call[which[end]] === h.call[which[c]]) end++;
      // A process has returned from its last operation before it calls the next, at whatever stamp; calls at that stamp by others overlap both, and come first.
      const late = [];
      for (; c < end; c++) {
        const before = laneLast[h.lane[which[c]]];
        if (before >= 0 && !done[before] && h.ret[before] !== Infinity) late.push(which[c]);
        else invoke(which[c]);
      }
      for (const i of late) {
        back(laneLast[h.lane[i]]);
        invoke(i);
      }
    } else {
      back(returns[r++]);
    }
  }
  for (const i of which) {
    if (h.ret[i] === Infinity) {
      right[i] = Math.max(column + 3, left[i] + labelWidth(h, i));
    }
  }
  let end = column;
  for (const i of which) if (right[i] > end) end = right[i];
  return { left, right, end };
}

// The same by time: the usual operation is about as wide as a label.
function layoutByTime(h, which) {
  const left = new Float64Array(h.n);
  const right = new Float64Array(h.n);
  let first = Infinity;
  let last = 0;
  const lengths = [];
  for (const i of which) {
    first = Math.min(first, h.call[i]);
    last = Math.max(last, h.call[i], h.ret[i] === Infinity ? 0 : h.ret[i]);
    if (h.ret[i] !== Infinity) lengths.push(h.ret[i] - h.call[i]);
  }
  lengths.sort((a, b) => a - b);
  const usual = Math.max(lengths[lengths.length >> 1] || 1, 1e-9);
  const scale = Math.min(14 / usual, 5e6 / Math.max(last - first, 1));
  for (const i of which) {
    left[i] = (h.call[i] - first) * scale;
    right[i] = h.ret[i] === Infinity ? (last - first) * scale + 4 : (h.ret[i] - first) * scale;
  }
  return { left, right, end: (last - first) * scale, first, scale };
}

// Bars of each lane, in order of call.
function byLane(h, which) {
  const lanes = h.lanes.map(() => []);
  for (const i of which) lanes[h.lane[i]].push(i);
  return lanes;
}

// Where the operations of an order take effect: one point in each bar, from left to right, spread where several would fall together. Orders of several objects are
// apart from one another. Not a number where an operation is not in the order.
function pointsOf(h, order, layout) {
  const points = new Float64Array(h.n).fill(NaN);
  const groups = new Map();
  for (const i of order.bars) {
    const key = h.key ? h.key[i] : 0;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(i);
  }
  for (const bars of groups.values()) {
    const early = new Float64Array(bars.length);
    const late = new Float64Array(bars.length);
    let at = -Infinity;
    for (let k = 0; k < bars.length; k++) early[k] = at = Math.max(at, layout.left[bars[k]]);
    at = Infinity;
    for (let k = bars.length - 1; k >= 0; k--) late[k] = at = Math.min(at, layout.right[bars[k]]);
    let k = 0;
    while (k < bars.length) {
      let end = k + 1;
      while (end < bars.length && early[end] === early[k]) end++;
      const upto = Math.min(late[k], end < bars.length ? early[end] : Infinity, early[k] + 6 * (end - k));
      const room = Math.max(0, (Math.min(upto, late[end - 1]) - early[k]) / (end - k + 1));
      for (let j = k; j < end; j++) points[bars[j]] = Math.min(early[k] + room * (j - k + 1), late[j]);
      k = end;
    }
  }
  return points;
}
