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
  /** Whether a value lies before the start of the axis or beyond its end. */
  isOutside(value: number): "before" | "after" | false;
  ticks: Tick[];
  /** What to say of the scale beside the axis; empty for a linear one. */
  note: string;
}

/** Space between two labels of a horizontal axis. */
const LABEL_SPACE = 46;
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
  const decimals = size === 0 || size >= 1 ? (Number.isInteger(value) ? 0 : 1) : -Math.floor(Math.log10(size) + 1e-9);
  return grouped(value, decimals);
}

function place(value: number, [from, to]: [number, number], [start, end]: [number, number]): number {
  const share = (Math.min(Math.max(value, from), to) - from) / (to - from);
  return start + share * (end - start);
}

function outside(value: number, [from, to]: [number, number]): "before" | "after" | false {
  return value < from ? "before" : value > to ? "after" : false;
}

/** A linear scale. */
export function linear(domain: [number, number], range: [number, number], space = LABEL_SPACE): Scale {
  const ends: [number, number] = domain[1] > domain[0] ? domain : [domain[0], domain[0] + 1];
  const length = Math.abs(range[1] - range[0]);
  const step = roundUp((ends[1] - ends[0]) / Math.max(1, Math.min(8, length / space)));
  const numbers: number[] = [];
  for (let n = Math.ceil(ends[0] / step - 1e-9); n * step <= ends[1] + step * 1e-9; n += 1) {
    numbers.push(n * step);
  }
  return {
    at: (value) => place(value, ends, range),
    isOutside: (value) => outside(value, ends),
    ticks: numbers.map((value) => ({ at: place(value, ends, range), label: label(Number(value.toPrecision(12))) })),
    note: "",
  };
}

/** A logarithmic scale of positive values. */
export function logarithmic(domain: [number, number], range: [number, number], space = LABEL_SPACE): Scale {
  const low = Math.max(domain[0], Number.MIN_VALUE);
  const ends: [number, number] = [Math.log10(low), Math.log10(domain[1] > low ? domain[1] : low * 10)];
  const at = (value: number) => place(Math.log10(Math.max(value, Number.MIN_VALUE)), ends, range);
  const numbers: number[] = [];
  for (let power = Math.floor(ends[0]); power <= Math.ceil(ends[1]); power += 1) {
    numbers.push(...[1, 2, 5].map((factor) => factor * 10 ** power));
  }
  const within = numbers.filter((value) => !outside(Math.log10(value), [ends[0] - 1e-9, ends[1] + 1e-9]));
  return {
    at,
    isOutside: (value) => outside(Math.log10(Math.max(value, Number.MIN_VALUE)), ends),
    ticks: kept(within, at, space),
    note: "logarithmic",
  };
}

/**
 * A scale that is linear around zero and logarithmic beyond (the inverse hyperbolic sine, after Burbidge, Magee and Robb 1988), so that
 * small values remain distinguishable from zero beside large ones.
 */
export function bent(domain: [number, number], linearTo: number, range: [number, number], space = LABEL_SPACE): Scale {
  const bend = (value: number) => Math.asinh(value / linearTo);
  const ends: [number, number] = [bend(domain[0]), bend(domain[1])];
  const at = (value: number) => place(bend(value), ends, range);
  const sizes: number[] = [];
  const first = Math.floor(Math.log10(linearTo));
  for (let power = first; power < first + 9; power += 1) {
    sizes.push(...[1, 2, 5].map((factor) => factor * 10 ** power).filter((size) => size >= linearTo * 0.99));
  }
  const numbers = [...sizes.map((size) => -size), 0, ...sizes].filter((value) => !outside(bend(value), ends));
  return {
    at,
    isOutside: (value) => outside(bend(value), ends),
    ticks: kept(numbers, at, space),
    note: `linear up to ${label(linearTo)}, logarithmic beyond`,
  };
}

/** A scale on which 90 %, 99 %, 99.9 % have equal distances: the shares up to `most`, as the probability of being slower falls. */
export function nines(most: number, range: [number, number]): Scale {
  const bend = (share: number) => -Math.log10(Math.max(1 - share, 1e-9));
  const ends: [number, number] = [0, Math.max(bend(most), 1)];
  const shares = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999].filter((share) => bend(share) <= ends[1] + 1e-9);
  return {
    at: (share) => place(bend(share), ends, range),
    isOutside: (share) => outside(bend(share), ends),
    ticks: shares.map((share) => ({ at: place(bend(share), ends, range), label: `${Number((share * 100).toFixed(6))} %` })),
    note: "each step has a tenth of the requests of the one before",
  };
}

/** Ticks in the order of their importance, as far as their labels have room: zero, powers of ten, the rest. */
function kept(values: number[], at: (value: number) => number, space: number): Tick[] {
  const isPower = (value: number) => Math.abs(Math.log10(Math.abs(value)) - Math.round(Math.log10(Math.abs(value)))) < 1e-9;
  const weight = (value: number) => (value === 0 ? 0 : isPower(value) ? 1 : 2);
  const ticks: Tick[] = [];
  // Long numbers need more than the usual space.
  const room = (one: string, other: string) => Math.max(space, (LETTER * (one.length + other.length)) / 2 + GAP);
  for (const value of [...values].sort((a, b) => weight(a) - weight(b) || a - b)) {
    const tick = { at: at(value), label: label(value) };
    if (ticks.every((other) => Math.abs(other.at - tick.at) >= room(other.label, tick.label))) {
      ticks.push(tick);
    }
  }
  return ticks.sort((a, b) => a.at - b.at);
}
