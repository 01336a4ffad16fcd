// Scales from values to places, and ticks at round numbers that do not overlap.

/** A tick of an axis. */
export interface Tick {
  at: number;
  label: string;
}

/** A scale from values to places of a drawing. */
export interface Scale {
  /** The place of a value, within the ends of the axis. */
  at(value: number): number;
  /** The place of a value, beyond the ends of the axis too. */
  beyond(value: number): number;
  /** The value at a place, which may be beyond the ends. */
  valueAt(place: number): number;
  /** Whether a value lies before the start of the axis or beyond its end. */
  isOutside(value: number): "before" | "after" | false;
  ticks: Tick[];
  /** What to say of the scale beside the axis; empty for a linear one. */
  note: string;
}

/** Space between two labels of a horizontal axis. */
const LABEL_SPACE = 46;
/** With fewer round numbers on it, an axis that is not linear has others too. */
const FEWEST_TICKS = 3;
/** The width of a letter of a label, and the gap between two labels, px. */
const LETTER = 6.6;
const GAP = 8;

/** A number in words: three digits, thousands with commas. */
export function plain(value: number): string {
  const size = Math.abs(value);
  const decimals = size >= 100 || value === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : Math.min(8, 2 - Math.floor(Math.log10(size)));
  return grouped(value, decimals);
}

/** A number with half the width of its interval, both with two digits of that: `149.0 ±4.4`. For numbers that the page itself computes. */
export function withHalf(value: number, half: number): string {
  const decimals = half > 0 ? Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(half)))) : 0;
  return `${grouped(value, decimals)} ±${grouped(half, decimals)}`;
}

/** A number with this many decimals, thousands with commas, and a minus only if a digit is not zero. */
export function grouped(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  const isZero = !/[1-9]/.test(text);
  const [whole = "", fraction] = text.replace("-", "").split(".");
  const sign = value < 0 && !isZero ? "-" : "";
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction === undefined ? "" : `.${fraction}`);
}

/** 1, 2 or 5 times a power of ten, at least `value`. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/** The label of a round number. */
function label(value: number): string {
  const size = Math.abs(value);
  return stepLabel(value, size < 1 ? size : 0.1);
}

/** The label of a multiple of a step, with the digits that tell it from the next. */
function stepLabel(value: number, step: number): string {
  return grouped(value, Number.isInteger(value) ? 0 : Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

/** What makes a scale: values are bent, and those are placed evenly between the ends of the axis. */
interface Bending {
  bend: (value: number) => number;
  unbend: (bent: number) => number;
  /** The values at the ends, bent. */
  ends: [number, number];
  /** The places of the ends. */
  range: [number, number];
}

function scale({ bend, unbend, ends: [from, to], range: [start, end] }: Bending, ticks: (at: Scale["at"]) => Tick[], note: string): Scale {
  const placed = (bent: number) => start + ((bent - from) / (to - from)) * (end - start);
  const at = (value: number) => placed(Math.min(Math.max(bend(value), from), to));
  return {
    at,
    beyond: (value) => placed(bend(value)),
    valueAt: (place) => unbend(from + ((place - start) / (end - start)) * (to - from)),
    isOutside: (value) => (bend(value) < from ? "before" : bend(value) > to ? "after" : false),
    ticks: ticks(at),
    note,
  };
}

/** Multiples of a round step, or at least of another one, between two values, so many that their labels have this much room. */
function multiples([from, to]: [number, number], length: number, space: number, least = 0): { value: number; label: string }[] {
  const step = Math.max(least, roundUp((to - from) / Math.max(1, Math.min(8, length / space))));
  const all = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; n += 1) {
    const value = Number((n * step).toPrecision(12));
    all.push({ value, label: stepLabel(value, step) });
  }
  return all;
}

/** A linear scale, whose ticks are at least this far from each other. */
export function linear(domain: [number, number], range: [number, number], space = LABEL_SPACE, least = 0): Scale {
  const ends: [number, number] = domain[1] > domain[0] ? domain : [domain[0], domain[0] + 1];
  const same = (value: number) => value;
  const numbers = multiples(ends, Math.abs(range[1] - range[0]), space, least);
  return scale({ bend: same, unbend: same, ends, range }, (at) => numbers.map(({ value, label }) => ({ at: at(value), label })), "");
}

/** A logarithmic scale of positive values. */
export function logarithmic(domain: [number, number], range: [number, number], space = LABEL_SPACE): Scale {
  const low = Math.max(domain[0], Number.MIN_VALUE);
  const high = domain[1] > low ? domain[1] : low * 10;
  const ends: [number, number] = [Math.log10(low), Math.log10(high)];
  const numbers: number[] = [];
  for (let power = Math.floor(ends[0]); power <= Math.ceil(ends[1]); power += 1) {
    numbers.push(...[1, 2, 5].map((factor) => factor * 10 ** power));
  }
  const within = numbers.filter((value) => Math.log10(value) >= ends[0] - 1e-9 && Math.log10(value) <= ends[1] + 1e-9);
  const bend = (value: number) => Math.log10(Math.max(value, Number.MIN_VALUE));
  // Between two round numbers an axis has steps of its own.
  const length = Math.abs(range[1] - range[0]);
  // Labels of an axis that goes up are below each other, however long they are.
  const letter = range[1] < range[0] ? 0 : LETTER;
  const values = within.length >= FEWEST_TICKS ? important(within, everyOf(length / (ends[1] - ends[0]), space)) : multiples([low, high], length, space);
  return scale({ bend, unbend: (bent) => 10 ** bent, ends, range }, (at) => kept(values, at, space, letter), "logarithmic");
}

/**
 * A scale that is linear around zero and logarithmic beyond (the inverse hyperbolic sine, after Burbidge, Magee and Robb 1988), so that
 * small values remain distinguishable from zero beside large ones.
 */
export function bent(domain: [number, number], linearTo: number, range: [number, number], space = LABEL_SPACE): Scale {
  const bend = (value: number) => Math.asinh(value / linearTo);
  const ends: [number, number] = [bend(domain[0]), bend(domain[1])];
  const sizes: number[] = [];
  const first = Math.floor(Math.log10(linearTo));
  for (let power = first; power < first + 9; power += 1) {
    sizes.push(...[1, 2, 5].map((factor) => factor * 10 ** power).filter((size) => size >= linearTo * 0.99));
  }
  const numbers = [...sizes.map((size) => -size), 0, ...sizes].filter((value) => bend(value) >= ends[0] && bend(value) <= ends[1]);
  const ticks = (at: Scale["at"]) => kept(important(numbers), at, space);
  const unbend = (bent: number) => Math.sinh(bent) * linearTo;
  return scale({ bend, unbend, ends, range }, ticks, `linear up to ${label(linearTo)}, logarithmic beyond`);
}

/** Shares with equal distances on a scale of nines. */
const NINES = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
/** Those between them, for a part of the scale that has few of them. */
const BETWEEN_NINES = [0.2, 0.3, 0.7, 0.8, ...[0.1, 0.01, 1e-3, 1e-4, 1e-5].flatMap((rest) => [0.7, 0.5, 0.3, 0.2].map((share) => 1 - share * rest))];

/** A share as percent: `99.95 %`. */
export function percent(share: number): string {
  return `${Number((share * 100).toFixed(6))} %`;
}

/** A scale on which 90 %, 99 %, 99.9 % have equal distances: the shares from one to another, as the probability of being slower falls. */
export function nines([least, most]: [number, number], range: [number, number]): Scale {
  const bend = (share: number) => -Math.log10(Math.max(1 - share, 1e-9));
  const ends: [number, number] = [bend(least), Math.max(bend(most), bend(least) + 1e-6)];
  const within = (shares: number[]) => shares.filter((share) => bend(share) >= ends[0] - 1e-9 && bend(share) <= ends[1] + 1e-9);
  const round = within(NINES);
  const shares = round.length >= FEWEST_TICKS ? round : [...round, ...within(BETWEEN_NINES)];
  const ticks = (at: Scale["at"]) => kept(shares.map((value) => ({ value, label: percent(value) })), at, 0);
  return scale({ bend, unbend: (bent) => 1 - 10 ** -bent, ends, range }, ticks, "each step has a tenth of the requests of the one before");
}

/** Of how many powers of ten that are this far from each other one has room for its label. */
function everyOf(distance: number, space: number): number {
  return Math.max(1, Math.ceil(space / distance));
}

/** Values in the order of their importance: zero, powers of ten or every so many of them, the rest. */
function important(values: number[], every = 1): { value: number; label: string }[] {
  const isPower = (value: number) => {
    const power = Math.log10(Math.abs(value)) / every;
    return Math.abs(power - Math.round(power)) < 1e-9;
  };
  const weight = (value: number) => (value === 0 ? 0 : isPower(value) ? 1 : 2);
  return [...values].sort((a, b) => weight(a) - weight(b) || a - b).map((value) => ({ value, label: label(value) }));
}

/** Ticks at values in the order of their importance, as far as their labels have room. */
function kept(values: { value: number; label: string }[], at: (value: number) => number, space: number, letter = LETTER): Tick[] {
  const ticks: Tick[] = [];
  // Long numbers need more than the usual space.
  const room = (one: string, other: string) => Math.max(space, (letter * (one.length + other.length)) / 2 + GAP);
  for (const { value, label } of values) {
    const tick = { at: at(value), label };
    if (ticks.every((other) => Math.abs(other.at - tick.at) >= room(other.label, tick.label))) {
      ticks.push(tick);
    }
  }
  return ticks.sort((a, b) => a.at - b.at);
}
