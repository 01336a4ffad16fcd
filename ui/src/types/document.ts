// Made of schemas/openapi.json by `make ui`. Do not edit.

/**
 * A cell.
 */
export type Cell =
  | "empty"
  | {
      text: string;
    }
  | {
      quantity: Quantity;
    };
/**
 * A part of a section.
 */
export type Block =
  | {
      note: string;
    }
  | {
      lines: string[];
    }
  | {
      table: Table;
    }
  | {
      chart: Chart;
    }
  | {
      text_only: Block;
    };
/**
 * A chart.
 */
export type Chart =
  | {
      costs: Costs;
    }
  | {
      groups: Group[];
    }
  | {
      bars: Bars;
    }
  | {
      flame: Flame;
    }
  | {
      distributions: Distributions;
    }
  | {
      series: Series;
    }
  | {
      heat: Heat;
    }
  | {
      waterfall: Waterfall;
    }
  | {
      flow: Flow;
    }
  | {
      differences: Differences;
    }
  | {
      intervals: Intervals;
    }
  | {
      overlay: Overlay;
    }
  | {
      folds: Folds;
    };

/**
 * A report, independent of the result that it is made from and of the output that it is rendered to.
 */
export interface Document {
  /**
   * The command and its subject: `study quick`.
   */
  subject: string;
  /**
   * The title of the table, in one sentence.
   */
  title: string;
  /**
   * When, where and by what it was measured; none of a document that is not of one measurement.
   */
  measured: Provenance | null;
  /**
   * The answer in one or two sentences, with its interval.
   */
  answer: string[];
  /**
   * Of two studies, what changed from the first to the second, then what else differs; empty without a number that both have.
   */
  changes: string[];
  /**
   * The verdict; none for results that no check judges.
   */
  verdict: Judgement | null;
  /**
   * The table of the first screen; none if the answer says all.
   */
  table: Table | null;
  /**
   * True if a plot has all values of that table, so that a page, whose plots have tables of their own, leaves it out.
   */
  is_table_plotted: boolean;
  /**
   * The few numbers that a page shows in a row under the answer, each with its interval or the reason why it is not known.
   */
  headlines: Headline[];
  /**
   * Notes that a reader of the table must know, a line each.
   */
  notes: string[];
  /**
   * The next command, with its purpose.
   */
  next: Next | null;
  /**
   * Pictures of the answer, above the table where an output can draw.
   */
  plots: Section[];
  /**
   * The findings, one for each group of findings of one check.
   */
  findings: FindingText[];
  /**
   * The checks that judged the result and have no finding, some of them for want of evidence; empty if it is not known which ran.
   */
  checks_without_finding: CheckText[];
  /**
   * The details.
   */
  sections: Section[];
  /**
   * The page with all details, or the command that writes it; none until one of them can be named.
   */
  page: string | null;
}
/**
 * When, where and by what a result was measured. It names no host and no path.
 */
export interface Provenance {
  /**
   * Begin of the measurement, RFC 3339 in UTC.
   */
  started_at: string;
  /**
   * Begin of the last of several sittings, RFC 3339 in UTC; none for a single one.
   */
  last_started_at: string | null;
  /**
   * Its duration in words, of all sittings together: `7 min`; none if the result does not state it.
   */
  duration: string | null;
  /**
   * Processor model.
   */
  cpu_model: string;
  /**
   * Processors online.
   */
  cpus: number;
  /**
   * True if the processor reports a hypervisor.
   */
  is_virtual_machine: boolean;
  /**
   * Kernel release, without the name of its system; none if it is not known.
   */
  kernel: string | null;
  /**
   * Version that the proxy reports; of a proxy in a cluster, its image without the registry; none without a proxy.
   */
  proxy: string | null;
  /**
   * Version of hoptax with its abbreviated commit: `1.2.3 (01234567)`.
   */
  program: string;
}
/**
 * The verdict of a result.
 */
export interface Judgement {
  /**
   * The verdict.
   */
  verdict: "sound" | "caution" | "void";
  /**
   * The numbers that may be used: `CPU costs and p50 are sound; p99 is only bounded`.
   */
  usable: string;
}
/**
 * A table.
 */
export interface Table {
  /**
   * Its title.
   */
  title: string;
  /**
   * The heading of the column of names.
   */
  names: string;
  /**
   * The other columns.
   */
  columns: Column[];
  /**
   * The rows, the most important first.
   */
  rows: Row[];
}
/**
 * A column.
 */
export interface Column {
  /**
   * Its heading, with the unit.
   */
  heading: string;
  /**
   * A narrow output drops the columns with the highest number first; 0 always stays.
   */
  priority: number;
  /**
   * True if it holds words, which are aligned on the left.
   */
  is_text: boolean;
}
/**
 * A row.
 */
export interface Row {
  /**
   * Its name.
   */
  name: string;
  /**
   * A line about it, for outputs with room.
   */
  summary: string;
  /**
   * The address of the page about it, for outputs that can link; absent without one.
   */
  page?: string | null;
  /**
   * One cell for each column.
   */
  cells: Cell[];
}
/**
 * A quantity as documents have it: with its text, so that nothing else has to format it.
 */
export interface Quantity {
  /**
   * Its text without the unit: `27.41 ±0.32`.
   */
  text: string;
  /**
   * The estimate; absent if only bounds are known.
   */
  estimate?: number | null;
  /**
   * The lower end; absent if there is none.
   */
  low?: number | null;
  /**
   * The upper end; absent if there is none.
   */
  high?: number | null;
  /**
   * The unit: `us`, `%`, `requests/s`.
   */
  unit: string;
  /**
   * The form: an amount or a difference.
   */
  form: "level" | "difference";
  /**
   * Its basis.
   */
  basis:
    | "measured"
    | "bounded"
    | "predicted"
    | {
        unknown: string;
      };
  /**
   * True if it is a difference whose sign is not supported once all of its column are judged together.
   */
  has_uncertain_sign?: boolean;
}
/**
 * A number that is read before anything else.
 */
export interface Headline {
  /**
   * Its name, without the unit: `p99 of the response time`.
   */
  name: string;
  value: Cell;
  /**
   * Words below it: the load or the part that it is of; none if the name says all.
   */
  note: string | null;
}
/**
 * The next step.
 */
export interface Next {
  /**
   * A command that can be pasted.
   */
  command: string;
  /**
   * Its purpose: `measures the missing 6 rounds`.
   */
  purpose: string;
}
/**
 * A titled part of the details.
 */
export interface Section {
  /**
   * Its title.
   */
  title: string;
  /**
   * True if a page shows it only when its title is selected.
   */
  folded: boolean;
  /**
   * Its parts, in their order.
   */
  blocks: Block[];
}
/**
 * The costs of all arms of a study.
 */
export interface Costs {
  /**
   * The arms, in the order of the main table.
   */
  arms: CostArm[];
  /**
   * A measure under a load, each with a number for some arm, or as a share with the reason why there is none; the first is shown first.
   */
  views: CostView[];
  /**
   * The values that the numbers were computed from, slice by slice: under the usual load of a measure first, under others as far as a
   * page has room for them. Empty for combined results, which have none.
   */
  slices: Slices[];
}
/**
 * An arm with costs.
 */
export interface CostArm {
  /**
   * Its id.
   */
  id: string;
  /**
   * Its name in tables.
   */
  name: string;
  /**
   * The family of its function.
   */
  family: string;
  /**
   * Its function, in a line.
   */
  summary: string;
  /**
   * The arm that it is compared with.
   */
  compared_with: string | null;
  /**
   * Its role.
   */
  kind: "direct" | "baseline" | "same" | "function" | "position" | "external";
  /**
   * True if its cost is known in advance.
   */
  is_control: boolean;
}
/**
 * The costs of all arms in one measure under one load.
 */
export interface CostView {
  /**
   * The measure as a heading: `CPU %`.
   */
  heading: string;
  /**
   * The measure in words with its unit, for the axis.
   */
  axis: string;
  /**
   * The load; none for measures that all loads contribute to.
   */
  load: string | null;
  /**
   * The load in words.
   */
  load_words: string | null;
  /**
   * A number for each arm.
   */
  cells: Cell[];
}
/**
 * The slices of all arms in one measure under one load.
 */
export interface Slices {
  /**
   * The measure in words with its unit.
   */
  axis: string;
  /**
   * The unit.
   */
  unit: string;
  /**
   * The headings of the views that are computed from them.
   */
  headings: string[];
  /**
   * The load.
   */
  load: string;
  /**
   * The slices of each arm.
   */
  arms: ArmSlices[];
}
/**
 * The slices of one arm.
 */
export interface ArmSlices {
  /**
   * The arm.
   */
  arm: string;
  /**
   * Its slices in chronological order.
   */
  slices: Slice[];
}
/**
 * A slice.
 */
export interface Slice {
  /**
   * Its round, from 1.
   */
  round: number;
  /**
   * Its start, seconds since that of the study.
   */
  s: number;
  /**
   * The measured value.
   */
  value: number;
  /**
   * Reason why it does not count; none if it does.
   */
  aside?: string | null;
}
/**
 * Charts with one name.
 */
export interface Group {
  /**
   * The name.
   */
  name: string;
  /**
   * Its charts.
   */
  charts: Series[];
}
/**
 * Values over a size, a time or a load.
 */
export interface Series {
  /**
   * Its title.
   */
  title: string;
  x: Axis;
  y: Axis1;
  /**
   * The lines.
   */
  lines: Line[];
  /**
   * Places on the horizontal axis where something happened.
   */
  marks?: Mark[];
  /**
   * Values of the vertical axis that others are held against, such as the limit of an objective.
   */
  levels?: Level[];
  /**
   * Ranges of the horizontal axis, such as the interval of an answer.
   */
  bands?: Band[];
}
/**
 * The horizontal axis.
 */
export interface Axis {
  /**
   * The label: the quantity with its unit.
   */
  label: string;
  /**
   * The unit.
   */
  unit: string;
  /**
   * Its scale.
   */
  scale: "linear" | "logarithmic" | "nines";
  /**
   * The largest value that it must show, so that charts beside each other have the same axis.
   */
  highest?: number | null;
  /**
   * The value that a linear axis begins at, if that is not zero.
   */
  lowest?: number | null;
}
/**
 * The vertical axis.
 */
export interface Axis1 {
  /**
   * The label: the quantity with its unit.
   */
  label: string;
  /**
   * The unit.
   */
  unit: string;
  /**
   * Its scale.
   */
  scale: "linear" | "logarithmic" | "nines";
  /**
   * The largest value that it must show, so that charts beside each other have the same axis.
   */
  highest?: number | null;
  /**
   * The value that a linear axis begins at, if that is not zero.
   */
  lowest?: number | null;
}
/**
 * A line.
 */
export interface Line {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its role in its chart, by which it is coloured.
   */
  tone: "own" | "other" | "failed" | "third" | "fourth" | "fifth";
  /**
   * Relation of its points.
   */
  form: "joined" | "scattered" | "computed";
  /**
   * Its points, ascending.
   */
  points: Point[];
}
/**
 * A point of a line.
 */
export interface Point {
  /**
   * Its place on the horizontal axis.
   */
  x: number;
  /**
   * Its value; none where the line has a gap, and where only the ends of an interval are known.
   */
  y: number | null;
  /**
   * The lower end of its interval; none of a bound that has no lower one.
   */
  low?: number | null;
  /**
   * The upper end of its interval; none of a bound that has no upper one.
   */
  high?: number | null;
  /**
   * Its value in words, if the digits of the numbers would say more than its interval supports.
   */
  text?: string | null;
}
/**
 * A place on the horizontal axis where something happened.
 */
export interface Mark {
  /**
   * The place.
   */
  x: number;
  /**
   * The event, in words.
   */
  text: string;
}
/**
 * A value that others are held against.
 */
export interface Level {
  /**
   * The value.
   */
  y: number;
  /**
   * Its meaning: `p99<5ms`.
   */
  text: string;
}
/**
 * A range of the horizontal axis.
 */
export interface Band {
  /**
   * Its start; none for that of the axis.
   */
  from?: number | null;
  /**
   * Its end; none for that of the axis.
   */
  to?: number | null;
  /**
   * The estimate within it, if there is one.
   */
  at?: number | null;
  /**
   * Its meaning, with its numbers.
   */
  text: string;
  /**
   * Its role in its chart, by which it is coloured.
   */
  tone: "own" | "other" | "failed" | "third" | "fourth" | "fifth";
}
/**
 * Bars of pieces that add up, on one scale.
 */
export interface Bars {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The label of the axis, with the unit.
   */
  axis: string;
  /**
   * The unit.
   */
  unit: string;
  /**
   * The names of the pieces, in the order of the legend.
   */
  pieces: string[];
  /**
   * The bars.
   */
  rows: BarRow[];
}
/**
 * A bar.
 */
export interface BarRow {
  /**
   * Its name.
   */
  label: string;
  /**
   * The length of the whole, as text with the unit.
   */
  value: string;
  /**
   * The pieces that it has, in their order.
   */
  pieces: BarPiece[];
}
/**
 * A piece of a bar.
 */
export interface BarPiece {
  /**
   * Its place in the list of names, from 0.
   */
  piece: number;
  /**
   * Its length.
   */
  length: number;
  /**
   * The length as text.
   */
  text: string;
}
/**
 * CPU time by frame, of several arms.
 */
export interface Flame {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The label of the axis, with the unit.
   */
  axis: string;
  /**
   * The unit of all times.
   */
  unit: string;
  /**
   * The arms.
   */
  arms: FlameArm[];
}
/**
 * CPU time by frame of an arm.
 */
export interface FlameArm {
  /**
   * Its id.
   */
  arm: string;
  /**
   * The arm that differences are from; none without differences.
   */
  compared_with: string | null;
  /**
   * The frames, each after the one that calls it. The first is around all.
   */
  frames: FlameFrame[];
}
/**
 * A frame within those that call it.
 */
export interface FlameFrame {
  /**
   * Its name: that of a function in the code of a proxy, a library or the kernel.
   */
  name: string;
  /**
   * Number of frames around it.
   */
  depth: number;
  whole: FlameTime;
  /**
   * Its CPU time without the frames that are listed after it; none if it has none in either arm.
   */
  own?: FlameTime1 | null;
}
/**
 * Its CPU time with that of all frames that it calls.
 */
export interface FlameTime {
  /**
   * The time, to draw.
   */
  us: number;
  /**
   * The time with its interval, without the unit: `4.95 ±0.65`.
   */
  text: string;
  /**
   * Its share of the CPU time of the arm: `40.0 %`.
   */
  share: string;
  /**
   * The difference from the same frame of the other arm; none without one.
   */
  added?: FlameAdded | null;
}
/**
 * A difference of CPU times.
 */
export interface FlameAdded {
  /**
   * The difference, to draw.
   */
  us: number;
  /**
   * The difference with its interval, without the unit: `+4.95 ±0.65`.
   */
  text: string;
  /**
   * True if the interval contains zero.
   */
  is_near_zero: boolean;
}
/**
 * A CPU time.
 */
export interface FlameTime1 {
  /**
   * The time, to draw.
   */
  us: number;
  /**
   * The time with its interval, without the unit: `4.95 ±0.65`.
   */
  text: string;
  /**
   * Its share of the CPU time of the arm: `40.0 %`.
   */
  share: string;
  /**
   * The difference from the same frame of the other arm; none without one.
   */
  added?: FlameAdded | null;
}
/**
 * Distributions on common scales, as counts and cumulative.
 */
export interface Distributions {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The label of the axis, with the unit.
   */
  axis: string;
  /**
   * The start of the axis.
   */
  from: number;
  /**
   * Its end.
   */
  to: number;
  /**
   * The distributions.
   */
  items: Distribution[];
}
/**
 * A distribution.
 */
export interface Distribution {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its quantiles or its count, in words.
   */
  words: string;
  /**
   * Its role in its chart, by which it is coloured.
   */
  tone: "own" | "other" | "failed" | "third" | "fourth" | "fifth";
  /**
   * Its bins, ascending and without gaps.
   */
  bins: Bin[];
}
/**
 * A bin, open at its start and closed at its end.
 */
export interface Bin {
  /**
   * Its start.
   */
  from: number;
  /**
   * Its end.
   */
  to: number;
  /**
   * The number of values in it.
   */
  count: number;
}
/**
 * A distribution over time: a column for each part of the time.
 */
export interface Heat {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The label of the horizontal axis, with the unit.
   */
  x: string;
  /**
   * The label of the vertical axis, with the unit.
   */
  y: string;
  /**
   * The columns, ascending.
   */
  columns: Column2[];
}
/**
 * The distribution in a part of the time.
 */
export interface Column2 {
  /**
   * The start of the part.
   */
  from: number;
  /**
   * Its end.
   */
  to: number;
  /**
   * The bins with values.
   */
  bins: Bin[];
}
/**
 * The costs of parts on top of a rest, up to the whole, in CPU time per request or in cores.
 */
export interface Waterfall {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The label of the axis, with the unit.
   */
  axis: string;
  /**
   * The unit of all costs: `us` of CPU time per request, or `cores` at a rate.
   */
  unit: string;
  /**
   * The cost of the configuration without the parts; none if it is not known.
   */
  rest: Quantity | null;
  /**
   * The parts with a cost, the most expensive first.
   */
  parts: WaterfallPart[];
  /**
   * The whole less the rest and all parts: above zero where parts share work, below where they make each other more expensive. None if
   * not known.
   */
  together: Quantity | null;
  /**
   * The whole; none if it is not known.
   */
  whole: Quantity | null;
  /**
   * Other numbers of the whole, which change with the parts too.
   */
  also: WaterfallTotal[];
  /**
   * Requests per second that the numbers hold for.
   */
  rate: number | null;
  /**
   * Price of a core for an hour, in a currency of the user's choice; none if none was given.
   */
  price_per_core_hour: number | null;
  /**
   * Hours of a month.
   */
  hours_per_month: number;
  /**
   * The services whose proxies perform the parts; none for a configuration.
   */
  graph: ServiceGraph | null;
}
/**
 * A part of a waterfall.
 */
export interface WaterfallPart {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its kind.
   */
  kind: string;
  cost: Quantity1;
  /**
   * Its addition to each of the other numbers of the whole; none where that is not known.
   */
  also: (Quantity | null)[];
}
/**
 * A quantity as documents have it: with its text, so that nothing else has to format it.
 */
export interface Quantity1 {
  /**
   * Its text without the unit: `27.41 ±0.32`.
   */
  text: string;
  /**
   * The estimate; absent if only bounds are known.
   */
  estimate?: number | null;
  /**
   * The lower end; absent if there is none.
   */
  low?: number | null;
  /**
   * The upper end; absent if there is none.
   */
  high?: number | null;
  /**
   * The unit: `us`, `%`, `requests/s`.
   */
  unit: string;
  /**
   * The form: an amount or a difference.
   */
  form: "level" | "difference";
  /**
   * Its basis.
   */
  basis:
    | "measured"
    | "bounded"
    | "predicted"
    | {
        unknown: string;
      };
  /**
   * True if it is a difference whose sign is not supported once all of its column are judged together.
   */
  has_uncertain_sign?: boolean;
}
/**
 * Another number of the whole of a waterfall.
 */
export interface WaterfallTotal {
  /**
   * Its name, with the unit.
   */
  name: string;
  whole: Quantity2;
  /**
   * Price of a unit of it for an hour, in the currency of that of a core; none if it has none.
   */
  price_per_hour: number | null;
}
/**
 * A quantity as documents have it: with its text, so that nothing else has to format it.
 */
export interface Quantity2 {
  /**
   * Its text without the unit: `27.41 ±0.32`.
   */
  text: string;
  /**
   * The estimate; absent if only bounds are known.
   */
  estimate?: number | null;
  /**
   * The lower end; absent if there is none.
   */
  low?: number | null;
  /**
   * The upper end; absent if there is none.
   */
  high?: number | null;
  /**
   * The unit: `us`, `%`, `requests/s`.
   */
  unit: string;
  /**
   * The form: an amount or a difference.
   */
  form: "level" | "difference";
  /**
   * Its basis.
   */
  basis:
    | "measured"
    | "bounded"
    | "predicted"
    | {
        unknown: string;
      };
  /**
   * True if it is a difference whose sign is not supported once all of its column are judged together.
   */
  has_uncertain_sign?: boolean;
}
/**
 * The services of a graph.
 */
export interface ServiceGraph {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The services, each after all that call it.
   */
  services: GraphService[];
}
/**
 * A service of a graph.
 */
export interface GraphService {
  /**
   * Its name.
   */
  name: string;
  /**
   * True if it has a proxy.
   */
  has_proxy: boolean;
  /**
   * Its calls.
   */
  calls: GraphCall[];
  /**
   * The parts that act on requests to it: their places among those of the waterfall.
   */
  inbound: number[];
  /**
   * The parts that act on its calls.
   */
  outbound: number[];
}
/**
 * A call of a service.
 */
export interface GraphCall {
  /**
   * The place of the service that is called.
   */
  to: number;
  /**
   * How often it is called, in words.
   */
  text: string;
}
/**
 * Requests that divide step by step.
 */
export interface Flow {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The thing that it counts: `requests`.
   */
  unit: string;
  /**
   * The parts, each after the one that it is a part of; the first is the whole.
   */
  parts: FlowPart[];
}
/**
 * A part of the requests.
 */
export interface FlowPart {
  /**
   * Its name.
   */
  name: string;
  /**
   * Place of the part that it is a part of, from 0; none for the whole.
   */
  of: number | null;
  /**
   * The number of requests.
   */
  count: number;
  /**
   * Its role, by which it is coloured.
   */
  role: "planned" | "sent" | "answered" | "slow" | "unsent" | "lost";
}
/**
 * Differences from a reference, as shares of it.
 */
export interface Differences {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The label of the axis, with the unit.
   */
  axis: string;
  /**
   * Equivalence margin, in the unit of the axis; none where each row has a limit.
   */
  margin: number | null;
  /**
   * The differences, those of one subject beside each other.
   */
  rows: DifferenceRow[];
}
/**
 * A difference.
 */
export interface DifferenceRow {
  /**
   * The subject; with the arm that it is compared with, if not all are compared with the same one.
   */
  subject: string;
  /**
   * The measure, without its unit.
   */
  measure: string;
  share: Quantity3;
  /**
   * The same in other words: in the unit of the measure, or with the limit.
   */
  text: string;
  /**
   * Its limit, in the unit of the axis; none without one of its own.
   */
  limit?: number | null;
  /**
   * The decision.
   */
  outcome: "different" | "equivalent" | "undecided" | "failed" | "passed";
}
/**
 * A quantity as documents have it: with its text, so that nothing else has to format it.
 */
export interface Quantity3 {
  /**
   * Its text without the unit: `27.41 ±0.32`.
   */
  text: string;
  /**
   * The estimate; absent if only bounds are known.
   */
  estimate?: number | null;
  /**
   * The lower end; absent if there is none.
   */
  low?: number | null;
  /**
   * The upper end; absent if there is none.
   */
  high?: number | null;
  /**
   * The unit: `us`, `%`, `requests/s`.
   */
  unit: string;
  /**
   * The form: an amount or a difference.
   */
  form: "level" | "difference";
  /**
   * Its basis.
   */
  basis:
    | "measured"
    | "bounded"
    | "predicted"
    | {
        unknown: string;
      };
  /**
   * True if it is a difference whose sign is not supported once all of its column are judged together.
   */
  has_uncertain_sign?: boolean;
}
/**
 * Numbers with their intervals on one axis.
 */
export interface Intervals {
  /**
   * Its title.
   */
  title: string;
  /**
   * The label of the axis, with the unit.
   */
  axis: string;
  /**
   * The scale of the axis: linear or logarithmic.
   */
  scale: "linear" | "logarithmic" | "nines";
  /**
   * The number that all others are held against; none without one.
   */
  level?: Level | null;
  /**
   * The rows, those of one name beside each other.
   */
  rows: IntervalRow[];
}
/**
 * A number with its interval.
 */
export interface IntervalRow {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its kind, as a legend has it: `measured`, `predicted`.
   */
  kind: string;
  /**
   * The colour of its kind.
   */
  tone: "own" | "other" | "failed" | "third" | "fourth" | "fifth";
  number: Quantity4;
  /**
   * A sentence about it.
   */
  note?: string | null;
}
/**
 * A quantity as documents have it: with its text, so that nothing else has to format it.
 */
export interface Quantity4 {
  /**
   * Its text without the unit: `27.41 ±0.32`.
   */
  text: string;
  /**
   * The estimate; absent if only bounds are known.
   */
  estimate?: number | null;
  /**
   * The lower end; absent if there is none.
   */
  low?: number | null;
  /**
   * The upper end; absent if there is none.
   */
  high?: number | null;
  /**
   * The unit: `us`, `%`, `requests/s`.
   */
  unit: string;
  /**
   * The form: an amount or a difference.
   */
  form: "level" | "difference";
  /**
   * Its basis.
   */
  basis:
    | "measured"
    | "bounded"
    | "predicted"
    | {
        unknown: string;
      };
  /**
   * True if it is a difference whose sign is not supported once all of its column are judged together.
   */
  has_uncertain_sign?: boolean;
}
/**
 * Costs of the same arms in several runs, of which the first is the reference.
 */
export interface Overlay {
  /**
   * A description for screen readers.
   */
  title: string;
  /**
   * The runs.
   */
  runs: OverlaidRun[];
  /**
   * The measures; the first is shown first.
   */
  views: OverlayView[];
}
/**
 * A run of an overlay.
 */
export interface OverlaidRun {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its role in the chart, by which it is coloured.
   */
  tone: "own" | "other" | "failed" | "third" | "fourth" | "fifth";
}
/**
 * The costs of all arms in one measure.
 */
export interface OverlayView {
  /**
   * The measure without its unit.
   */
  heading: string;
  /**
   * The measure in words with its unit, for the axis.
   */
  axis: string;
  /**
   * Equivalence margin of runs, in the unit of the axis; none if it is not the same for all arms.
   */
  margin: number | null;
  /**
   * The arms, in the order of the reference.
   */
  rows: OverlayRow[];
}
/**
 * An arm in several runs.
 */
export interface OverlayRow {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its function, in a line.
   */
  summary: string;
  /**
   * Its cost in each run; none where that is not measured or withheld.
   */
  costs: (Quantity | null)[];
  /**
   * The difference of each run from the reference; none for the reference, and where either cost has neither an interval nor bounds.
   */
  differences: (OverlayDifference | null)[];
}
/**
 * The difference of a run from the reference.
 */
export interface OverlayDifference {
  value: Quantity5;
  /**
   * The same as a share of the level that the margin is a share of.
   */
  text: string;
  /**
   * The decision.
   */
  outcome: "different" | "equivalent" | "undecided" | "failed" | "passed";
}
/**
 * A quantity as documents have it: with its text, so that nothing else has to format it.
 */
export interface Quantity5 {
  /**
   * Its text without the unit: `27.41 ±0.32`.
   */
  text: string;
  /**
   * The estimate; absent if only bounds are known.
   */
  estimate?: number | null;
  /**
   * The lower end; absent if there is none.
   */
  low?: number | null;
  /**
   * The upper end; absent if there is none.
   */
  high?: number | null;
  /**
   * The unit: `us`, `%`, `requests/s`.
   */
  unit: string;
  /**
   * The form: an amount or a difference.
   */
  form: "level" | "difference";
  /**
   * Its basis.
   */
  basis:
    | "measured"
    | "bounded"
    | "predicted"
    | {
        unknown: string;
      };
  /**
   * True if it is a difference whose sign is not supported once all of its column are judged together.
   */
  has_uncertain_sign?: boolean;
}
/**
 * Names with what is behind each of them.
 */
export interface Folds {
  /**
   * A sentence about the tables and charts behind the names.
   */
  note: string;
  /**
   * The names.
   */
  folds: Fold[];
}
/**
 * A name with what is behind it.
 */
export interface Fold {
  /**
   * The name, which no other has.
   */
  name: string;
  /**
   * The few numbers by which a reader chooses it, in words.
   */
  words: string;
  table: Table1;
  /**
   * Its charts.
   */
  charts: Chart[];
}
/**
 * A table.
 */
export interface Table1 {
  /**
   * Its title.
   */
  title: string;
  /**
   * The heading of the column of names.
   */
  names: string;
  /**
   * The other columns.
   */
  columns: Column[];
  /**
   * The rows, the most important first.
   */
  rows: Row[];
}
/**
 * A finding in words.
 */
export interface FindingText {
  /**
   * Its severity.
   */
  severity: "info" | "warn" | "fail";
  /**
   * The id of its check.
   */
  id: string;
  /**
   * The arms and loads in its scope: ` [lua, rbac under fixed-rate]`; empty for the whole result.
   */
  scope: string;
  /**
   * The observation.
   */
  message: string;
  /**
   * The measured value and its limit, if the message lacks them.
   */
  measured: string | null;
  /**
   * The numbers that it withholds or bounds.
   */
  withheld: string | null;
  /**
   * The remedy.
   */
  advice: string;
  /**
   * The mistake that its check protects from; none of a check that this version does not have.
   */
  protects_from: string | null;
}
/**
 * A check in words.
 */
export interface CheckText {
  /**
   * Its id.
   */
  id: string;
  /**
   * The mistake that it protects from.
   */
  protects_from: string;
}
