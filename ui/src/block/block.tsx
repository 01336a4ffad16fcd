// A part of a document: the list of all kinds of charts with what draws them.

import { bars } from "../chart/bars";
import { flow, flowRows } from "../chart/flow";
import { heat } from "../chart/heat";
import { intervals, intervalTable } from "../chart/intervals";
import { fileName } from "../csv";
import { Figure } from "../figure";
import { TableView } from "../table";
import { Words } from "../text";
import type { Block, Chart } from "../types/document";
import type { View } from "../view";
import { CostsBlock } from "./costs";
import { DifferencesBlock } from "./differences";
import { DistributionsBlock } from "./distributions";
import { FlameBlock } from "./flame";
import { FoldsBlock } from "./folds";
import { GroupsBlock, SeriesBlock } from "./groups";
import { OverlayBlock } from "./overlay";
import { WaterfallBlock } from "./waterfall";

const SERIES_HEIGHT = 260;
/** Of charts beside each other. */
const LOW = 210;

interface BlockProps {
  block: Block;
  /** The section that it is in, which names its choices in the view. */
  section: string;
  view: View;
  change: (changes: View) => void;
}

/** A part of a section. */
export function BlockView({ block, section, view, change }: BlockProps) {
  if ("note" in block) {
    return (
      <p class="note">
        <Words text={block.note} />
      </p>
    );
  }
  if ("lines" in block) {
    return (
      <ul>
        {block.lines.map((line) => (
          <li key={line}>
            <Words text={line} hasLinks />
          </li>
        ))}
      </ul>
    );
  }
  if ("table" in block) {
    return <TableView table={block.table} />;
  }
  if ("text_only" in block) {
    return null;
  }
  return <ChartView chart={block.chart} section={section} view={view} change={change} />;
}

interface ChartProps extends Omit<BlockProps, "block"> {
  chart: Chart;
  /** The name that it is behind, if there are such charts of several names. */
  of?: string;
}

/** A chart of any kind. */
function ChartView({ chart, section, of, view, change }: ChartProps) {
  // The title of the section is above it.
  const isSaid = (title: string) => fileName(title) === section;
  if ("costs" in chart) {
    return <CostsBlock costs={chart.costs} view={view} change={change} />;
  }
  if ("groups" in chart) {
    return <GroupsBlock groups={chart.groups} of={section} view={view} change={change} />;
  }
  if ("series" in chart) {
    const { title } = chart.series;
    return of === undefined ? (
      <SeriesBlock data={chart.series} height={SERIES_HEIGHT} isTitled={!isSaid(title)} />
    ) : (
      <SeriesBlock data={chart.series} height={LOW} name={`${of}: ${title}`} />
    );
  }
  if ("intervals" in chart) {
    const data = chart.intervals;
    return <Figure title={data.title} isTitled={!isSaid(data.title)} scene={(width) => intervals(data, width)} rows={() => intervalTable(data)} />;
  }
  if ("distributions" in chart) {
    return <DistributionsBlock data={chart.distributions} of={of} />;
  }
  if ("heat" in chart) {
    const data = chart.heat;
    return (
      <Figure
        title={data.title}
        isTitled
        axis={data.x}
        scene={(width, range) => heat(data, width, range)}
        rows={() => [
          ["from s", "to s", "from us", "to us", "count"],
          ...data.columns.flatMap((column) => column.bins.map((bin) => [column.from, column.to, bin.from, bin.to, bin.count].map(String))),
        ]}
        note="The stronger the colour, the larger the share of the responses in that part of the time, on a square-root scale."
      />
    );
  }
  if ("bars" in chart) {
    const data = chart.bars;
    return (
      <Figure
        title={data.title}
        scene={(width) => bars(data, width)}
        rows={() => [["", ...data.pieces, "whole"], ...data.rows.map((row) => [row.label, ...data.pieces.map((_, place) => row.pieces.find((piece) => piece.piece === place)?.text ?? "-"), row.value])]}
      />
    );
  }
  if ("flame" in chart) {
    return <FlameBlock data={chart.flame} view={view} change={change} />;
  }
  if ("flow" in chart) {
    const data = chart.flow;
    return <Figure title={data.title} scene={(width) => flow(data, width)} rows={() => flowRows(data)} />;
  }
  if ("differences" in chart) {
    return <DifferencesBlock data={chart.differences} view={view} change={change} />;
  }
  if ("overlay" in chart) {
    return <OverlayBlock data={chart.overlay} view={view} change={change} />;
  }
  if ("folds" in chart) {
    const draw = (one: Chart, name: string, place: number) => <ChartView key={place} chart={one} section={section} of={name} view={view} change={change} />;
    return <FoldsBlock data={chart.folds} draw={draw} view={view} change={change} />;
  }
  return <WaterfallBlock data={chart.waterfall} view={view} change={change} />;
}
