// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers beside the map, as elements; `data-...` names what a row shows.
'use strict';

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

const spell = number => Math.round(number).toLocaleString('en-US').replaceAll(',', '\u202f');
const short = number => number >= 1e6 ? (number / 1e6).toFixed(1) + 'M'
    : number >= 1e4 ? (number / 1e3).toFixed(0) + 'k' : String(Math.round(number));
const percent = (part, whole) => whole ? `${(100 * part / whole).toFixed(part < whole / 100 ? 2 : 1)} %` : '';
const ratio = (measured, predicted) => predicted ? `${(measured / predicted).toFixed(3)}x` : '';

/** Cycles as seconds of the machine, three digits: 207 µs. */
function seconds(cycles, machine) {
  let value = cycles / machine.clock_ghz, unit = 0;
  for (; value >= 999.5 && unit < 3; ++unit) value /= 1000;
  return `${Number(value.toPrecision(3))} ${['ns', 'µs', 'ms', 's'][unit]}`;
}

/** Which color is which kind of kernel, and its share of the predicted cycles. */
function legendOf({launches}, theme) {
  const cycles = new Map();
  for (const {kind, window: [begin, end]} of launches) cycles.set(kind, (cycles.get(kind) ?? 0) + end - begin);
  const all = [...cycles.values()].reduce((sum, its) => sum + its, 0);
  return [...cycles].sort((a, b) => b[1] - a[1]).map(([kind, its]) => element(
      'span', {'data-kind': kind}, swatch(kindColor(kind, theme)), `${kind} ${percent(its, all)}`));
}

function heading(text, more = '') {
  return element('h2', {}, text, element('span', {}, more));
}

/** Rows of cells; numbers stand to the right. `mark(row)` gives attributes. */
function table(heads, rows) {
  const cells = (kind, row) => row.map(cell => element(
      kind, typeof cell === 'number' || /^n:/.test(cell) ? {class: 'n'} : {},
      typeof cell === 'number' ? spell(cell) : cell instanceof Node ? cell : String(cell).replace(/^n:/, '')));
  return element('table', {},
                 element('tr', {}, ...cells('th', heads)),
                 ...rows.map(([attributes, ...row]) => element('tr', attributes, ...cells('td', row))));
}

function swatch(color) { return element('i', {class: 'swatch', style: `background:${color}`}); }

function factsOf({placement, launches, colors, cycles, busyCycles, measured}) {
  const {machine, regions, sram, link_load: loads} = placement;
  const used = regions.reduce((sum, r) => sum + r.columns * r.rows, 0);
  const facts = [['PEs', `${spell(used)} of ${spell(machine.width * machine.height)}`],
                 ['regions', regions.length], ['launches', launches.length],
                 ['cycles, predicted', `${spell(cycles)}, ${seconds(cycles, machine)}`]];
  if (regions[0]?.role === 'stage')
    facts.push(['a sample in the slowest stage, predicted', `${spell(Math.max(...busyCycles))} cycles`]);
  if (measured.report)
    facts.push(['cycles, measured', `${spell(measured.report.cycles.total)}, ${seconds(measured.report.cycles.total, machine)}`]);
  if (colors.size) facts.push(['colors', `${colors.size} of ${machine.colors}`]);
  const fullest = loads?.find(load => load.entry === 'main')?.fullest[0];
  if (fullest) facts.push(['fullest link', `${spell(fullest.words)} words at (${fullest.x}, ${fullest.y})`]);
  if (sram) facts.push(['fullest PE', `${spell(sram.peak_bytes)} of ${spell(sram.limit_bytes)} B`]);
  return facts.map(([what, value]) => element('div', {}, element('dt', {}, what), element('dd', {'data-fact': what}, String(value))));
}

function launchPanel({model, launch, theme}) {
  const kernel = model.launches[launch];
  if (!kernel) return [];
  const {region: r, cost, window: [begin, end]} = kernel;
  const parts = ['compute', 'stream', 'fabric', 'serial'];
  const most = Math.max(1, ...parts.map(part => cost[part]));
  const rows = [
    [{'data-row': 'region'}, 'region', `@${model.placement.regions[kernel.on]?.name}, ${r.columns}x${r.rows} at (${r.x},${r.y})`],
    [{'data-row': 'predicted'}, 'predicted', `${spell(end - begin)} cycles, ${spell(begin)} to ${spell(end)}`],
    [{'data-row': 'cost'}, 'cost', `${spell(cost.cycles)} cycles, ${(cost.cycles / Math.max(1, cost.lower_bound)).toFixed(2)}x of its lower bound`],
  ];
  if (kernel.entry !== 'main') rows.unshift([{'data-row': 'entry'}, 'entry', kernel.entry]);
  if (kernel.measured)
    rows.push([{'data-row': 'measured'}, 'measured',
               `${spell(kernel.measured.cycles)} cycles, ${ratio(kernel.measured.cycles, kernel.moves)} of predicted`]);
  if (kernel.from) rows.push([{'data-row': 'from'}, 'from', `@${kernel.from}`]);
  for (const flow of kernel.flows ?? [])
    rows.push([{'data-row': 'flow'}, '@' + flow.stream, `${spell(flow.words)} words, cycles ${spell(flow.window[0])} to ${spell(flow.window[1])}`]);
  return [
    heading(`launch ${launch}`, element('span', {}, swatch(kindColor(kernel.kind, theme)), kernel.kind)),
    element('p', {class: 'name', 'data-kernel': kernel.index}, kernel.name),
    element('p', {class: 'nodes'}, kernel.onnx_nodes.length > 1 || kernel.onnx_nodes[0] !== kernel.name
        ? kernel.onnx_nodes.join(', ') : ''),
    table([], rows),
    heading('what bounds it', cost.bound),
    element('div', {class: 'bars'}, ...parts.flatMap(part => [
      element('span', {class: 'quiet'}, part),
      element('i', {style: `width:${100 * cost[part] / most}%` + (part === cost.bound ? '' : ';opacity:.4')}),
      element('span', {'data-cost': part}, spell(cost[part]))])),
  ];
}

/** What each region takes for a sample, so that one sees which paces; a run
 *  of several samples says it of stages as it counted (stagesPanel). */
function regionsPanel({model, launch, theme}) {
  const {placement: {regions}, busy, busyCycles, launches, measured} = model;
  if (regions.length < 2 || measured.report?.pipeline) return [];
  const most = Math.max(1, ...busyCycles), on = launches[launch]?.on;
  const title = {stage: 'stages', part: 'parts side by side', code: 'regions, each with its code'}[regions[0].role] ?? 'regions';
  const together = regions[0].role === 'code'
      ? `${spell(busyCycles.reduce((sum, cycles) => sum + cycles))} cycles one after the other`
      : `the slowest takes ${spell(most)} cycles`;
  const order = regions.map((_, i) => i).sort((a, b) => regions[a].y - regions[b].y || regions[a].x - regions[b].x);
  return [
    heading(title, together),
    table(['', 'n:launches', 'n:cycles', '', 'the longest'], order.map(i => {
      const longest = busy[i].reduce((a, b) => a && a.window[1] - a.window[0] >= b.window[1] - b.window[0] ? a : b, null);
      return [{'data-region': regions[i].name, ...(longest ? {'data-launch': longest.launch} : {}),
               class: (busyCycles[i] === most ? 'slowest ' : '') + (i === on ? 'pinned' : '')},
              element('span', {}, swatch(regionColor(i, theme)), `@${regions[i].name} ${regions[i].columns}x${regions[i].rows}`),
              busy[i].length, busyCycles[i],
              element('i', {class: 'share', style: `width:${60 * busyCycles[i] / most}px;background:${regionColor(i, theme)}`}),
              longest?.kind ?? ''];
    })),
  ];
}

function sramPanel(state) {
  const {model, launch, region, theme} = state;
  const {machine, sram, regions} = model.placement;
  if (!sram || !regions[region]) return [];
  const alive = buffersAt(model.buffers[region], launch);
  const total = machine.runtime_bytes + sram.code_bytes + alive.reduce((sum, b) => sum + b.bytes, 0);
  return [
    heading(`SRAM of a PE of @${regions[region].name}`, `${spell(machine.sram_bytes)} bytes`),
    drawSram(model, region, {...state, width: 350}),
    table(['owner', 'what', 'n:address', 'n:bytes'], [
      [{'data-owner': 'runtime'}, 'host runtime', '', 0, machine.runtime_bytes],
      [{'data-owner': 'code'}, 'code', '', machine.runtime_bytes, sram.code_bytes],
      ...alive.map(b => [{title: b.owner.name, ...(b.owner.launch === undefined ? {} : {'data-launch': b.owner.launch}), 'data-buffer': b.what}, element('span', {},
          swatch(kindColor(b.owner.kind, theme)), b.owner.name), b.what, b.address, b.bytes]),
      [{'data-owner': 'sum'}, 'in use in this launch', '', 'n:' + percent(total, machine.sram_bytes), total],
    ]),
  ];
}

function pePanel({model, launch, pe, layers, theme}) {
  const {machine, regions, streams} = model.placement;
  if (!pe) return [];
  const on = regions.find(r => contains(r, pe.x, pe.y));
  const routes = streams.flatMap(stream => stream.routes.filter(r => inRange(r.x, pe.x) && inRange(r.y, pe.y))
      .map(route => ({stream, route}))).sort((a, b) => a.route.color - b.route.color);
  const i = pe.y * machine.width + pe.x;
  const parts = [heading(`PE (${pe.x}, ${pe.y})`, on ? `@${on.name}, column ${pe.x - on.x}, row ${pe.y - on.y}` : machine.keep_outs.some(out => contains(out, pe.x, pe.y)) ? 'kept out' : 'no code')];
  if (routes.length)
    parts.push(table(['color', 'stream', 'from', 'to'], routes.map(({stream, route}) => [
      {'data-route': route.color}, element('span', {}, swatch(wireColor(route.color, theme)), String(route.color)),
      '@' + stream.name, route.receive, route.transmit.join(', ')])));
  const made = layers.filter(layer => layer.make).map(layer => layer.make(launch));
  const links = made.filter(layer => layer.links);
  if (links.length)
    parts.push(table(['links out', ...ports.map(port => 'n:' + port)], links.map(layer => [
      {'data-links': layer.name}, layer.label, ...ports.map(port => layer.links[port][i])])));
  const counted = made.filter(layer => !layer.links);
  if (counted.length)
    parts.push(table(['counted', 'n:' + '', ''], counted.map(layer => [
      {'data-counter': layer.name}, layer.label.replace(', measured', ''), layer.values[i], layer.unit])));
  return parts;
}

function stagesPanel({pipeline}) {
  if (!pipeline) return [];
  return [
    heading('stages', `a sample every ${spell(pipeline.cycles_per_sample)} cycles, ${spell(pipeline.predicted_cycles_per_sample)} predicted`),
    table(['', 'n:predicted', 'n:cycles', '', 'n:per second', 'n:latency'], pipeline.stages.map((stage, number) => {
      const [x0, y0, x1, y1] = stage.region;
      return [{'data-stage': number}, `${x1 - x0}x${y1 - y0} at (${x0},${y0})`, stage.predicted_cycles, stage.cycles,
              ratio(stage.cycles, stage.predicted_cycles), stage.samples_per_second, stage.latency_cycles];
    })),
  ];
}

function measuredPanel({model}) {
  const {report} = model.measured;
  if (!report) return [];
  const rows = [...model.measuredLaunches].sort(
      (a, b) => Math.abs(b.measured.cycles - b.moves) - Math.abs(a.measured.cycles - a.moves));
  const predicted = rows.reduce((end, kernel) => Math.max(end, kernel.window[1]), 0), most = 8;
  return [
    heading('predicted against measured', report.cycles.engine),
    element('p', {'data-row': 'total'},
            `${spell(predicted)} predicted, ${spell(report.cycles.total)} measured: ${ratio(report.cycles.total, predicted)}`),
    table(['farthest apart', 'n:predicted', 'n:measured', ''], rows.slice(0, most).map(kernel => [
      {'data-launch': kernel.launch}, kernel.name, kernel.moves, kernel.measured.cycles,
      ratio(kernel.measured.cycles, kernel.moves)])),
    ...stagesPanel(report),
  ];
}

/** Where links are shown: those that carry most, and whose words. */
function linksPanel({model, launch, layer, pe}) {
  const entry = layer.entry ?? model.launches[launch]?.entry;
  const load = model.placement.link_load?.find(load => load.entry === entry);
  if (!load || !layer.links) return [];
  return [
    heading('fullest links', `words of a call of ${entry}`),
    element('p', {class: 'quiet'}, load.unknown_launches ? `without those of ${load.unknown_launches} launches` : ''),
    table(['out of', 'n:links', 'n:words', 'whose'], load.fullest.map(link => [
      {'data-link': `${link.x},${link.y}`, 'data-port': link.port, class: pe?.x === link.x && pe?.y === link.y ? 'pinned' : ''},
      `(${link.x}, ${link.y}) ${link.port}`, link.links, link.words,
      Object.entries(link.streams).map(([name, words]) => `@${name} ${Math.round(100 * words / link.words) || '<1'} %`).join(', ')])),
  ];
}

function streamsPanel({model, launch, theme, pinned}) {
  const {streams, machine} = model.placement;
  const entry = model.launches[launch]?.entry;
  if (!streams.length) return [];
  const used = new Set(model.launches[launch]?.streams);
  return [
    heading('streams', `${model.colors.size} of ${machine.colors} colors; click to see one`),
    table(['', 'stream', 'pattern', 'n:rules', 'n:words'], streams.map(stream => [
      {'data-stream': stream.name, class: (used.has(stream.name) ? 'used ' : '') + (pinned === stream.name ? 'pinned' : '')},
      element('span', {}, ...stream.colors.flatMap(color => [swatch(wireColor(color, theme)), `${color} `])),
      '@' + stream.name, stream.pattern, stream.rules, stream.words?.[entry] ?? ''])),
  ];
}
