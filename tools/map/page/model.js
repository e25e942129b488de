// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is shown: the placement as JSON (placement.schema.json), and what runs
// counted, made easy to ask. No drawing here.
'use strict';

const ports = ['north', 'south', 'east', 'west'];
const step = {north: [0, -1], south: [0, 1], east: [1, 0], west: [-1, 0], ramp: [0, 0]};

/** The launches in order, each with its region, window and what it reads. */
function launchesOf(placement) {
  const kernels = placement.kernels.map((kernel, index) => ({...kernel, index}));
  const order = [...kernels].sort((a, b) => (a.slot ?? a.index) - (b.slot ?? b.index));
  let clock = 0, end = 0, start = 0;
  order.forEach((kernel, launch) => {
    kernel.launch = launch;
    // Cycles are those of a call; entries are shown one after the other.
    if (launch && kernel.entry !== order[launch - 1].entry) [start, clock, end] = [start + end, 0, 0];
    kernel.start = start;
    kernel.on = placement.regions.findIndex(r => same(r, kernel.region));
    if (kernel.kind === 'transfer')
      kernel.from = placement.transfers.find(t => t.kernel === kernel.name && t.to === placement.regions[kernel.on]?.name)?.from;
    kernel.last = launch;
    // Before there is a schedule, one kernel follows the other.
    kernel.window ??= [clock, clock + kernel.cost.cycles];
    clock = kernel.window[1];
    // By how much it moves the end of the run, as reports of runs count it.
    kernel.moves = Math.max(0, kernel.window[1] - end);
    end = Math.max(end, kernel.window[1]);
  });
  for (const kernel of order)
    for (const read of kernel.reads)
      kernels[read].last = Math.max(kernels[read].last, kernel.launch);
  return order;
}

function same(a, b) {
  return a.x === b.x && a.y === b.y && a.columns === b.columns && a.rows === b.rows;
}

function contains(region, x, y) {
  return x >= region.x && x < region.x + region.columns && y >= region.y && y < region.y + region.rows;
}

function inRange([begin, end, by], value) {
  return value >= begin && value < end && (value - begin) % by === 0;
}

const isOut = stream => ['out_exit', 'out_band'].includes(stream?.pattern);

/** What every PE of a region holds: {owner, what, address, bytes, from, to}. */
function buffersOf(model, region) {
  const buffers = model.placement.held.filter(held => same(held.region, model.placement.regions[region]))
      .filter(held => held.address !== undefined).map(held => ({
        owner: held, what: held.kind, address: held.address, bytes: held.bytes, from: 0,
        to: model.launches.length - 1}));
  for (const kernel of model.launches) {
    if (kernel.on !== region) continue;
    if (kernel.address !== undefined && kernel.bytes)
      buffers.push({owner: kernel, what: 'result', address: kernel.address, bytes: kernel.bytes,
                    from: kernel.launch, to: kernel.last});
    if (kernel.scratch_address !== undefined)
      buffers.push({owner: kernel, what: 'scratch', address: kernel.scratch_address,
                    bytes: kernel.scratch_bytes, from: kernel.launch, to: kernel.launch});
  }
  return buffers;
}

/** Those in a launch; a result that takes over the place of an operand hides it. */
function buffersAt(buffers, launch) {
  const alive = buffers.filter(b => b.from <= launch && launch <= b.to);
  return alive.filter(b => !alive.some(
      other => other.from > b.from && other.address < b.address + b.bytes &&
               b.address < other.address + other.bytes))
      .sort((a, b) => a.address - b.address);
}

/** Words that routers pass in some launches, by color. */
function passedIn(placement, kernels) {
  const {machine: {width, height}, passed_words: passed} = placement;
  const times = new Map();
  for (const kernel of kernels)
    for (const number of kernel.passed_words ?? []) times.set(number, (times.get(number) ?? 0) + 1);
  const colors = new Map();
  for (const [number, launches] of times) {
    const {color, rows} = passed.tables[number];
    if (!colors.has(color)) colors.set(color, new Float64Array(width * height));
    const words = colors.get(color), row = new Float64Array(width);
    let last = 0, from = width, to = 0; // columns that have been met
    for (const [begin, height, count, number, factor] of rows) {
      if (begin !== last) row.fill(0);
      last = begin + height * count;
      const runs = passed.runs[number];
      for (let y = begin; y < last; ++y) {
        if ((y - begin) % height === 0)
          for (let i = 0; i < runs.length; i += 3) {
            from = Math.min(from, runs[i]);
            to = Math.max(to, runs[i + 1]);
            for (let x = runs[i]; x < runs[i + 1]; ++x) row[x] += factor * runs[i + 2];
          }
        for (let x = from; x < to; ++x) words[y * width + x] += launches * row[x];
      }
    }
  }
  return colors;
}

/** Words on the routers' links out in some launches, by port: what a router
 *  passes leaves by all ports that the rule of its color sends to. */
function linksOf(placement, kernels) {
  const {width, height} = placement.machine;
  const links = Object.fromEntries(ports.map(port => [port, new Float64Array(width * height)]));
  const passed = passedIn(placement, kernels);
  for (const rule of placement.streams.flatMap(stream => stream.routes)) {
    const words = passed.get(rule.color);
    if (!words) continue;
    for (const port of rule.transmit) {
      if (port === 'ramp') continue;
      for (let y = rule.y[0]; y < rule.y[1]; y += rule.y[2])
        for (let x = rule.x[0]; x < rule.x[1]; x += rule.x[2])
          links[port][y * width + x] += words[y * width + x];
    }
  }
  return links;
}

/** A map of counters.schema.json as one number a PE. */
function unpack(map, width, height) {
  const values = new Float64Array(width * height);
  for (const {y, runs} of map.rows)
    for (let row = y[0]; row < y[1]; ++row) {
      let x = row * width;
      for (const [value, count] of runs) values.fill(value, x, x += count);
    }
  return values;
}

function buildModel(placement, measured) {
  const model = {placement, measured};
  model.launches = launchesOf(placement);
  model.streams = new Map(placement.streams.map(stream => [stream.name, stream]));
  // Of all entries together; what runs report is one.
  model.cycles = model.launches.reduce((most, kernel) => Math.max(most, kernel.start + kernel.window[1]), 1);
  model.measuredLaunches = measured.report ? model.launches.filter(kernel => kernel.entry === measured.entry) : [];
  model.colors = new Set(placement.streams.flatMap(stream => stream.colors));
  model.buffers = placement.regions.map((_, region) => buffersOf(model, region));
  // Of a call of main: what each region's launches take, with those that take a
  // tensor from it. Words that one sample waits for are there for later ones.
  const main = model.launches.filter(kernel => kernel.entry === 'main');
  const wordsIn = kernel => (kernel.flows ?? []).filter(flow => !isOut(model.streams.get(flow.stream)));
  const taken = kernel => {
    const [begin, end] = kernel.window, words = wordsIn(kernel).map(flow => flow.window[0]);
    return end - (words.length ? Math.min(end, Math.max(begin, Math.min(...words))) : begin);
  };
  model.busy = placement.regions.map((region, i) => main.filter(kernel => kernel.on === i || kernel.from === region.name));
  model.busyCycles = model.busy.map(kernels => kernels.reduce((sum, kernel) => sum + taken(kernel), 0));
  // Reports list kernels in the order of their launches.
  let clock = 0;
  model.measuredLaunches.forEach((kernel, number) => {
    const cycles = measured.report.cycles.per_kernel[number];
    kernel.measured = {cycles, window: [clock, clock += cycles]};
  });
  return model;
}

/** Streams of a launch; those of all launches that a filter keeps. */
function streamsOf(kernels) {
  return new Set(kernels.flatMap(kernel => kernel.streams ?? []));
}

function matches(kernel, filter) {
  const text = filter.toLowerCase();
  return [kernel.name, ...kernel.onnx_nodes].some(name => name.toLowerCase().includes(text));
}

/** Numbers to fill PEs with: {name, label, values, links, unit}; made when wanted,
 *  those of a launch for each anew. */
function layersOf(model) {
  const {width, height} = model.placement.machine;
  const layers = [{name: 'regions', label: 'regions'}];
  const worst = links => {
    const values = new Float64Array(width * height);
    for (const port of ports)
      links[port].forEach((value, i) => { if (value > values[i]) values[i] = value; });
    return values;
  };
  const add = (name, label, unit, make, changes = false) => layers.push({name, label, unit, make(launch) {
    if (!this.values || (changes && this.launch !== launch)) Object.assign(this, make(launch), {launch, most: undefined});
    this.most ??= this.values.reduce((most, value) => Math.max(most, value), 0);
    return this;
  }});
  const byLinks = (name, label, make, changes) => add(name, label, 'words', launch => {
    const {links, entry} = make(launch);
    return {links, entry, values: worst(links)};
  }, changes);
  for (const {entry} of model.placement.link_load ?? [])
    byLinks('predicted' + (entry === 'main' ? '' : '-' + entry), `words on a link, ${entry}`,
            () => ({entry, links: linksOf(model.placement, model.launches.filter(kernel => kernel.entry === entry))}));
  if (model.placement.link_load)
    byLinks('launch', 'words on a link, launch', launch => ({links: linksOf(model.placement, [model.launches[launch]])}), true);
  const maps = model.measured.counters?.maps;
  if (maps) {
    byLinks('measured', 'words on a link, measured', () => ({links: Object.fromEntries(
        ports.map(port => [port, unpack(maps[`link_words_${port}`], width, height)]))}));
    for (const name of Object.keys(maps))
      if (!name.startsWith('link_'))
        add(name, name.replaceAll('_', ' ') + ', measured', maps[name].unit,
            () => ({values: unpack(maps[name], width, height)}));
  }
  return layers;
}
